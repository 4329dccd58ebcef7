#pragma once
// What sysfs tells of one graphics card.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.hpp"
#include "probe/drm_cards.hpp"
#include "probe/drm_cause.hpp"

namespace probe {

enum DrmSensor : std::size_t {
  kDrmUtilization,        // of 100: gpu_busy_percent
  kDrmMemoryUtilization,  // of 100: mem_busy_percent
  kDrmMemory,             // bytes: mem_info_vram_used
  kDrmMainMemory,         // bytes of main memory that the card uses: mem_info_gtt_used
  kDrmCapacity,           // bytes: mem_info_vram_total
  kDrmPower,              // mW
  kDrmEnergy,             // mJ; a counter
  kDrmTemperature,        // degrees Celsius
  kDrmClock,              // Hz of the shaders
  kDrmSensors
};

// A number, or drm_unknown(why not).
using DrmValues = std::array<std::int64_t, kDrmSensors>;

// The clock in use, in Hz, of pp_dpm_sclk (drivers/gpu/drm/amd/pm/amdgpu_pm.c): the level with the
// star. drm_unknown(kOdd) when there is none.
//
//   0: 500Mhz
//   1: 800Mhz *
//   2: 1700Mhz
std::int64_t parse_dpm_clock(std::string_view text) noexcept;

// Files are opened for each reading: a driver may be unloaded and come back, and open files of
// sysfs would be those of the old one.
class DrmSensors {
 public:
  DrmSensors(const std::string& root, const DrmCard& card);

  // Whether the driver has a file for it. Asks nobody but sysfs.
  [[nodiscard]] bool has(DrmSensor sensor) const;
  // May take milliseconds (the driver asks the card's firmware), or hang. A sleeping card isn't
  // woken: only its capacity is known then. Nor is one kept awake that may fall asleep (drivers
  // begin to count anew from each reading): while it has nothing to do, which its memory tells
  // meanwhile, or doesn't tell what it does, it is read only after its delay, and the values are
  // those of the last reading.
  const DrmValues& read(std::int64_t now_ns);

 private:
  DrmCause look(const base::File& folder);
  std::string hwmon() const;
  std::int64_t read(const base::File& folder, DrmSensor sensor, const std::string& place,
                    bool asleep);
  bool is_held(const base::File& folder, std::int64_t now_ns);
  void hold(const base::File& folder, std::int64_t now_ns);
  void add_energy(std::int64_t millijoules) noexcept;

  std::string root_;
  DrmCard card_;
  std::string folder_;  // "/sys/class/drm/card3" below the root
  std::vector<char> buffer_;
  DrmValues values_;
  std::int64_t held_until_ns_ = 0;
  std::int64_t energy_millijoules_ = 0;  // never falls
  std::int64_t energy_before_ = -1;      // as the card has it; -1: it was never read
};

}  // namespace probe
