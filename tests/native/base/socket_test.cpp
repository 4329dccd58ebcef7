#include "base/socket.hpp"

#include <gtest/gtest.h>

#include <array>

#include "base/clock.hpp"
#include "base/memory.hpp"

namespace base {
namespace {

using Status = Received::Status;

TEST(Socket, KeepsMessagesApartAndInOrder) {
  auto [a, b] = make_socket_pair();
  EXPECT_EQ(send_message(a.fd(), "one"), SendResult::kSent);
  EXPECT_EQ(send_message(a.fd(), "second"), SendResult::kSent);
  std::array<char, 16> buffer{};
  Received received = receive_message(b.fd(), buffer);
  EXPECT_EQ(std::string_view(buffer.data(), received.size), "one");
  received = receive_message(b.fd(), buffer);
  EXPECT_EQ(std::string_view(buffer.data(), received.size), "second");
  EXPECT_EQ(receive_message(b.fd(), buffer).status, Status::kEmpty);
}

TEST(Socket, CarriesADescriptor) {
  auto [a, b] = make_socket_pair();
  const File memory = make_sealed_memfd("test", "inside");
  EXPECT_EQ(send_message(a.fd(), "x", memory.fd()), SendResult::kSent);
  std::array<char, 16> buffer{};
  const Received received = receive_message(b.fd(), buffer);
  ASSERT_TRUE(received.descriptor.valid());
  EXPECT_EQ(identity_of(received.descriptor.fd()), identity_of(memory.fd()));
}

TEST(Socket, CarriesASecondDescriptor) {
  auto [a, b] = make_socket_pair();
  const File one = make_sealed_memfd("one", "inside");
  const File two = make_sealed_memfd("two", "inside");
  EXPECT_EQ(send_message(a.fd(), "x", one.fd(), two.fd()), SendResult::kSent);
  EXPECT_EQ(send_message(a.fd(), "x", -1, two.fd()), SendResult::kSent);
  std::array<char, 16> buffer{};
  const Received both = receive_message(b.fd(), buffer);
  ASSERT_TRUE(both.descriptor.valid() && both.further.valid());
  EXPECT_EQ(identity_of(both.descriptor.fd()), identity_of(one.fd()));
  EXPECT_EQ(identity_of(both.further.fd()), identity_of(two.fd()));
  const Received single = receive_message(b.fd(), buffer);
  ASSERT_TRUE(single.descriptor.valid());
  EXPECT_FALSE(single.further.valid());
}

TEST(Socket, SaysThatAMessageWasLongerThanTheBuffer) {
  auto [a, b] = make_socket_pair();
  send_message(a.fd(), "a long message");
  std::array<char, 4> buffer{};
  EXPECT_TRUE(receive_message(b.fd(), buffer).truncated);
}

TEST(Socket, NeverBlocksOnAReaderThatHasStopped) {
  auto [a, b] = make_socket_pair();
  const std::string message(1000, 'x');
  SendResult result = SendResult::kSent;
  for (int i = 0; i < 100'000 && result == SendResult::kSent; ++i) {
    result = send_message(a.fd(), message);
  }
  EXPECT_EQ(result, SendResult::kFull);
}

TEST(Socket, KeepsTheLastWordsOfAnEndThatDiedWithUnreadMessages) {
  auto [here, there] = make_socket_pair();
  EXPECT_EQ(send_message(here.fd(), "an acknowledgement nobody reads"), SendResult::kSent);
  EXPECT_EQ(send_message(there.fd(), "a cell begins"), SendResult::kSent);
  EXPECT_EQ(send_message(there.fd(), "it ends"), SendResult::kSent);
  there.close();
  std::array<char, 64> buffer{};
  for (const std::string_view sent : {"a cell begins", "it ends"}) {
    const Received received = receive_message(here.fd(), buffer);
    ASSERT_EQ(received.status, Status::kMessage);
    EXPECT_EQ(std::string_view(buffer.data(), received.size), sent);
  }
  EXPECT_EQ(receive_message(here.fd(), buffer).status, Status::kClosed);
}

TEST(Socket, TellsThatTheOtherEndIsGone) {
  auto [a, b] = make_socket_pair();
  send_message(b.fd(), "last words");
  b.close();
  EXPECT_EQ(send_message(a.fd(), "x"), SendResult::kClosed);
  std::array<char, 16> buffer{};
  EXPECT_EQ(receive_message(a.fd(), buffer).status, Status::kMessage);
  EXPECT_EQ(receive_message(a.fd(), buffer).status, Status::kClosed);
}

TEST(Clock, WritesIsoTimesInUtc) {
  EXPECT_EQ(iso_utc(0), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(iso_utc(1'764'428'060'123'456'789), "2025-11-29T14:54:20.123456Z");
  EXPECT_EQ(iso_utc(-1), "1969-12-31T23:59:59.999999Z");
}

TEST(Clock, TurnsRecordedTimesIntoWallTimes) {
  const std::int64_t wall = clock_ns(CLOCK_REALTIME);
  EXPECT_NEAR(static_cast<double>(monotonic_ns() + wall_offset_ns()), static_cast<double>(wall),
              50e6);
}

}  // namespace
}  // namespace base
