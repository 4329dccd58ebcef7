#pragma once
// Why a figure is missing, in words that begin with the state: "not supported: …".

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/value.hpp"
#include "store/recording.hpp"

namespace store {

class Reasons {
 public:
  // What the recording had said about itself up to end_ns, for a cell that began at begin_ns.
  Reasons(const Recording& recording, std::int64_t begin_ns, std::int64_t end_ns) noexcept
      : recording_(recording), begin_ns_(begin_ns), end_ns_(end_ns) {}

  // The newest record::Missing that covers the metric, as "<state word>: <reason>". Its name may be
  // the metric's ("node.io_read_bytes"), a family's ("node.io", "node.io_*") or the level's. What
  // begins with "lower bound: " isn't among them.
  [[nodiscard]] std::optional<std::string> recorded(std::string_view level,
                                                    std::string_view metric) const;

  // Names that the recording says are missing, of one level, without the level:
  // "net_receive_bytes".
  [[nodiscard]] std::vector<std::string> missing_of(std::string_view level) const;

  // "lower bound: <reason>" when a value that is measured may be too small in this cell. A record
  // that says so with state kMeasured is about the second before and the second after its time, or
  // about all when that is 0; one with another state holds until its name is said with kMeasured.
  [[nodiscard]] std::optional<std::string> bound(std::string_view level,
                                                 std::string_view metric) const;

  // The first, or what can be said when nothing is recorded; `seen` is the value that was found.
  [[nodiscard]] std::string why(std::string_view level, std::string_view metric,
                                record::Value seen) const;

 private:
  [[nodiscard]] bool touches(std::size_t place) const;
  [[nodiscard]] bool ends_a_bound(std::size_t place) const;

  const Recording& recording_;
  std::int64_t begin_ns_;
  std::int64_t end_ns_;
};

}  // namespace store
