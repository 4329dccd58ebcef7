#pragma once
// What there is to use: the node's online cores and memory, and the cores of a process's affinity.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/file.hpp"

namespace probe {

class Capacity {
 public:
  // `pid` <= 0: the node only. Looks once. What can't be read is empty or 0.
  Capacity(const std::string& root, pid_t pid);

  // Looks again when the last look is a second old (30 us): cores may go offline, the affinity may
  // be changed by anybody, memory may be plugged. Allocates only when something has changed.
  void look(std::int64_t now_ns) noexcept;

  // Since the last call.
  bool changed() noexcept;

  [[nodiscard]] const std::vector<std::int64_t>& online() const noexcept { return online_; }
  // Usable ones: of the affinity, and online. Stays as it was when the process has ended.
  [[nodiscard]] const std::vector<std::int64_t>& affinity() const noexcept { return affinity_; }
  [[nodiscard]] std::int64_t memory_bytes() const noexcept { return memory_bytes_; }

 private:
  void read();

  base::File online_file_;
  base::File status_file_;
  base::File memory_file_;
  std::string online_text_;
  std::string allowed_text_;
  std::vector<std::int64_t> online_;
  std::vector<std::int64_t> affinity_;
  std::int64_t memory_bytes_ = 0;
  std::int64_t looked_ns_ = 0;
  bool changed_ = false;
};

}  // namespace probe
