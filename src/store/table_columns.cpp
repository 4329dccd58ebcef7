#include "store/table_columns.hpp"

#include <array>
#include <utility>

namespace store {
namespace {

constexpr std::string_view kNs = "_ns";
constexpr std::string_view kCpuTime = "cpu_time_ns";

constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kUnits{{
    {kNs, "ns"},
    {"_bytes", "B"},
    {"_percent", "%"},
    {"_milliwatts", "mW"},
    {"_millijoules", "mJ"},
    {"_celsius", "°C"},
    {"_hz", "Hz"},
    {"_millicores", "1/1000 core"},
    {"_milli", "1/1000"},
    {"_per_s", "1/s"},
}};

}  // namespace

std::string_view unit_of(std::string_view metric) noexcept {
  for (const auto& [ending, unit] : kUnits) {
    if (metric.ends_with(ending)) return unit;
  }
  return "";
}

DerivedRate rate_of(std::string_view metric) {
  using Form = DerivedRate::Form;
  if (metric.starts_with("root_")) return {};
  std::string name(metric);
  if (metric == kCpuTime) return {Form::kCapacityPercent, true, "cpu_percent", "%"};
  if (metric.ends_with(kCpuTime)) {  // of one core
    name.replace(name.size() - kCpuTime.size(), kCpuTime.size(), "cpu_percent");
    return {Form::kTimePercent, true, std::move(name), "%"};
  }
  if (metric.ends_with(kNs)) {
    name.resize(name.size() - kNs.size());
    return {Form::kTimePercent, metric.starts_with("pressure_"), name + "_percent", "%"};
  }
  const std::string_view unit = unit_of(metric);
  return {Form::kPerSecond, false, name + "_per_s", std::string(unit.empty() ? "1" : unit) + "/s"};
}

DerivedRate real_rate_of(std::string_view metric, std::string_view unit) {
  return {DerivedRate::Form::kPerSecond, false, std::string(metric) + "_per_s",
          std::string(unit.empty() ? "1" : unit) + "/s"};
}

}  // namespace store
