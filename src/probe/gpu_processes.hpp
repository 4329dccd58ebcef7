#pragma once
// Who uses a card, as the driver counts processes, and which of them are ours.

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "probe/nvml_library.hpp"
#include "record/value.hpp"

namespace probe {

// Whether the driver's process numbers are those of our /proc. In the machine's first pid namespace
// they are. In a container some drivers give the machine's numbers, some the container's, and some
// the one in one list and the other in another (560): there the numbers themselves are looked at.
// They are ours when all of them exist, another namespace's when one doesn't for two seconds (a
// process may end while we look).
class PidNamespace {
 public:
  // `root`: where proc/ lies.
  explicit PidNamespace(const std::string& root);

  // All numbers of one list, then end_round().
  void listed(std::uint32_t pid) noexcept;
  void end_round(std::int64_t now_ns) noexcept;

  // kMeasured: the numbers are ours. kNotYet: nothing says so or otherwise. kNotSupported: they are
  // another namespace's, for good.
  [[nodiscard]] record::State state() const noexcept { return state_; }
  [[nodiscard]] bool is_first() const noexcept { return first_; }

 private:
  [[nodiscard]] bool exists(std::uint32_t pid) const noexcept;

  base::File proc_;
  bool first_ = false;  // ours is the machine's first one
  record::State state_ = record::State::kNotYet;
  bool listed_any_ = false;
  std::uint32_t stranger_ = 0;      // doesn't exist here
  std::uint32_t stranger_now_ = 0;  // in this round
  std::int64_t stranger_ns_ = 0;    // since when
};

// How many bytes an entry of a list of processes has. Manual and drivers don't agree: _v3 of some
// 535 drivers writes ProcessDetail, and one is known that writes ProcessInfoV1. So `entries`, room
// for more than `count` of the largest, was filled with kUntouchedEntry, and what the driver wrote
// tells; `by_name`, as the function's name promises, where it doesn't.
inline constexpr char kUntouchedEntry = '\xa5';
std::size_t process_entry_bytes(std::span<const char> entries, std::uint32_t count,
                                std::size_t by_name) noexcept;

// What our processes have of one card. `answer` says whether the value is one.
struct GpuShare {
  nvml::Return answer = nvml::kNotFound;
  std::int64_t value = 0;
};

class GpuProcesses {
 public:
  explicit GpuProcesses(const std::string& root);

  void set_ours(std::vector<pid_t> pids);
  // Before the first one nothing is ours, and nothing is known.
  [[nodiscard]] bool known() const noexcept { return known_; }

  // Call the driver. Memory: bytes, all processes of ours; one that has it for computing and for
  // drawing is counted once.
  GpuShare memory_of(const Nvml& nvml, nvml::Device device);
  // Per cent of the card's time, in the last second and a half (`now_us` since 1970).
  GpuShare utilization_of(const Nvml& nvml, nvml::Device device, std::uint64_t now_us);
  // After all cards.
  void end_round(std::int64_t now_ns) noexcept;

  // Whether the numbers in the two lists are ours.
  [[nodiscard]] record::State memory_state() const noexcept { return running_.state(); }
  [[nodiscard]] record::State utilization_state() const noexcept { return sampled_.state(); }

 private:
  struct Use {
    std::uint32_t pid = 0;
    std::uint32_t gpu_instance = 0;
    std::uint32_t compute_instance = 0;
    std::uint64_t bytes = 0;
  };
  using List = NvmlFunction<nvml::Device, std::uint32_t*, void*>;
  nvml::Return add_uses(const List& list, nvml::Device device);
  [[nodiscard]] bool is_ours(std::uint32_t pid) const noexcept;

  std::vector<pid_t> ours_;  // ascending
  bool known_ = false;
  PidNamespace running_;
  PidNamespace sampled_;
  std::vector<char> entries_;
  std::vector<nvml::ProcessSample> samples_;
  std::vector<Use> uses_;  // ours, of one card
};

}  // namespace probe
