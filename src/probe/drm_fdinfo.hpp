#pragma once
// /proc/PID/fdinfo/N of a descriptor of a graphics card: what its client (one open of the card)
// uses.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "record/value.hpp"

namespace probe {

inline constexpr std::size_t kMostDrmEngines = 16;

// One kind of engine: "gfx", "render", "ccs". What the driver doesn't tell is kNotSupported.
struct DrmEngine {
  std::string_view name;
  record::Value busy_ns = record::unknown(record::State::kNotSupported);
  record::Value cycles = record::unknown(record::State::kNotSupported);
  record::Value total_cycles = record::unknown(record::State::kNotSupported);  // a clock of the GPU
  record::Value max_hz = record::unknown(record::State::kNotSupported);
  std::int64_t capacity = 1;  // how many engines of this kind there are
};

struct DrmClient {
  std::string_view driver;  // "amdgpu"
  std::string_view device;  // "0000:03:00.0"; empty: not on PCI
  std::int64_t id = 0;      // one number for all descriptors of the client; unique on its card
  // Buffers that lie in the card's own memory, and in main memory. kNotSupported: no such kind of
  // memory is mentioned.
  record::Value card_bytes = record::unknown(record::State::kNotSupported);
  record::Value main_bytes = record::unknown(record::State::kNotSupported);
  std::array<DrmEngine, kMostDrmEngines> engine_places{};
  std::size_t engine_count = 0;

  [[nodiscard]] std::span<const DrmEngine> engines() const noexcept {
    return {engine_places.data(), engine_count};
  }
};

// Documentation/gpu/drm-usage-stats.rst. nullopt when it names no driver or no client: a descriptor
// of something else, or a driver that doesn't tell (amdgpu before Linux 5.19 had other words for
// it). Engines and kinds of memory beyond kMostDrmEngines are left out. The views are into `text`.
//
//   drm-driver:  amdgpu                     drm-driver:     xe
//   drm-pdev:  0000:08:00.0                 drm-client-id:  3
//   drm-client-id:  217                      drm-pdev:       0000:03:00.0
//   drm-memory-vram:  2068 KiB               drm-total-vram0:        23992 KiB
//   drm-memory-gtt:   8192 KiB               drm-shared-vram0:       16 MiB
//   drm-memory-cpu:   0 KiB                  drm-resident-vram0:     23992 KiB
//   drm-engine-gfx:  107322799 ns           drm-cycles-ccs: 28257900
//                                           drm-total-cycles-ccs:   7655183225
//                                           drm-engine-capacity-ccs:        4
//
// Of a kind of memory the resident size counts ("memory" is its older name; where only the total is
// there, that). A buffer that two clients share is in both. What was set aside from main memory at
// boot ("stolen") is in neither sum.
std::optional<DrmClient> parse_drm_fdinfo(std::string_view text) noexcept;

}  // namespace probe
