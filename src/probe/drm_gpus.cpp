#include "probe/drm_gpus.hpp"

#include <utility>

#include "base/clock.hpp"

namespace probe {
namespace {

using record::Kind;
using record::State;
using record::unknown;

// In the order of DrmSensor.
constexpr std::array<std::string_view, kDrmSensors> kNodeMetrics{
    "utilization_percent", "memory_utilization_percent", "memory_bytes",
    "main_memory_bytes",   "capacity_memory_bytes",      "power_milliwatts",
    "energy_millijoules",  "temperature_celsius",        "clock_hz"};

// In the order of DrmTree::Metric.
constexpr std::array<std::string_view, DrmTree::kMetrics> kProcessMetrics{
    "memory_bytes", "main_memory_bytes", "busy_ns"};

record::Column column_of(std::string_view level, const DrmCard& card, std::string_view metric) {
  std::string name = std::string(level).append(".").append(card.name());
  name.append(".").append(metric);
  const bool counter = metric == "energy_millijoules" || metric == "busy_ns";
  return {std::move(name), counter ? Kind::kCounter : Kind::kGauge};
}

record::Device device_of(const DrmCard& card) {
  record::Device device;
  device.time_ns = base::monotonic_ns();
  device.name = card.name();
  device.kind = "DRM " + card.driver;
  device.model = card.model;
  device.id = card.id;
  device.index = static_cast<std::int64_t>(card.number);
  device.memory_bytes = card.memory_bytes;
  if (card.id != card.slot && !card.slot.empty()) device.text = "at " + card.slot;
  return device;
}

}  // namespace

DrmGpus::DrmGpus(const DrmOptions& options, MissingList& missing)
    : missing_(missing), silent_ns_(options.silent_ns) {
  const DrmCards cards = find_drm_cards(options.root);
  cards_ = cards.list.size();
  if (cards_ == 0) {
    missing.say("node.drm", State::kNotSupported,
                "no AMD or Intel GPU: /sys/class/drm has none of their drivers");
    return;
  }
  for (const DrmCard& card : cards.list) devices_.push_back(device_of(card));
  for (const DrmCard& card : cards.list) add_card(options, card);
  if (options.process_level) tree_ = std::make_shared<DrmTree>(options.root, cards);
  for (const auto& slots : card_slots_) {
    threads_.push_back(std::make_unique<DrmRounds>([slots] { look(*slots); }, options.pause_ns));
    if (threads_.back()->running()) continue;
    for (auto& value : slots->values) value = drm_unknown(DrmCause::kNoThread);
  }
  if (!tree_) return;
  threads_.push_back(
      std::make_unique<DrmRounds>([tree = tree_] { tree->round(); }, options.pause_ns));
  if (!threads_.back()->running()) tree_->give_up();
}

DrmGpus::~DrmGpus() {
  for (const auto& thread : threads_) thread->tell_to_end();
}

void DrmGpus::add_column(std::string_view level, const DrmCard& card, std::string_view metric) {
  columns_.push_back(column_of(level, card, metric));
  said_.push_back(0);
}

void DrmGpus::add_card(const DrmOptions& options, const DrmCard& card) {
  if (options.node_level) {
    const auto& slots = card_slots_.emplace_back(std::make_shared<CardSlots>(options.root, card));
    for (auto& value : slots->values) value = drm_unknown(DrmCause::kNotYet);
    slots->time_ns = base::monotonic_ns();
    for (std::size_t i = 0; i < kDrmSensors; ++i) {
      add_column("node", card, kNodeMetrics[i]);
      if (slots->sensors.has(static_cast<DrmSensor>(i))) continue;
      // What can never be known is said before what isn't known for now.
      const DrmReason reason = reason_of(DrmCause::kNoFile);
      say(columns_.size() - 1, reason.state, reason.text);
    }
  }
  if (!options.process_level) return;
  for (const auto metric : kProcessMetrics) add_column("process", card, metric);
}

void DrmGpus::look(CardSlots& slots) {
  const DrmValues& values = slots.sensors.read(base::monotonic_ns());
  for (std::size_t i = 0; i < values.size(); ++i) {
    slots.values[i].store(values[i], std::memory_order_relaxed);
  }
  slots.time_ns.store(base::monotonic_ns(), std::memory_order_release);
}

void DrmGpus::read(std::span<record::Value> values, const Turn& turn) noexcept {
  if (values.size() != columns_.size()) return;
  const auto is_old = [&](std::int64_t time_ns) { return turn.now_ns - time_ns > silent_ns_; };
  const bool tree_is_old = tree_ && is_old(tree_->time_ns());
  std::size_t at = 0;
  const auto put = [&](std::int64_t found, bool old, bool node) {
    // No thread: it stays so.
    if (old && drm_cause(found) != DrmCause::kNoThread) found = drm_unknown(DrmCause::kSilent);
    values[at] = show(at, found, node);
    ++at;
  };
  for (std::size_t card = 0; card < cards_; ++card) {
    if (!card_slots_.empty()) {
      const CardSlots& slots = *card_slots_[card];
      const bool old = is_old(slots.time_ns.load(std::memory_order_acquire));
      for (const auto& value : slots.values) put(value.load(std::memory_order_relaxed), old, true);
    }
    if (!tree_) continue;
    for (std::size_t i = 0; i < DrmTree::kMetrics; ++i) {
      const auto metric = static_cast<DrmTree::Metric>(i);
      put(tree_->value(card, metric), tree_is_old, false);
      if (record::is_known(values[at - 1])) say_bounds(at - 1, tree_->bounds(card, metric));
    }
  }
}

// What isn't known for the moment only is said of the node alone: the first reason for a name
// stands, and of the processes a lower bound is worth more.
record::Value DrmGpus::show(std::size_t column, std::int64_t found, bool node) noexcept {
  if (found >= 0) return found;
  const DrmReason reason = reason_of(drm_cause(found));
  if (!reason.text.empty() && (node || reason.state != State::kNotYet)) {
    say(column, reason.state, reason.text);
  }
  return unknown(reason.state);
}

void DrmGpus::say_bounds(std::size_t column, unsigned bounds) noexcept {
  if ((bounds & DrmTree::kCompute) != 0) {
    say(column, State::kMeasured,
        "lower bound: what ROCm gives to the card past the kernel (/dev/kfd) isn't counted");
  }
  if ((bounds & DrmTree::kRefused) != 0) {
    say(column, State::kMeasured,
        "lower bound: the descriptors of a process of the tree can't be listed");
  }
  if ((bounds & DrmTree::kCut) != 0) {
    say(column, State::kMeasured,
        "lower bound: the tree has more processes or descriptors than are looked at (256, 4096)");
  }
}

void DrmGpus::say(std::size_t column, State state, std::string_view reason) noexcept {
  if (std::exchange(said_[column], 1) != 0) return;
  missing_.say(columns_[column].name, state, reason);
}

void DrmGpus::set_processes(std::span<const pid_t> pids) noexcept {
  if (tree_) tree_->set_processes(pids);
}

std::vector<record::Device> DrmGpus::take_devices() noexcept { return std::exchange(devices_, {}); }

}  // namespace probe
