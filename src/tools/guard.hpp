#pragma once
// The sampler's watch over memory while a cell runs, when the user has asked for it. One thread.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "probe/memory_guard.hpp"
#include "record/marks.hpp"

namespace tools {

class Guard {
 public:
  explicit Guard(pid_t root_pid) noexcept : root_pid_(root_pid) {}

  void set(const record::Guard& wish);
  void begin_cell();
  void end_cell() noexcept;

  // When look() is due; INT64_MAX: never.
  [[nodiscard]] std::int64_t next_ns() const noexcept;
  // Something for the recording and the kernel: the running cell is to be interrupted.
  std::optional<record::NearLimit> look(std::int64_t now_ns) noexcept;

 private:
  [[nodiscard]] bool is_on() const noexcept { return memory_.has_value() && cells_ > 0; }

  pid_t root_pid_;
  double percent_ = 0;
  std::int64_t cells_ = 0;  // that run
  std::optional<probe::MemoryGuard> memory_;
  std::vector<char> buffer_;
};

}  // namespace tools
