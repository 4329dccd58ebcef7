#include "probe/gpu_cards.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace probe {
namespace {

constexpr std::uint32_t kMostSlicesOfACard = 16;  // seven today

// A text that the driver wrote into a buffer: printable, whether it is ended or not.
template <std::size_t kBytes>
std::string text_of(const std::array<char, kBytes>& buffer) {
  std::string text(buffer.begin(), std::find(buffer.begin(), buffer.end(), '\0'));
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text;
}

void describe(const Nvml& nvml, GpuCard& card) {
  std::array<char, nvml::kNameBytes> name{};
  if (nvml.device_name(card.handle, name.data(), name.size()) == nvml::kSuccess) {
    card.model = text_of(name);
  }
  std::array<char, nvml::kUuidBytes> uuid{};
  if (nvml.uuid(card.handle, uuid.data(), uuid.size()) == nvml::kSuccess) {
    card.uuid = text_of(uuid);
  }
}

void add_slices(const Nvml& nvml, const GpuCard& card, std::vector<GpuCard>& list,
                std::size_t& slices) {
  std::uint32_t most = 0;
  if (nvml.most_slices(card.handle, &most) != nvml::kSuccess) return;
  for (std::uint32_t i = 0; i < std::min(most, kMostSlicesOfACard); ++i) {
    GpuCard slice;
    if (slices == kMostSlices) return;
    if (nvml.slice_by_index(card.handle, i, &slice.handle) != nvml::kSuccess) continue;
    slice.index = card.index;
    slice.slice = static_cast<int>(i);
    slice.bus = card.bus;
    slice.card_uuid = card.uuid;
    describe(nvml, slice);
    nvml.gpu_instance(slice.handle, &slice.gpu_instance);
    nvml.compute_instance(slice.handle, &slice.compute_instance);
    list.push_back(slice);
    ++slices;
  }
}

}  // namespace

std::string GpuCard::name() const {
  std::string name = "gpu" + std::to_string(index);
  if (is_slice()) name += "_mig" + std::to_string(slice);
  return name;
}

std::string GpuCard::text() const {
  if (handle == nullptr) return "can't be opened: " + words_of(opened);
  if (!is_slice()) return mig_mode ? "divided into MIG slices" : "";
  constexpr std::string_view kProfile = " MIG ";
  const std::size_t at = model.rfind(kProfile);
  std::string text = "MIG slice ";
  if (at != std::string::npos) text += model.substr(at + kProfile.size()) + " ";
  return text + "of gpu" + std::to_string(index);
}

GpuCards list_gpu_cards(const Nvml& nvml) {
  GpuCards cards;
  cards.counted = nvml.count(&cards.count);
  if (cards.counted != nvml::kSuccess) return cards;
  std::size_t slices = 0;
  for (std::uint32_t i = 0; i < std::min<std::uint32_t>(cards.count, kMostCards); ++i) {
    GpuCard card;
    card.index = i;
    card.bus = i;  // the driver's order is that of the bus on all systems known
    card.opened = nvml.handle_by_index(i, &card.handle);
    if (card.opened != nvml::kSuccess) card.handle = nullptr;
    if (card.handle == nullptr) {
      if (card.opened == nvml::kSuccess) card.opened = nvml::kUnknown;
      cards.list.push_back(card);
      continue;
    }
    describe(nvml, card);
    nvml::PciInfo pci;
    if (nvml.pci_info(card.handle, &pci) == nvml::kSuccess) {
      card.bus = std::uint64_t{pci.domain} << 32 | std::uint64_t{pci.bus & 0xffff} << 16 |
                 (pci.device & 0xffff);
    }
    std::uint32_t mode = 0;
    std::uint32_t mode_after_reset = 0;
    card.mig_mode = nvml.mig_mode(card.handle, &mode, &mode_after_reset) == nvml::kSuccess &&
                    mode == nvml::kMigEnabled;
    cards.list.push_back(card);
    if (card.mig_mode) add_slices(nvml, card, cards.list, slices);
  }
  return cards;
}

}  // namespace probe
