#include "probe/gpu_processes.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string_view>
#include <tuple>
#include <utility>

#include "probe/process_files.hpp"
#include "probe/scan.hpp"

namespace probe {
namespace {

using record::State;

constexpr std::uint32_t kMostProcesses = 1024;  // of one card
constexpr std::uint64_t kSampleWindowUs = 1'500'000;
constexpr std::int64_t kStrangerNs = 2'000'000'000;

// The number of the first pid namespace: PROC_PID_INIT_INO in the kernel's include/linux/proc_ns.h,
// the same on every machine (namespaces(7)).
constexpr std::string_view kFirstNamespace = "pid:[4026531836]";

bool in_first_namespace(int proc_fd) noexcept {
  std::array<char, 64> link{};
  const ssize_t size = ::readlinkat(proc_fd, "self/ns/pid", link.data(), link.size());
  return size > 0 &&
         std::string_view(link.data(), static_cast<std::size_t>(size)) == kFirstNamespace;
}

}  // namespace

std::size_t process_entry_bytes(std::span<const char> entries, std::uint32_t count,
                                std::size_t by_name) noexcept {
  const std::size_t most = count * sizeof(nvml::ProcessDetail);
  const auto touched = [](char c) { return c != kUntouchedEntry; };
  const auto rest = entries.subspan(most);
  if (std::ranges::any_of(rest, touched)) return by_name;  // it was cleared as a whole
  std::size_t written = most;
  while (written > 0 && !touched(entries[written - 1])) --written;
  for (const std::size_t bytes : {sizeof(nvml::ProcessInfoV1), sizeof(nvml::ProcessInfo)}) {
    if (written <= count * bytes) return bytes;
  }
  return sizeof(nvml::ProcessDetail);
}

PidNamespace::PidNamespace(const std::string& root)
    : proc_(base::File::try_open((root + "/proc").c_str(), O_PATH | O_DIRECTORY)),
      first_(in_first_namespace(proc_.fd())),
      state_(first_ ? State::kMeasured : State::kNotYet) {}

bool PidNamespace::exists(std::uint32_t pid) const noexcept {
  return pid <= static_cast<std::uint32_t>(INT32_MAX) &&
         ::faccessat(proc_.fd(), ProcPath(static_cast<pid_t>(pid), "").text(), F_OK, 0) == 0;
}

void PidNamespace::listed(std::uint32_t pid) noexcept {
  if (first_ || pid == 0 || state_ == State::kNotSupported) return;
  listed_any_ = true;
  if (exists(pid)) return;
  // The one that was missing before, rather than a new one: it shows how long it has been so.
  if (stranger_now_ == 0 || pid == stranger_) stranger_now_ = pid;
}

void PidNamespace::end_round(std::int64_t now_ns) noexcept {
  if (first_ || state_ == State::kNotSupported) return;
  if (stranger_now_ != 0) {
    state_ = State::kNotYet;
    if (stranger_now_ != stranger_) {
      stranger_ns_ = now_ns;
    } else if (now_ns - stranger_ns_ >= kStrangerNs) {
      state_ = State::kNotSupported;
    }
  } else if (listed_any_) {
    state_ = State::kMeasured;
  }
  stranger_ = std::exchange(stranger_now_, 0);
  listed_any_ = false;
}

GpuProcesses::GpuProcesses(const std::string& root)
    : running_(root),
      sampled_(root),
      entries_(kMostProcesses * sizeof(nvml::ProcessDetail)),
      samples_(kMostProcesses) {}

void GpuProcesses::set_ours(std::vector<pid_t> pids) {
  ours_ = std::move(pids);
  std::ranges::sort(ours_);
  known_ = true;
}

bool GpuProcesses::is_ours(std::uint32_t pid) const noexcept {
  return pid <= static_cast<std::uint32_t>(INT32_MAX) &&
         std::ranges::binary_search(ours_, static_cast<pid_t>(pid));
}

nvml::Return GpuProcesses::add_uses(const List& list, nvml::Device device) {
  std::ranges::fill(entries_, kUntouchedEntry);
  std::uint32_t count = kMostProcesses;
  const nvml::Return answer = list(device, &count, entries_.data());
  if (answer != nvml::kSuccess) return answer;
  count = std::min(count, kMostProcesses);
  const bool versioned = list.name().ends_with("_v2") || list.name().ends_with("_v3");
  const std::size_t bytes = process_entry_bytes(
      entries_, count, versioned ? sizeof(nvml::ProcessInfo) : sizeof(nvml::ProcessInfoV1));
  for (std::uint32_t i = 0; i < count; ++i) {
    nvml::ProcessInfo info;
    std::memcpy(&info, entries_.data() + i * bytes, std::min(bytes, sizeof info));
    running_.listed(info.pid);
    if (!is_ours(info.pid)) continue;
    uses_.push_back({info.pid, info.gpu_instance, info.compute_instance, info.used_memory});
  }
  return answer;
}

GpuShare GpuProcesses::memory_of(const Nvml& nvml, nvml::Device device) {
  uses_.clear();
  const nvml::Return compute = add_uses(nvml.compute_processes, device);
  const nvml::Return graphics = add_uses(nvml.graphics_processes, device);
  if (compute != nvml::kSuccess && graphics != nvml::kSuccess) return {compute, 0};
  std::ranges::sort(uses_, {}, [](const Use& use) {
    return std::tuple(use.pid, use.gpu_instance, use.compute_instance, ~use.bytes);
  });
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < uses_.size(); ++i) {
    const Use& use = uses_[i];
    if (use.bytes == nvml::kNoNumber64) return {nvml::kNotSupported, 0};
    // In a container some drivers list a process and don't find its memory again.
    if (use.bytes == 0 && !running_.is_first()) return {nvml::kNoData, 0};
    if (use.bytes > static_cast<std::uint64_t>(kMostNumber)) return {nvml::kUnknown, 0};
    // Of two entries for the same, the larger came first.
    if (i > 0 && uses_[i - 1].pid == use.pid && uses_[i - 1].gpu_instance == use.gpu_instance &&
        uses_[i - 1].compute_instance == use.compute_instance) {
      continue;
    }
    sum = std::min(kMostNumber, sum + static_cast<std::int64_t>(use.bytes));
  }
  return {nvml::kSuccess, sum};
}

GpuShare GpuProcesses::utilization_of(const Nvml& nvml, nvml::Device device, std::uint64_t now_us) {
  std::uint32_t count = kMostProcesses;
  const nvml::Return answer =
      nvml.process_samples(device, samples_.data(), &count, now_us - kSampleWindowUs);
  if (answer == nvml::kNotFound) return {nvml::kSuccess, 0};  // nobody was busy
  if (answer != nvml::kSuccess) return {answer, 0};
  const std::span samples(samples_.data(), std::min(count, kMostProcesses));
  // Newest first, so of a process that is there twice the newest counts.
  std::ranges::sort(samples, {}, [](const nvml::ProcessSample& sample) {
    return std::tuple(sample.pid, ~sample.time_us);
  });
  std::int64_t sum = 0;
  std::uint32_t before = 0;
  for (const nvml::ProcessSample& sample : samples) {
    sampled_.listed(sample.pid);
    if (!is_ours(sample.pid) || sample.pid == before) continue;
    before = sample.pid;
    if (sample.sm > 100) return {nvml::kUnknown, 0};
    sum += sample.sm;
  }
  return {nvml::kSuccess, std::min<std::int64_t>(sum, 100)};
}

void GpuProcesses::end_round(std::int64_t now_ns) noexcept {
  running_.end_round(now_ns);
  sampled_.end_round(now_ns);
}

}  // namespace probe
