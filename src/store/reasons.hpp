#pragma once
// Why a figure is missing, in words that begin with the state: "not supported: …".

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "record/value.hpp"
#include "store/recording.hpp"

namespace store {

class Reasons {
 public:
  // What the recording had said about itself up to time_ns.
  Reasons(const Recording& recording, std::int64_t time_ns) noexcept
      : recording_(recording), time_ns_(time_ns) {}

  // The newest record::Missing that covers the metric, as "<state word>: <reason>". Its name may be
  // the metric's ("node.io_read_bytes"), a family's ("node.io", "node.io_*") or the level's.
  [[nodiscard]] std::optional<std::string> recorded(std::string_view level,
                                                    std::string_view metric) const;

  // "lower bound: <reason>" when a value that is measured may be too small.
  [[nodiscard]] std::optional<std::string> bound(std::string_view level,
                                                 std::string_view metric) const;

  // The first, or what can be said when nothing is recorded; `seen` is the value that was found.
  [[nodiscard]] std::string why(std::string_view level, std::string_view metric,
                                record::Value seen) const;

 private:
  [[nodiscard]] const record::Missing* newest(std::string_view level,
                                              std::string_view metric) const;

  const Recording& recording_;
  std::int64_t time_ns_;
};

}  // namespace store
