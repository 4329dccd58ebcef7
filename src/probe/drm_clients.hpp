#pragma once
// What the clients of the graphics cards have used, added up by card.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "probe/drm_fdinfo.hpp"
#include "record/value.hpp"

namespace probe {

inline constexpr std::size_t kMostDrmClients = 1024;

// Each round: begin(), see() for each descriptor found, end(). A client counts once however many
// descriptors and processes have it.
//
// Time: the engines of a card run side by side, so their times don't add up to that of the card.
// busy_ns is the time of the busiest kind of engine in each round (of all clients together, divided
// by how many engines of the kind there are), never more than the round was long. So it is at most
// the time in which the card worked for these clients, less where one engine worked only while
// another didn't, and compares with the card's own utilisation and with NVML's. What a client had
// used before the first round isn't in it; what ended clients had used stays. A client that comes
// and goes between two rounds is never seen.
class DrmClients {
 public:
  struct Use {
    // Of the clients of this round; kNotSupported: there are some, and none tells.
    record::Value card_bytes = 0;
    record::Value main_bytes = 0;
    std::int64_t busy_ns = 0;  // since the first round; never falls
    std::size_t clients = 0;
  };

  explicit DrmClients(std::size_t cards) : cards_(cards) {}

  void begin(std::int64_t now_ns) noexcept;
  // False when there are too many clients. Allocates for new ones.
  bool see(std::size_t card, const DrmClient& client, std::int64_t now_ns);
  // The clients of this card aren't looked at in this round; they are the same afterwards.
  void pass_over(std::size_t card) noexcept;
  void end() noexcept;

  [[nodiscard]] const Use& of(std::size_t card) const noexcept { return cards_[card].use; }

 private:
  using Numbers = std::array<std::int64_t, kMostDrmEngines>;
  struct Known {
    Numbers last{};  // ns, or cycles, of each engine: the largest so far
    std::uint64_t round = 0;
  };
  struct Card {
    Use use;
    std::vector<std::string> engines;  // their places in Numbers
    Numbers gained_ns{};               // in this round
    std::uint64_t round = 0;           // when it had clients
    std::int64_t read_ns = 0;          // when the first of them was read
    std::int64_t elapsed_ns = 0;       // since that in the round before
    // Of the clock that cycles are counted by.
    std::int64_t clock_cycles = -1;
    std::int64_t clock_ns = 0;
    double clock_hz = 0;
  };
  void start(Card& card, std::int64_t now_ns) const noexcept;
  static void set_clock(Card& card, const DrmClient& client, std::int64_t now_ns) noexcept;
  static std::size_t place_of(Card& card, std::string_view engine);

  std::vector<Card> cards_;
  std::map<std::pair<std::size_t, std::int64_t>, Known> clients_;  // by card and id
  std::uint64_t round_ = 0;
  std::int64_t began_ns_ = 0;
  std::int64_t before_ns_ = 0;  // when the round before began
};

}  // namespace probe
