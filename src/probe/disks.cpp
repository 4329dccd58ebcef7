#include "probe/disks.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "probe/scan.hpp"

namespace probe {
namespace {

namespace fs = std::filesystem;

// Made of other devices, files or memory: device mapper, RAID, loop, memory, ZFS volumes. By name,
// because what they stand on is joined to them only after they have appeared.
constexpr std::array<std::string_view, 7> kStackedNames{"dm-", "md",   "loop",  "ram",
                                                        "zd",  "zram", "bcache"};

bool exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

bool has_entries(const std::string& folder) {
  std::error_code error;
  return fs::directory_iterator(folder, error) != fs::directory_iterator();
}

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

std::string_view without_number(std::string_view name) noexcept {
  while (!name.empty() && is_digit(name.back())) name.remove_suffix(1);
  return name;
}

}  // namespace

std::optional<DeviceLine<kDiskCounts>> parse_disk(std::string_view line) noexcept {
  constexpr std::int64_t kSectorBytes = 512;
  constexpr std::int64_t kMillisecondNs = 1'000'000;
  Scanner words(line);
  if (!words.number() || !words.number()) return std::nullopt;  // major, minor
  DeviceLine<kDiskCounts> found;
  found.name = words.word();
  bool complete = !found.name.empty();
  const auto number_times = [&](std::int64_t factor) {
    const auto value = words.number_times(factor);
    complete = complete && value.has_value();
    return value.value_or(0);
  };
  auto& counts = found.counts;
  counts[kDiskReadOps] = number_times(1);
  words.skip_words(1);
  counts[kDiskReadBytes] = number_times(kSectorBytes);
  words.skip_words(1);
  counts[kDiskWriteOps] = number_times(1);
  words.skip_words(1);
  counts[kDiskWriteBytes] = number_times(kSectorBytes);
  words.skip_words(2);
  counts[kDiskBusyNs] = number_times(kMillisecondNs);
  if (!complete) return std::nullopt;
  return found;
}

Disks::Disks(const std::string& root)
    : file_(root, "/proc/diskstats"), sys_folder_(root + "/sys/class/block") {
  if (!exists(sys_folder_)) sys_folder_.clear();
  std::vector<char> buffer(1 << 15);
  sum_.start(file_.read_lines(buffer), parse_disk,
             [this](auto name) { return static_cast<std::uint8_t>(is_whole_disk(name)); });
  available_ = !sum_.devices().empty();
}

std::string Disks::reason() const {
  return file_.valid() ? "/proc/diskstats lists nothing" : file_.reason();
}

bool Disks::read(std::span<char> buffer, std::int64_t now_ns) noexcept {
  const std::string_view text = file_.read_lines(buffer);
  if (text.empty()) return false;
  sum_.take(text, now_ns, parse_disk,
            [this](auto name) { return static_cast<std::uint8_t>(is_whole_disk(name)); });
  return true;
}

bool Disks::is_whole_disk(std::string_view name) const {
  if (std::ranges::any_of(kStackedNames, [&](auto begin) { return name.starts_with(begin); })) {
    return false;
  }
  if (sys_folder_.empty()) {
    // "sda1" of "sda", "nvme0n1p2" of "nvme0n1". (A lone "xvda1" is a disk.)
    std::string_view parent = without_number(name);
    if (parent.size() == name.size()) return true;
    if (is_listed(parent)) return false;
    if (!parent.ends_with('p')) return true;
    parent.remove_suffix(1);
    return parent.empty() || !is_digit(parent.back()) || !is_listed(parent);
  }
  std::string folder = sys_folder_ + "/";
  const std::size_t begin = folder.size();
  folder += name;
  std::replace(folder.begin() + static_cast<std::ptrdiff_t>(begin), folder.end(), '/', '!');
  if (exists(folder + "/partition") || has_entries(folder + "/slaves")) return false;
  // A path of a disk that has several (nvme0c0n1) is hidden behind it.
  const auto hidden = base::read_small_file(folder + "/hidden", 16);
  return !hidden || !hidden->starts_with('1');
}

bool Disks::is_listed(std::string_view name) const noexcept {
  return std::ranges::any_of(
      sum_.devices(), [&](const auto& device) { return device.present && device.name() == name; });
}

std::vector<std::string> Disks::counted() const {
  std::vector<std::string> names;
  for (const auto& device : sum_.devices()) {
    if (device.counted && device.present) names.emplace_back(device.name());
  }
  return names;
}

}  // namespace probe
