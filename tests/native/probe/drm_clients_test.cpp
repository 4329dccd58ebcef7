#include "probe/drm_clients.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "drm_host.hpp"
#include "probe/scan.hpp"

namespace probe {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

// Rounds a second apart on one card.
struct Rounds {
  DrmClients clients{1};
  std::int64_t now_ns = 1000 * kSecondNs;

  const DrmClients::Use& round(const std::vector<std::string>& texts) {
    now_ns += kSecondNs;
    clients.begin(now_ns);
    for (const auto& text : texts) clients.see(0, *parse_drm_fdinfo(text), now_ns);
    clients.end();
    return clients.of(0);
  }
};

std::string gfx(int id, std::int64_t vram_kib, std::int64_t ns, std::string_view more = "") {
  return amd_client("0000:c1:00.0", id, vram_kib, ns, more);
}

TEST(DrmClients, CountFromTheFirstRoundOn) {
  Rounds rounds;
  EXPECT_EQ(rounds.round({gfx(1, 10, 5 * kSecondNs)}).busy_ns, 0);
  EXPECT_EQ(rounds.round({gfx(1, 10, 5 * kSecondNs + 1000)}).busy_ns, 1000);
  EXPECT_EQ(rounds.round({gfx(1, 10, 5 * kSecondNs + 1500)}).busy_ns, 1500);
}

TEST(DrmClients, AddUpTheMemoryOfAllAndCountAClientOnce) {
  Rounds rounds;
  const auto& use = rounds.round({gfx(1, 10, 1), gfx(2, 30, 1), gfx(1, 10, 1), gfx(1, 10, 1)});
  EXPECT_EQ(use.clients, 2U);
  EXPECT_EQ(use.card_bytes, 40 * 1024);
  EXPECT_EQ(use.main_bytes, 2 * 8192 * 1024);
  EXPECT_EQ(rounds.round({gfx(2, 30, 1)}).card_bytes, 30 * 1024);
  EXPECT_EQ(rounds.round({}).card_bytes, 0);
}

TEST(DrmClients, CountANewClientFromItsBeginning) {
  Rounds rounds;
  rounds.round({});
  EXPECT_EQ(rounds.round({gfx(7, 1, 300)}).busy_ns, 300);
}

TEST(DrmClients, KeepWhatEndedClientsHadUsed) {
  Rounds rounds;
  rounds.round({gfx(1, 1, 1), gfx(2, 1, 1)});
  EXPECT_EQ(rounds.round({gfx(1, 1, 101), gfx(2, 1, 201)}).busy_ns, 300);
  EXPECT_EQ(rounds.round({gfx(2, 1, 211)}).busy_ns, 310);
  EXPECT_EQ(rounds.round({}).busy_ns, 310);
  EXPECT_EQ(rounds.round({gfx(3, 1, 5)}).busy_ns, 315);
}

TEST(DrmClients, StayWithTheLargerOfTwoNumbersThatFall) {
  Rounds rounds;
  rounds.round({gfx(1, 1, 100)});
  EXPECT_EQ(rounds.round({gfx(1, 1, 200)}).busy_ns, 100);
  EXPECT_EQ(rounds.round({gfx(1, 1, 150)}).busy_ns, 100);
  EXPECT_EQ(rounds.round({gfx(1, 1, 0)}).busy_ns, 100);
  EXPECT_EQ(rounds.round({gfx(1, 1, 210)}).busy_ns, 110);
}

// Engines run side by side: the busiest kind counts, its clients together.
TEST(DrmClients, TakeTheBusiestKindOfEngine) {
  Rounds rounds;
  rounds.round({});
  const auto text = [](int id, int gfx_ns, int dma_ns) {
    return gfx(id, 1, gfx_ns, "drm-engine-dma:\t" + std::to_string(dma_ns) + " ns\n");
  };
  EXPECT_EQ(rounds.round({text(1, 100, 90), text(2, 1, 40)}).busy_ns, 130);
  EXPECT_EQ(rounds.round({text(1, 300, 90), text(2, 1, 40)}).busy_ns, 330);
}

TEST(DrmClients, DivideByTheNumberOfEnginesOfAKind) {
  Rounds rounds;
  rounds.round({i915_client(1, 0, 0)});
  EXPECT_EQ(rounds.round({i915_client(1, 10, 1000)}).busy_ns, 500);
}

TEST(DrmClients, AreNeverBusierThanTheRoundWasLong) {
  Rounds rounds;
  rounds.round({});
  EXPECT_EQ(rounds.round({gfx(1, 1, 50 * kSecondNs)}).busy_ns, kSecondNs);
  EXPECT_EQ(rounds.round({gfx(1, 1, 52 * kSecondNs), gfx(2, 1, kSecondNs)}).busy_ns, 2 * kSecondNs);
  EXPECT_EQ(rounds.round({gfx(1, 1, kMostNumber), gfx(2, 1, kMostNumber)}).busy_ns, 3 * kSecondNs);
}

// 19.2 MHz: 19,200,000 cycles of the clock in a round.
TEST(DrmClients, TurnCyclesIntoTimeByTheClockOfTheCard) {
  constexpr std::int64_t kHz = 19'200'000;
  Rounds rounds;
  rounds.round({xe_client(1, 500, 1000)});
  // a quarter of the round on each of the four engines of the kind; another on one of them
  auto use = rounds.round({xe_client(1, 500 + kHz, 1000 + kHz)});
  EXPECT_NEAR(static_cast<double>(use.busy_ns), 0.25e9, 10);
  use = rounds.round(
      {xe_client(1, 500 + kHz, 1000 + 2 * kHz), xe_client(2, kHz / 2, 1000 + 2 * kHz)});
  EXPECT_NEAR(static_cast<double>(use.busy_ns), 0.375e9, 10);
  // The clock has run over; its rate is known.
  use = rounds.round({xe_client(1, 500 + 2 * kHz, 7)});
  EXPECT_NEAR(static_cast<double>(use.busy_ns), 0.625e9, 10);
}

TEST(DrmClients, KeepThemWhileTheirCardIsPassedOver) {
  Rounds rounds;
  rounds.round({gfx(1, 1, 100)});
  for (int i = 0; i < 100; ++i) {
    rounds.now_ns += kSecondNs;
    rounds.clients.begin(rounds.now_ns);
    rounds.clients.pass_over(0);
    rounds.clients.end();
  }
  EXPECT_EQ(rounds.round({gfx(1, 1, 130)}).busy_ns, 30);
}

TEST(DrmClients, SayWhenThereAreTooManyAndForgetTheOld) {
  Rounds rounds;
  rounds.clients.begin(1);
  const std::string text = gfx(1, 1, 1);
  DrmClient client = *parse_drm_fdinfo(text);
  for (std::size_t i = 0; i < kMostDrmClients; ++i) {
    client.id = static_cast<std::int64_t>(i);
    EXPECT_TRUE(rounds.clients.see(0, client, 1));
  }
  client.id = -5;
  EXPECT_FALSE(rounds.clients.see(0, client, 1));
  rounds.clients.end();
  EXPECT_EQ(rounds.clients.of(0).clients, kMostDrmClients);
  rounds.round({});
  rounds.round({});
  EXPECT_EQ(rounds.round({gfx(5000, 1, 1)}).clients, 1U);
}

TEST(DrmClients, KeepTheCardsApart) {
  DrmClients clients(2);
  for (const std::int64_t ns : {0, 100}) {
    clients.begin(kSecondNs + ns * kSecondNs);
    clients.see(0, *parse_drm_fdinfo(gfx(1, 1, 1 + ns)), kSecondNs + ns * kSecondNs);
    clients.see(1, *parse_drm_fdinfo(gfx(1, 3, 1 + 3 * ns)), kSecondNs + ns * kSecondNs);
    clients.end();
  }
  EXPECT_EQ(clients.of(0).busy_ns, 100);
  EXPECT_EQ(clients.of(1).busy_ns, 300);
  EXPECT_EQ(clients.of(0).card_bytes, 1024);
  EXPECT_EQ(clients.of(1).card_bytes, 3 * 1024);
}

}  // namespace
}  // namespace probe
