#include "probe/mountstats.hpp"

#include <algorithm>

#include "probe/scan.hpp"

namespace probe {
namespace {

constexpr std::size_t kMostMounts = 256;
constexpr std::int64_t kMostSum = kMostNumber;

void add(std::int64_t& sum, std::int64_t number) noexcept {
  sum = std::min(kMostSum, sum + number);
}

void add_bytes(Scanner& words, MountCounts& counts) noexcept {
  std::array<std::int64_t, 6> bytes{};
  for (std::int64_t& one : bytes) one = words.number().value_or(0);
  add(counts[0], bytes[0]);
  add(counts[0], bytes[2]);
  add(counts[1], bytes[1]);
  add(counts[1], bytes[3]);
  add(counts[2], bytes[4]);
  add(counts[3], bytes[5]);
}

void add_operation(Scanner& words, MountCounts& counts) noexcept {
  std::array<std::int64_t, 9> numbers{};
  for (std::int64_t& one : numbers) one = words.number().value_or(0);
  add(counts[4], numbers[0]);
  add(counts[5], std::max<std::int64_t>(numbers[1] - numbers[0], 0));
  add(counts[6], numbers[2]);
  add(counts[7], numbers[8]);
  add(counts[8], numbers[6]);
}

}  // namespace

std::vector<NfsMount> parse_mountstats(std::string_view text) {
  std::vector<NfsMount> mounts;
  NfsMount* mount = nullptr;
  bool operations = false;
  for (Scanner lines(text); !lines.done();) {
    const std::string_view line = lines.line();
    Scanner words(line);
    const std::string_view first = words.word();
    if (first == "device") {
      const std::string_view device = words.word();
      operations = false;
      mount = nullptr;
      const bool nfs = line.find(" with fstype nfs ") != line.npos ||
                       line.find(" with fstype nfs4 ") != line.npos;
      const bool known = std::ranges::find(mounts, device, &NfsMount::device) != mounts.end();
      if (!nfs || known || mounts.size() == kMostMounts) continue;
      mounts.push_back({std::string(device), {}});
      mount = &mounts.back();
    } else if (mount == nullptr) {
      continue;
    } else if (first == "bytes:") {
      add_bytes(words, mount->counts);
    } else if (first == "per-op") {
      operations = true;
    } else if (operations && first.ends_with(':')) {
      add_operation(words, mount->counts);
    }
  }
  return mounts;
}

}  // namespace probe
