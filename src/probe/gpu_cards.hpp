#pragma once
// The cards that the driver knows, and the MIG slices of each.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "probe/nvml_library.hpp"
#include "record/records.hpp"

namespace probe {

inline constexpr std::size_t kMostCards = 16;
inline constexpr std::size_t kMostSlices = 48;  // of all cards together

struct GpuCard {
  std::uint32_t index = 0;               // as the driver counts: "gpu3"
  int slice = -1;                        // MIG: which one of this card, "gpu3_mig0"
  nvml::Device handle = nullptr;         // nullptr: it can't be opened …
  nvml::Return opened = nvml::kSuccess;  // … and why
  bool mig_mode = false;                 // is divided into slices
  std::string model;  // "NVIDIA A100-SXM4-80GB", "NVIDIA A100-SXM4-80GB MIG 1g.10gb"
  std::string uuid;
  std::string card_uuid;  // of a slice: its card's
  std::uint64_t bus = 0;  // sorts as the bus addresses do
  std::uint32_t gpu_instance = 0;
  std::uint32_t compute_instance = 0;

  [[nodiscard]] bool is_slice() const noexcept { return slice >= 0; }
  // As in the columns.
  [[nodiscard]] std::string name() const;
  // "MIG slice 1g.10gb of gpu0", "can't be opened: it isn't permitted"; else empty.
  [[nodiscard]] std::string text() const;
};

struct GpuCards {
  nvml::Return counted = nvml::kSuccess;  // whether the driver said how many
  std::uint32_t count = 0;                // more than kMostCards: the others are left out
  std::vector<GpuCard> list;              // in the driver's order, slices behind their card
};

// Calls the driver.
GpuCards list_gpu_cards(const Nvml& nvml);

}  // namespace probe
