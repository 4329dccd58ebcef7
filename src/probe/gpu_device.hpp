#pragma once
// One card, or one MIG slice, that is measured: its columns and their values. On the driver's
// thread only.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "probe/gpu_cards.hpp"
#include "probe/gpu_processes.hpp"
#include "probe/missing.hpp"
#include "probe/nvml_library.hpp"
#include "record/records.hpp"

namespace probe {

struct GpuLevels {
  bool node = true;
  bool process = true;
  // The most columns that one card, one slice may have.
  [[nodiscard]] std::size_t card_columns() const noexcept;
  [[nodiscard]] std::size_t slice_columns() const noexcept;
};

class GpuDevice {
 public:
  GpuDevice(GpuCard card, GpuLevels levels);

  [[nodiscard]] const GpuCard& card() const noexcept { return card_; }
  // After a reload of the driver: the one that has the name now. Counters go on.
  void replace(GpuCard card);

  // In the order of values().
  void add_columns(std::vector<record::Column>& columns) const;
  [[nodiscard]] std::span<const record::Value> values() const noexcept { return values_; }
  // Bytes, as last read; unknown before read().
  [[nodiscard]] record::Value capacity_bytes() const noexcept { return capacity_bytes_; }

  // Calls the driver for everything but the processes; what has no value is said in `missing`, once
  // each. Returns an answer that is_driver_gone(), kGpuIsLost, or kSuccess.
  nvml::Return read(const Nvml& nvml, MissingList& missing);
  // The processes; judged when those of all cards are known.
  nvml::Return read_processes(const Nvml& nvml, GpuProcesses& processes, std::uint64_t now_us);
  void judge_processes(const GpuProcesses& processes, MissingList& missing);

  // All values: unknown, `state`.
  void forget(record::State state);

 private:
  struct Shares {
    GpuShare memory;
    GpuShare utilization;
  };
  static constexpr std::size_t kMetrics = 12;

  void put(std::size_t metric, nvml::Return answer, std::uint64_t number, std::string_view function,
           MissingList& missing);
  void put_unknown(std::size_t metric, record::State state, std::string_view reason,
                   MissingList& missing);
  void read_memory(const Nvml& nvml, MissingList& missing);
  void continue_energy() noexcept;
  void read_energy(const Nvml& nvml, MissingList& missing);
  void read_temperature(const Nvml& nvml, MissingList& missing);
  void put_share(std::size_t metric, const GpuShare& share, record::State numbers,
                 std::string_view function, MissingList& missing);
  [[nodiscard]] bool has(std::size_t metric) const noexcept;
  [[nodiscard]] std::string column(std::size_t metric) const;

  GpuCard card_;
  GpuLevels levels_;
  std::array<std::size_t, kMetrics> places_{};  // of each metric among the values
  std::vector<record::Value> values_;
  record::Value capacity_bytes_ = record::unknown(record::State::kNotYet);
  std::array<bool, kMetrics> said_{};
  bool second_memory_ = true;  // the newer function is worth asking
  nvml::Return worst_ = nvml::kSuccess;
  std::int64_t energy_base_ = 0;  // of drivers before this one
  std::int64_t energy_ = 0;       // as the driver counts
  bool reloaded_ = false;         // it may count from zero again
  Shares shares_;
};

}  // namespace probe
