#pragma once
// What the job's group had read from and written to block devices.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.hpp"
#include "probe/cgroup_io.hpp"
#include "probe/job_group.hpp"
#include "record/value.hpp"

namespace probe {

class JobIo {
 public:
  // Reads nothing.
  JobIo() = default;
  // Opens the files of the group; errno says why valid() is false.
  JobIo(const std::string& root, const Group& group);
  [[nodiscard]] bool valid() const noexcept { return bytes_file_.valid(); }
  // Version 1 before Linux 5.4 counts the group without those below it.
  [[nodiscard]] bool without_descendants() const noexcept { return without_descendants_; }

  // False when it can't be read now. Devices that stand on others (device mapper, RAID, loop) and
  // those in memory are left out: the kernel counts a request in each of them. Allocates only for
  // devices that are new.
  bool read(std::span<char> buffer) noexcept;
  // Bytes read, written, requests read, written, since the group was made: never falling. Version 1
  // may count only what it holds back (Linux >= 6.10), so as long as it has named no device there
  // is no value yet.
  [[nodiscard]] record::Value total(std::size_t which) const noexcept;

 private:
  struct Device {
    std::array<char, 24> name{};
    std::size_t name_size = 0;
    bool counted = false;
    std::array<std::int64_t, 4> last{};
  };
  void see(std::string_view name, std::size_t first, const ReadWrite& now) noexcept;
  Device* find(std::string_view name) noexcept;
  [[nodiscard]] bool stands_alone(std::string_view name) const;

  std::string root_;
  bool unified_ = false;
  bool without_descendants_ = false;
  base::File bytes_file_;
  base::File requests_file_;
  std::vector<Device> devices_;
  std::array<std::int64_t, 4> totals_{};
};

}  // namespace probe
