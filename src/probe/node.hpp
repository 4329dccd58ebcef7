#pragma once
// The node: cores, memory, storage, threads, from four files that are kept open.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.hpp"
#include "probe/capacity.hpp"
#include "probe/missing.hpp"
#include "record/records.hpp"

namespace probe {

class Node {
 public:
  // Opens /proc/stat, and when `all` also meminfo, vmstat and loadavg below `root`. What isn't
  // there or can't be read is said in `missing` and stays unknown.
  Node(const std::string& root, bool all, MissingList& missing);

  // The columns of level `node`, in the order of fill(). One for each core that was online when
  // this was made, by its real number.
  [[nodiscard]] std::vector<record::Column> columns() const;

  // Reads /proc/stat: fork count and cores. Once a tick, before fill().
  void read_cores(std::span<char> buffer) noexcept;
  // Processes and threads started since boot; nullopt when it can't be read.
  [[nodiscard]] std::optional<std::int64_t> forks() const noexcept { return forks_; }

  // Reads the rest and fills `values` (as many as columns()). `processes`: as listed.
  void fill(std::span<record::Value> values, const Capacity& capacity, record::Value processes,
            std::span<char> buffer) noexcept;

  // How large a buffer the texts need now, with room to grow.
  [[nodiscard]] std::size_t buffer_bytes() const noexcept { return buffer_bytes_; }

 private:
  // A counter never falls: a smaller value repeats the one before. (Idle cores' counters are read
  // without a lock, and a core that comes back may begin anew.)
  static record::Value never_falling(record::Value& before, record::Value now) noexcept;

  // A file, and what its values are when it can't be read.
  struct Source {
    base::File file;
    record::State state = record::State::kNotSupported;
  };
  static Source open(const std::string& root, const char* name, MissingList& missing,
                     std::initializer_list<std::string_view> metrics);

  Source stat_;
  Source memory_;
  Source vmstat_;
  Source load_;
  std::size_t buffer_bytes_ = 0;
  std::optional<std::int64_t> forks_;
  std::vector<std::size_t> cores_;         // numbers, ascending
  std::vector<record::Value> core_ticks_;  // by number
  std::int64_t base_ticks_ = 0;
  record::Value busy_ticks_ = record::unknown(record::State::kNotYet);
  record::Value busy_before_ = record::unknown(record::State::kNotYet);
  std::vector<record::Value> cores_before_;
  record::Value read_before_ = record::unknown(record::State::kNotYet);
  record::Value write_before_ = record::unknown(record::State::kNotYet);
};

}  // namespace probe
