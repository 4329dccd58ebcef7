#pragma once
// Level `job`: what the job's groups count.

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.hpp"
#include "probe/capacity.hpp"
#include "probe/job_columns.hpp"
#include "probe/job_group.hpp"
#include "probe/job_io.hpp"
#include "probe/missing.hpp"
#include "probe/rising.hpp"
#include "probe/source.hpp"

namespace probe {

// Its columns are the same everywhere. Where there is no job, or a controller isn't there, their
// values say so. CPU time and memory are read at each turn (4 files: 7 us of CPU, 45 when caches
// are cold), the rest at full ones (14 files: 12 and 80 us). A process that is moved takes the
// level with it; counters go on.
class Job final : public Source {
 public:
  // `capacity`: of the process whose job it is; looked at before each read() by its owner, who
  // keeps it alive.
  Job(const std::string& root, const Capacity& capacity, MissingList& missing);

  [[nodiscard]] std::string_view name() const noexcept override { return "job"; }
  [[nodiscard]] std::string_view origin() const noexcept override { return origin_; }
  [[nodiscard]] const std::vector<record::Column>& columns() const noexcept override {
    return columns_;
  }
  void read(std::span<record::Value> values, const Turn& turn) noexcept override;

 private:
  // A file of a group, and what its values are when it can't be read.
  struct Part {
    base::File file;
    record::State state = record::State::kNotSupported;
  };

  void open();
  Part open_part(const Group& group, const char* name,
                 std::initializer_list<std::string_view> metrics);
  void say_rest(const JobGroups& groups);
  // Quotas of ancestors hold a group back too, and only they count it.
  void follow_throttling() noexcept;

  void read_all(std::span<char> buffer, bool full) noexcept;
  void read_cpu(std::span<char> buffer) noexcept;
  void read_memory(std::span<char> buffer, bool full) noexcept;
  void read_memory_seldom(std::span<char> buffer) noexcept;
  void read_storage(std::span<char> buffer) noexcept;
  void read_pressure(std::span<char> buffer) noexcept;
  void put_counter(JobColumn column, record::Value now) noexcept;
  static record::Value number(const Part& part, std::span<char> buffer) noexcept;

  std::string root_;
  const Capacity& capacity_;
  MissingList& missing_;
  std::string origin_;
  std::vector<record::Column> columns_;
  std::uint32_t move_ = 0;
  bool in_job_ = false;
  std::string cpu_directory_;
  std::string throttled_directory_;  // of the group whose quota holds the process back

  bool unified_cpu_ = false;
  bool unified_memory_ = false;
  Part usage_;
  Part throttled_;
  Part memory_;
  Part memory_stat_;
  Part memory_peak_;
  Part swap_;
  Part threads_;
  std::array<Part, 3> pressure_;
  std::vector<Part> kills_;
  JobIo io_;
  record::Value inactive_file_bytes_ = record::unknown(record::State::kNotYet);
  bool stat_is_dear_ = false;
  std::array<Rising, kJobColumns> counters_;
  std::array<record::Value, kJobColumns> values_{};
};

}  // namespace probe
