#pragma once
// The graphics cards of /sys/class/drm whose drivers tell what they do.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "record/value.hpp"

namespace probe {

inline constexpr std::size_t kMostDrmCards = 64;

struct DrmCard {
  std::size_t number = 0;  // of "card3"
  std::string driver;      // "amdgpu"
  std::string slot;        // "0000:03:00.0"; empty: not on PCI
  std::string model;       // "AMD Instinct MI250X", else "1002:7408" (vendor and device)
  std::string id;          // "a1b2c3d4e5f60718", else the slot
  record::Value memory_bytes = record::unknown(record::State::kNotSupported);  // its own

  // As in the columns: "drm3".
  [[nodiscard]] std::string name() const { return "drm" + std::to_string(number); }
  // "/sys/class/drm/card3"
  [[nodiscard]] std::string folder() const;
};

// A file of /dev/dri, "renderD128", and whose it is.
struct DrmNode {
  static constexpr std::size_t kForeign = ~std::size_t{0};
  std::string name;
  std::size_t card = kForeign;  // place in DrmCards::list
};

struct DrmCards {
  std::vector<DrmCard> list;  // ascending by number
  std::vector<DrmNode> nodes;
};

// Cards of amdgpu, radeon, i915 and xe; not those of nvidia (NVML has them), of virtual machines
// and of BMCs. Calls no driver for anything that it would have to ask the card for, so a sleeping
// card sleeps on.
DrmCards find_drm_cards(const std::string& root);

// True when reading anything of it would wake it (power/runtime_status is "suspended" or about to
// be; Documentation/power/runtime_pm.rst).
bool is_asleep(const std::string& root, const DrmCard& card);

// The value in a text of "NAME=value" lines (uevent), empty when there is none:
//
//   DRIVER=amdgpu
//   PCI_ID=1002:7408
//   PCI_SLOT_NAME=0000:c1:00.0
std::string_view uevent_value(std::string_view text, std::string_view name) noexcept;

// "card3" with the prefix "card": 3; -1 for "card3-DP-1" and everything else.
std::int64_t number_behind(std::string_view name, std::string_view prefix) noexcept;

}  // namespace probe
