#include "probe/capacity.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <exception>
#include <iterator>
#include <utility>

#include "base/clock.hpp"
#include "probe/cores.hpp"
#include "probe/memory.hpp"
#include "probe/process_stat.hpp"

namespace probe {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::size_t kBufferBytes = 1 << 15;  // a list of every second of 8192 cores is 20 kB

base::File open_below(const std::string& root, const std::string& path) {
  return base::File::try_open((root + "/" + path).c_str(), O_RDONLY);
}

}  // namespace

Capacity::Capacity(const std::string& root, pid_t pid)
    : online_file_(open_below(root, "sys/devices/system/cpu/online")),
      memory_file_(open_below(root, "proc/meminfo")),
      looked_ns_(base::monotonic_ns()) {
  if (pid > 0) status_file_ = open_below(root, "proc/" + std::to_string(pid) + "/status");
  read();
  changed_ = false;
}

void Capacity::look(std::int64_t now_ns) noexcept {
  if (now_ns - looked_ns_ < kSecondNs) return;
  looked_ns_ = now_ns;
  try {
    read();
  } catch (const std::exception&) {
    return;  // no memory: it stays as it was for another second
  }
}

bool Capacity::changed() noexcept { return std::exchange(changed_, false); }

void Capacity::read() {
  std::array<char, kBufferBytes> buffer;
  const auto memory = parse_meminfo(base::read_text(memory_file_.fd(), buffer));
  if (memory && memory->total_bytes != memory_bytes_) {
    memory_bytes_ = memory->total_bytes;
    changed_ = true;
  }
  bool cores_changed = false;
  const auto online = base::read_text(online_file_.fd(), buffer);
  if (!online.empty() && online != online_text_) {
    online_ = parse_core_list(online);
    online_text_ = online;
    cores_changed = true;
  }
  const auto allowed = parse_status_cores(base::read_text(status_file_.fd(), buffer));
  if (!allowed.empty() && allowed != allowed_text_) {
    allowed_text_ = allowed;
    cores_changed = true;
  }
  if (!cores_changed) return;
  changed_ = true;
  affinity_.clear();
  const auto all_allowed = parse_core_list(allowed_text_);
  if (online_.empty()) {
    affinity_ = all_allowed;  // no /sys: what the process may use is all that is known
  } else {
    std::ranges::set_intersection(all_allowed, online_, std::back_inserter(affinity_));
  }
}

}  // namespace probe
