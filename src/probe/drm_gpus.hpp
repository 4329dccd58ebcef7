#pragma once
// AMD and Intel graphics cards, without a vendor's library.
//
// Columns of a card, N = the number of /sys/class/drm/cardN: node.drmN.utilization_percent,
// memory_utilization_percent, memory_bytes, main_memory_bytes (of main memory, used by the card),
// capacity_memory_bytes, power_milliwatts, energy_millijoules (a counter), temperature_celsius,
// clock_hz; process.drmN.memory_bytes, main_memory_bytes, busy_ns (a counter; see DrmClients).

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "probe/drm_rounds.hpp"
#include "probe/drm_sensors.hpp"
#include "probe/drm_tree.hpp"
#include "probe/missing.hpp"
#include "probe/source.hpp"

namespace probe {

struct DrmOptions {
  std::string root = "/";
  bool node_level = true;
  bool process_level = true;
  std::int64_t pause_ns = 1'000'000'000;   // between two looks
  std::int64_t silent_ns = 5'000'000'000;  // what is older isn't shown
};

// All calls from the tick's thread. Each card is read by a thread of its own, so that a driver that
// hangs takes only its own card's values along, and one more looks through the descriptors of the
// processes; all signals are blocked there. A tick takes what they found last, a second old or so
// (up to three where a look costs much), and costs about a microsecond.
//
// Cards that come later (a driver that is loaded, a card that is plugged in) have no columns; one
// that went and came back goes on.
class DrmGpus final : public Source {
 public:
  DrmGpus(const DrmOptions& options, MissingList& missing);
  // Waits a tenth of a second at most; a thread that hangs then is left to itself.
  ~DrmGpus() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "drm"; }
  [[nodiscard]] std::string_view origin() const noexcept override {
    return "/sys/class/drm and /proc/PID/fdinfo";
  }
  [[nodiscard]] const std::vector<record::Column>& columns() const noexcept override {
    return columns_;
  }
  void read(std::span<record::Value> values, const Turn& turn) noexcept override;

  // The processes of level `process`, once a second at most. Never waits.
  void set_processes(std::span<const pid_t> pids) noexcept override;
  // The cards, in the order of their columns; the second call gives none.
  std::vector<record::Device> take_devices() noexcept override;

 private:
  // Of one card: what its thread found last.
  struct CardSlots {
    CardSlots(const std::string& root, const DrmCard& card) : sensors(root, card) {}
    DrmSensors sensors;
    std::array<std::atomic<std::int64_t>, kDrmSensors> values{};
    std::atomic<std::int64_t> time_ns = 0;
  };
  static void look(CardSlots& slots);
  void add_card(const DrmOptions& options, const DrmCard& card);
  void add_column(std::string_view level, const DrmCard& card, std::string_view metric);
  record::Value show(std::size_t column, std::int64_t found, bool node) noexcept;
  void say_bounds(std::size_t column, unsigned bounds) noexcept;
  void say(std::size_t column, record::State state, std::string_view reason) noexcept;

  MissingList& missing_;
  std::int64_t silent_ns_;
  std::vector<record::Column> columns_;
  std::vector<char> said_;  // by column: there is a reason for it
  std::vector<record::Device> devices_;
  std::size_t cards_ = 0;
  std::vector<std::shared_ptr<CardSlots>> card_slots_;  // none without level `node`
  std::shared_ptr<DrmTree> tree_;                       // none without level `process`
  std::vector<std::unique_ptr<DrmRounds>> threads_;
};

}  // namespace probe
