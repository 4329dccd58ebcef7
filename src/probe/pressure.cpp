#include "probe/pressure.hpp"

#include <cerrno>

#include "probe/never_falling.hpp"
#include "probe/scan.hpp"

namespace probe {
namespace {

using record::State;
using record::Value;

constexpr std::array<std::string_view, 3> kResources{"cpu", "memory", "io"};

std::string column_name(std::string_view resource, std::string_view kind) {
  return std::string("node.pressure_").append(resource).append("_").append(kind).append("_ns");
}

}  // namespace

PressureTotals parse_pressure(std::string_view text) noexcept {
  constexpr std::string_view kTotal = "total=";
  constexpr std::int64_t kMicrosecondNs = 1000;
  PressureTotals totals;
  for (Scanner lines(text); !lines.done();) {
    Scanner words(lines.line());
    const std::string_view kind = words.word();
    if (kind != "some" && kind != "full") continue;
    for (std::string_view word = words.word(); !word.empty(); word = words.word()) {
      if (!word.starts_with(kTotal)) continue;
      const auto total_ns = Scanner(word.substr(kTotal.size())).number_times(kMicrosecondNs);
      if (total_ns) (kind == "some" ? totals.some_ns : totals.full_ns) = *total_ns;
    }
  }
  return totals;
}

PressureRefusal pressure_refusal(int error) noexcept {
  switch (error) {
    case EACCES:
    case EPERM:
      return {State::kNotPermitted, "this user may not read how long work had to wait"};
    case ENOENT:
      return {State::kNotSupported,
              "the kernel doesn't count how long work had to wait (built without PSI, or without "
              "psi=1 on its command line)"};
    case EOPNOTSUPP:
      return {State::kNotSupported,
              "the kernel can count how long work had to wait (PSI), but that is switched off: it "
              "needs psi=1 on its command line"};
    default:
      return {State::kNotSupported, "how long work had to wait (PSI) can't be read"};
  }
}

Pressure::Pressure(const std::string& root, MissingList& missing) {
  std::vector<char> buffer(4096);
  for (std::size_t i = 0; i < resources_.size(); ++i) {
    Resource& resource = resources_[i];
    resource.has_full = i != 0;
    resource.file = KernelFile(root, std::string("/proc/pressure/").append(kResources[i]));
    errno = 0;
    // Where it is switched off, some kernels have the files, and refuse to read them.
    const bool read = !resource.file.read_lines(buffer).empty();
    const int error = resource.file.valid() ? errno : resource.file.error();
    const PressureRefusal refusal = pressure_refusal(error);
    resource.state = read ? State::kNotYet : refusal.state;
    for (const std::string_view kind : {"some", "full"}) {
      if (kind == "full" && !resource.has_full) continue;
      columns_.push_back({column_name(kResources[i], kind), record::Kind::kCounter});
      if (!read) missing.say(columns_.back().name, refusal.state, refusal.reason);
    }
  }
}

void Pressure::read(std::span<Value> values, const Turn& turn) noexcept {
  if (values.size() != columns_.size()) return;
  std::size_t at = 0;
  for (auto& resource : resources_) {
    const std::string_view text = resource.file.read_lines(turn.buffer);
    PressureTotals now = parse_pressure(text);
    if (text.empty()) now.some_ns = now.full_ns = record::unknown(resource.state);
    values[at++] = never_falling(resource.before.some_ns, now.some_ns);
    if (resource.has_full) values[at++] = never_falling(resource.before.full_ns, now.full_ns);
  }
}

}  // namespace probe
