#pragma once
// What the columns of a table are called, and which rate stands behind a counter.

#include <string>
#include <string_view>

namespace store {

// By the end of the name: "B" of memory_bytes, "ns", "%", "mW" …; "" for mere numbers.
std::string_view unit_of(std::string_view metric) noexcept;

struct DerivedRate {
  enum class Form { kNone, kCapacityPercent, kTimePercent, kPerSecond };
  Form form = Form::kNone;
  bool within_100 = false;  // of one core, of one clock: more can only be rounding
  std::string name;         // "cpu_percent", "pressure_cpu_some_percent", "io_read_bytes_per_s"
  std::string unit;
};
// Of a counter, by its name without the level. The root process's part has none.
DerivedRate rate_of(std::string_view metric);
// Of a custom monitor's counter, with the unit that it says.
DerivedRate real_rate_of(std::string_view metric, std::string_view unit);

}  // namespace store
