#include "probe/oom_text.hpp"

#include <charconv>
#include <cstdint>

#include "probe/scan.hpp"
#include "probe/slurm.hpp"

namespace probe {
namespace {

constexpr std::size_t kMostPathBytes = 100;

// The path may be anything: printable ASCII is left, of a long one the end.
std::string shown(std::string_view path) {
  std::string text;
  if (path.size() > kMostPathBytes) {
    text = "...";
    path.remove_prefix(path.size() - kMostPathBytes);
  }
  for (const char c : path) text += c >= ' ' && c <= '~' ? c : '?';
  return text;
}

bool holds_sigkill(std::string_view line) noexcept {
  constexpr std::uint64_t kSigkill = 1U << (9 - 1);
  const std::string_view digits = Scanner(line.substr(line.find(':') + 1)).word();
  std::uint64_t mask = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), mask, 16);
  return (mask & kSigkill) != 0;
}

}  // namespace

OomEvents parse_oom_events(std::string_view text) noexcept {
  OomEvents events;
  for (Scanner lines(text); !lines.done();) {
    Scanner words(lines.line());
    const std::string_view name = words.word();
    record::Value* place = nullptr;
    if (name == "oom") place = &events.ooms;
    if (name == "oom_kill") place = &events.kills;
    if (name == "oom_group_kill") place = &events.group_kills;
    if (place != nullptr) *place = words.number().value_or(*place);
  }
  return events;
}

bool is_dying(std::string_view status) noexcept {
  bool has_memory = false;
  for (Scanner lines(status); !lines.done();) {
    const std::string_view line = lines.line();
    if (line.starts_with("Vm")) has_memory = true;
    if ((line.starts_with("SigPnd:") || line.starts_with("ShdPnd:")) && holds_sigkill(line)) {
      return true;
    }
  }
  return !has_memory;
}

record::Value parse_oomd_mark(std::string_view text) noexcept {
  return Scanner(text).number().value_or(0);
}

std::string limit_owner(std::string_view path, bool own) {
  const std::string_view job = slurm_job_path(path);
  if (job.empty()) return own ? "" : "that of the control group " + shown(path);
  constexpr std::string_view kStep = "/step_";
  const std::string name = shown(job.substr(job.rfind("/job_") + 5));
  std::string_view below = path.substr(job.size());
  if (!below.starts_with(kStep)) return "that of the Slurm job " + name;
  below.remove_prefix(kStep.size());
  return "that of step " + shown(below.substr(0, below.find('/'))) + " of the Slurm job " + name;
}

}  // namespace probe
