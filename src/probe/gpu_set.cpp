#include "probe/gpu_set.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"

namespace probe {

using record::State;

GpuSet::Member* GpuSet::find(const GpuCard& card) noexcept {
  const auto found = std::ranges::find_if(members_, [&](const Member& member) {
    const GpuCard& other = member.device.card();
    return other.index == card.index && other.slice == card.slice;
  });
  return found == members_.end() ? nullptr : &*found;
}

void GpuSet::choose(const Nvml& nvml, MissingList& missing) {
  std::vector<VisibleCandidate> candidates;
  candidates.reserve(cards_.size());
  for (const GpuCard& card : cards_) {
    candidates.push_back({card.uuid, card.bus, card.is_slice(), card.handle != nullptr,
                          card.card_uuid, card.gpu_instance, card.compute_instance});
  }
  const auto selection = select_visible(visible_.list, candidates);
  by_number_ = selection.by_number;
  if (!selection.unmatched.empty()) {
    missing.say("process.gpu", State::kNotSupported,
                "CUDA_VISIBLE_DEVICES: '" + selection.unmatched +
                    "' is none of this node's cards, and the list ends there");
  }
  for (Member& member : members_) member.visible = false;
  for (const std::size_t place : selection.chosen) show(cards_[place], nvml, missing);
  for (Member& member : members_) {
    if (member.visible) continue;
    member.device.forget(State::kVanished);
    missing.say("node." + member.device.card().name(), State::kVanished,
                "it isn't among the cards of CUDA_VISIBLE_DEVICES any more");
  }
}

void GpuSet::show(const GpuCard& card, const Nvml& nvml, MissingList& missing) {
  Member* member = find(card);
  if (member == nullptr) {
    members_.push_back({GpuDevice(card, levels_), true});
    member = &members_.back();
    member->device.add_columns(columns_);
  } else {
    member->visible = true;
    const bool same = member->device.card().uuid == card.uuid;
    member->device.replace(card);
    if (same) return;
  }
  member->device.read(nvml, missing);  // how much memory it has
  describe(member->device, missing);
}

// CUDA counts unequal cards by how fast it thinks they are.
bool GpuSet::is_order_uncertain() const {
  if (!by_number_ || visible_.bus_order) return false;
  const GpuCard* first = nullptr;
  for (const GpuCard& card : cards_) {
    if (card.is_slice() || card.handle == nullptr) continue;
    if (first != nullptr && first->model != card.model) return true;
    first = &card;
  }
  return false;
}

void GpuSet::describe(const GpuDevice& device, MissingList& missing) {
  const GpuCard& card = device.card();
  record::Device described;
  described.time_ns = base::monotonic_ns();
  described.name = card.name();
  described.kind = "NVML";
  described.model = card.model;
  described.id = card.uuid;
  described.index = card.index;
  described.memory_bytes = device.capacity_bytes();
  described.text = card.text();
  if (is_order_uncertain()) {
    if (!described.text.empty()) described.text += "; ";
    described.text +=
        "CUDA may number these unequal cards otherwise (CUDA_DEVICE_ORDER isn't PCI_BUS_ID)";
  }
  if (card.is_slice()) {
    missing.say("node." + card.name(), State::kNotSupported,
                "MIG: power, temperature and clocks are of the whole card only");
  }
  devices_.push_back(std::move(described));
}

bool GpuSet::any_visible() const noexcept {
  return std::ranges::any_of(members_, &Member::visible);
}

void GpuSet::forget(State state) {
  for (Member& member : members_) member.device.forget(state);
}

}  // namespace probe
