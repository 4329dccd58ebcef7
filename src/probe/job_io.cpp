#include "probe/job_io.hpp"

#include <fcntl.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <system_error>

#include "probe/cgroup.hpp"
#include "probe/scan.hpp"

namespace probe {
namespace {

constexpr std::size_t kMostDevices = 256;
constexpr std::size_t kUsualDevices = 32;

}  // namespace

JobIo::JobIo(const std::string& root, const Group& group) : root_(root), unified_(group.unified) {
  const auto open = [&](const char* name) {
    return base::File::try_open((group.directory() + "/" + name).c_str(), O_RDONLY);
  };
  if (unified_) {
    bytes_file_ = open("io.stat");
  } else {
    requests_file_ = open("blkio.throttle.io_serviced_recursive");
    bytes_file_ = open("blkio.throttle.io_service_bytes_recursive");
    if (!bytes_file_.valid()) {
      without_descendants_ = true;
      requests_file_ = open("blkio.throttle.io_serviced");
      bytes_file_ = open("blkio.throttle.io_service_bytes");
    }
  }
  if (bytes_file_.valid()) devices_.reserve(kUsualDevices);
}

bool JobIo::read(std::span<char> buffer) noexcept {
  if (!valid()) return false;
  const auto text = read_control(bytes_file_, buffer);
  if (!unified_) {
    if (text.empty()) return false;  // at least "Total 0" stands there
    visit_blkio(text, [&](auto name, const ReadWrite& now) { see(name, 0, now); });
    const auto requests = read_control(requests_file_, buffer);
    visit_blkio(requests, [&](auto name, const ReadWrite& now) { see(name, 2, now); });
    return true;
  }
  // Empty as long as nothing was read or written.
  for (Scanner lines(text); !lines.done();) {
    const DeviceIo io = parse_io_stat_line(lines.line());
    if (io.device.empty()) continue;
    see(io.device, 0, io.bytes);
    see(io.device, 2, io.requests);
  }
  return true;
}

record::Value JobIo::total(std::size_t which) const noexcept {
  if (!unified_ && devices_.empty()) return record::unknown(record::State::kNotYet);
  return totals_[which];
}

void JobIo::see(std::string_view name, std::size_t first, const ReadWrite& now) noexcept {
  Device* device = find(name);
  if (device == nullptr) return;
  for (std::size_t i = 0; i < now.size(); ++i) {
    std::int64_t& last = device->last[first + i];
    std::int64_t& total = totals_[first + i];
    if (device->counted && now[i] > last) total = std::min(total + now[i] - last, kMostNumber);
    last = now[i];
  }
}

JobIo::Device* JobIo::find(std::string_view name) noexcept {
  for (auto& device : devices_) {
    if (std::string_view(device.name.data(), device.name_size) == name) return &device;
  }
  if (devices_.size() >= kMostDevices) return nullptr;
  try {
    Device device;
    if (name.size() > device.name.size()) return nullptr;
    device.name_size = name.copy(device.name.data(), device.name.size());
    device.counted = stands_alone(name);
    return &devices_.emplace_back(device);
  } catch (const std::exception&) {
    return nullptr;  // no memory: next time
  }
}

bool JobIo::stands_alone(std::string_view name) const {
  namespace fs = std::filesystem;
  if (name.starts_with("7:")) return false;  // loop (Documentation/admin-guide/devices.txt)
  const fs::path link = fs::path(root_) / "sys/dev/block" / name;
  std::error_code error;
  const std::string device = fs::read_symlink(link, error).filename();
  if (device.starts_with("zram") || device.starts_with("ram")) return false;
  const fs::directory_iterator below(link / "slaves", error);
  return error || below == fs::directory_iterator();
}

}  // namespace probe
