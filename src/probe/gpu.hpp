#pragma once
// NVIDIA cards: what the driver's library NVML says about each card that the process may use, and
// about our processes on it.
//
// Columns of a card, N = the driver's own number: node.gpuN.utilization_percent,
// memory_utilization_percent, memory_bytes, capacity_memory_bytes, power_milliwatts,
// energy_millijoules (a counter), temperature_celsius, clock_hz, memory_clock_hz, throttle_reasons
// (the driver's bit mask), process.gpuN.memory_bytes, process.gpuN.utilization_percent. Of a MIG
// slice (node.gpuN_migM): memory_bytes, capacity_memory_bytes, and utilization_percent, which says
// that it can't be measured.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "probe/gpu_exchange.hpp"
#include "probe/gpu_watch.hpp"
#include "probe/missing.hpp"
#include "probe/source.hpp"

namespace probe {

// All calls from the tick's thread. The driver is called by a thread of its own, which has all
// signals blocked and ends where there is no driver. A tick costs about a microsecond: it takes the
// values of the last round that is complete, which are as old as the tick before, and asks for the
// next. A driver that hangs makes them unknown after two seconds, and holds nobody up.
class Gpus final : public Source {
 public:
  // Starts the thread. Waits 20 ms at most, so that where there is no driver that is known at once.
  Gpus(const GpuOptions& options, MissingList& missing);
  // Waits a tenth of a second at most; a thread that hangs in the driver is left to itself.
  ~Gpus() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "gpu"; }
  [[nodiscard]] std::string_view origin() const noexcept override {
    return "NVML (libnvidia-ml.so.1)";
  }
  [[nodiscard]] const std::vector<record::Column>& columns() const noexcept override {
    return columns_;
  }
  // Also says what the driver's thread found missing: allocates when there is something new.
  bool columns_changed() noexcept override;
  [[nodiscard]] std::size_t most_columns() const noexcept override {
    return running() ? most_columns_ : columns_.size();
  }
  void read(std::span<record::Value> values, const Turn& turn) noexcept override;

  // Devices found since the last call, in the order of the columns; one comes again when another
  // card got its name (a reload of the driver). Ask after columns_changed().
  std::vector<record::Device> take_devices() noexcept override;
  // The processes of level `process`, once a second at most. Takes no lock that is held.
  void set_processes(std::span<const pid_t> pids) noexcept override;
  // Another CUDA_VISIBLE_DEVICES than the one in the environment that the process began with (it
  // was set in the notebook); nullopt: unset. Columns of cards that aren't in it say "vanished".
  void set_visible_devices(std::optional<std::string_view> list) override;

  // False when the thread has ended: there is nothing to watch.
  [[nodiscard]] bool running() const noexcept { return thread_.joinable() && !exchange_->ended(); }

 private:
  MissingList& missing_;
  std::shared_ptr<GpuExchange> exchange_;
  std::size_t most_columns_;
  std::vector<record::Column> columns_;
  std::shared_ptr<const GpuReport> report_;  // the newest one that was looked at
  std::size_t devices_taken_ = 0;
  std::thread thread_;
};

}  // namespace probe
