#include "probe/drm_clients.hpp"

#include <algorithm>
#include <iterator>

#include "probe/scan.hpp"

namespace probe {
namespace {

constexpr std::uint64_t kForgottenRounds = 60;
constexpr double kSecondNs = 1e9;

void add(record::Value& sum, record::Value bytes, bool first) noexcept {
  if (first) sum = bytes;
  if (first || !record::is_known(bytes)) return;
  sum = std::min(std::max<record::Value>(sum, 0) + bytes, kMostNumber);
}

}  // namespace

void DrmClients::begin(std::int64_t now_ns) noexcept {
  ++round_;
  before_ns_ = began_ns_;
  began_ns_ = now_ns;
  for (Card& card : cards_) {
    card.use.card_bytes = 0;
    card.use.main_bytes = 0;
    card.use.clients = 0;
    card.gained_ns = {};
  }
}

// Before its first client of this round.
void DrmClients::start(Card& card, std::int64_t now_ns) const noexcept {
  const std::int64_t before_ns = card.round + 1 == round_ ? card.read_ns : before_ns_;
  card.elapsed_ns = round_ == 1 ? 0 : std::max<std::int64_t>(now_ns - before_ns, 0);
  card.read_ns = now_ns;
  card.round = round_;
}

// How fast the clock runs that all engines are counted by, from two of its times. It runs over (xe:
// 36 bits, an hour); then the rate stays.
void DrmClients::set_clock(Card& card, const DrmClient& client, std::int64_t now_ns) noexcept {
  for (const DrmEngine& engine : client.engines()) {
    if (!record::is_known(engine.total_cycles)) continue;
    if (card.clock_cycles >= 0 && engine.total_cycles > card.clock_cycles &&
        now_ns > card.clock_ns) {
      card.clock_hz = static_cast<double>(engine.total_cycles - card.clock_cycles) * kSecondNs /
                      static_cast<double>(now_ns - card.clock_ns);
    }
    card.clock_cycles = engine.total_cycles;
    card.clock_ns = now_ns;
    return;
  }
}

// kMostDrmEngines when the card has too many.
std::size_t DrmClients::place_of(Card& card, std::string_view engine) {
  const auto found = std::ranges::find(card.engines, engine);
  const auto place = static_cast<std::size_t>(found - card.engines.begin());
  if (found == card.engines.end() && place < kMostDrmEngines) card.engines.emplace_back(engine);
  return place;
}

bool DrmClients::see(std::size_t place, const DrmClient& client, std::int64_t now_ns) {
  Card& card = cards_[place];
  const std::pair key(place, client.id);
  auto found = clients_.find(key);
  const bool is_new = found == clients_.end();
  if (!is_new && found->second.round == round_) return true;  // by another descriptor
  if (is_new && clients_.size() >= kMostDrmClients) {
    std::erase_if(clients_, [&](const auto& one) { return one.second.round + 1 < round_; });
    if (clients_.size() >= kMostDrmClients) return false;
  }
  if (is_new) found = clients_.emplace(key, Known()).first;
  Known& known = found->second;
  known.round = round_;
  if (card.round != round_) {
    start(card, now_ns);
    set_clock(card, client, now_ns);
  }
  add(card.use.card_bytes, client.card_bytes, card.use.clients == 0);
  add(card.use.main_bytes, client.main_bytes, card.use.clients == 0);
  ++card.use.clients;

  for (const DrmEngine& engine : client.engines()) {
    const bool has_ns = record::is_known(engine.busy_ns);
    const std::int64_t now = has_ns ? engine.busy_ns : engine.cycles;
    const double hz = engine.max_hz > 0 ? static_cast<double>(engine.max_hz) : card.clock_hz;
    if (now < 0) continue;
    const std::size_t at = place_of(card, engine.name);
    if (at >= kMostDrmEngines) continue;
    const std::int64_t more = std::max<std::int64_t>(now - known.last[at], 0);
    known.last[at] = std::max(known.last[at], now);
    double gained_ns = 0;
    if (has_ns) {
      gained_ns = static_cast<double>(more);
    } else if (hz > 0) {
      gained_ns = static_cast<double>(more) * kSecondNs / hz;
    }
    gained_ns /= static_cast<double>(engine.capacity);
    const auto room_ns = static_cast<double>(card.elapsed_ns - card.gained_ns[at]);
    card.gained_ns[at] += static_cast<std::int64_t>(std::min(gained_ns, room_ns));
  }
  return true;
}

void DrmClients::pass_over(std::size_t place) noexcept {
  for (auto at = clients_.lower_bound({place, INT64_MIN});
       at != clients_.end() && at->first.first == place; ++at) {
    at->second.round = round_;
  }
}

void DrmClients::end() noexcept {
  for (Card& card : cards_) {
    if (card.round != round_) continue;
    const std::int64_t busiest_ns = *std::ranges::max_element(card.gained_ns);
    card.use.busy_ns = std::min(card.use.busy_ns + busiest_ns, kMostNumber);
  }
  std::erase_if(clients_,
                [&](const auto& one) { return round_ - one.second.round > kForgottenRounds; });
}

}  // namespace probe
