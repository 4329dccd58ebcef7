#include "probe/drm_tree.hpp"

#include <algorithm>

#include "base/clock.hpp"

namespace probe {

void DrmInbox::put(std::span<const pid_t> pids) noexcept {
  if (taken_.test_and_set(std::memory_order_acquire)) return;
  count_ = std::min(pids.size(), pids_.size());
  std::copy_n(pids.begin(), count_, pids_.begin());
  given_ = true;
  taken_.clear(std::memory_order_release);
}

bool DrmInbox::take(std::vector<pid_t>& pids) {
  pids.reserve(pids_.size());
  if (taken_.test_and_set(std::memory_order_acquire)) return false;
  const bool given = given_;
  if (given) pids.assign(pids_.begin(), pids_.begin() + static_cast<std::ptrdiff_t>(count_));
  taken_.clear(std::memory_order_release);
  return given;
}

DrmTree::DrmTree(const std::string& root, const DrmCards& cards)
    : slots_(cards.list.size()),
      time_ns_(base::monotonic_ns()),
      scan_(root, cards),
      clients_(cards.list.size()) {
  for (auto& slots : slots_) {
    for (auto& value : slots.values) value = drm_unknown(DrmCause::kNotYet);
  }
  for (const DrmCard& card : cards.list) is_amd_.push_back(card.driver == "amdgpu" ? 1 : 0);
}

void DrmTree::give_up() noexcept {
  for (auto& slots : slots_) {
    for (auto& value : slots.values) value = drm_unknown(DrmCause::kNoThread);
  }
}

void DrmTree::round() {
  given_ = inbox_.take(pids_) || given_;
  if (given_) {
    const DrmScan::Notes& notes = scan_.run(pids_, clients_);
    compute_ = compute_ || notes.compute;
    for (std::size_t card = 0; card < slots_.size(); ++card) put(card, notes);
  }
  time_ns_.store(base::monotonic_ns(), std::memory_order_release);
}

void DrmTree::put(std::size_t card, const DrmScan::Notes& notes) {
  const DrmClients::Use& use = clients_.of(card);
  const bool compute = compute_ && is_amd_[card] != 0;
  // Nobody was found, and somebody may be there all the same.
  DrmCause cause = DrmCause::kNotYet;
  if (use.clients == 0 && notes.refused > 0) cause = DrmCause::kTreeRefused;
  if (use.clients == 0 && notes.untold[card] != 0) cause = DrmCause::kUntold;

  const auto memory = [&](record::Value bytes) {
    if (notes.processes == 0) return drm_unknown(DrmCause::kTreeGone);
    if (notes.asleep[card] != 0) return drm_unknown(DrmCause::kAsleep);
    if (cause != DrmCause::kNotYet) return drm_unknown(cause);
    return record::is_known(bytes) ? bytes : drm_unknown(DrmCause::kNoMemory);
  };
  std::int64_t busy_ns = use.busy_ns;
  if (busy_ns == 0 && cause != DrmCause::kNotYet) busy_ns = drm_unknown(cause);
  if (busy_ns == 0 && compute) busy_ns = drm_unknown(DrmCause::kPastKernel);

  unsigned bounds = notes.cut ? kCut : kExact;
  if (notes.refused > 0) bounds |= kRefused;
  if (compute) bounds |= kCompute;
  Slots& slots = slots_[card];
  slots.values[kCardMemory].store(memory(use.card_bytes), std::memory_order_relaxed);
  slots.values[kMainMemory].store(memory(use.main_bytes), std::memory_order_relaxed);
  slots.values[kBusy].store(busy_ns, std::memory_order_relaxed);
  slots.bounds.store(bounds, std::memory_order_relaxed);
}

unsigned DrmTree::bounds(std::size_t card, Metric metric) const noexcept {
  const unsigned all = slots_[card].bounds.load(std::memory_order_relaxed);
  return metric == kBusy ? all : all & ~static_cast<unsigned>(kCompute);
}

}  // namespace probe
