#pragma once
// Level `user`: all processes of the user whose process is watched.

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "probe/capacity.hpp"
#include "probe/family.hpp"
#include "probe/listing.hpp"
#include "probe/missing.hpp"
#include "probe/process_files.hpp"
#include "probe/source.hpp"

namespace probe {

// A process belongs to the user who owns it in /proc (its effective one), or who started it: then
// its parent is one of the user's and its real user is this one (sudo). Once in it, a process
// stays until it has ended. Kernel threads don't belong to it; the sampler itself does. What ended
// processes leave: account.hpp.
//
// Looks on full turns only and repeats its values between. No file stays open: 0.5 us for each
// process that hasn't run, 9 us for one that has; what others do to one that doesn't run (pages
// taken away, its parent's end) is seen within 32 s.
class Users final : public Source {
 public:
  // The user of `root_pid`, or of this process when that is <= 0. `listing` and `capacity` outlive
  // this; their owner refreshes them before read().
  Users(const std::string& root, pid_t root_pid, const Listing& listing, const Capacity& capacity,
        MissingList& missing);

  [[nodiscard]] std::string_view name() const noexcept override { return "user"; }
  [[nodiscard]] std::string_view origin() const noexcept override {
    return "/proc of all processes of this user";
  }
  [[nodiscard]] const std::vector<record::Column>& columns() const noexcept override {
    return columns_;
  }
  void read(std::span<record::Value> values, const Turn& turn) noexcept override;

  [[nodiscard]] std::span<const Process> list() const noexcept { return family_.list(); }

 private:
  // One of the node's processes, as last listed.
  struct Known {
    pid_t pid = 0;
    std::uint64_t inode = 0;
    std::uint32_t looks = 0;     // so many times it was seen
    bool kernel_thread = false;  // for ever: nobody needs to look again
  };
  struct Fresh {
    pid_t pid = 0;
    pid_t parent = 0;
    bool adopted = false;
  };

  void look(const Reading& reading);
  void adopt_fresh(const Reading& reading);
  void note_kernel_thread(pid_t pid) noexcept;
  [[nodiscard]] bool is_ours(const Listing::Entry& entry, std::span<char> buffer) noexcept;
  [[nodiscard]] std::optional<uid_t> real_user(pid_t pid, std::span<char> buffer) const noexcept;
  void fill(std::int64_t now_ns) noexcept;
  void say_io_unread(bool refused) noexcept;

  static constexpr std::size_t kColumns = 13;

  ProcDirectory proc_;
  const Listing& listing_;
  const Capacity& capacity_;
  MissingList& missing_;
  std::optional<uid_t> user_;
  std::vector<record::Column> columns_;
  Family family_{0};
  LowerBoundNote io_note_;
  std::vector<Known> known_;  // ascending by pid
  std::vector<Known> listed_;
  std::vector<Fresh> fresh_;  // to be adopted
  bool looked_ = false;
  Amounts total_;
  bool io_read_ = false;
  std::array<record::Value, kColumns> values_;
};

}  // namespace probe
