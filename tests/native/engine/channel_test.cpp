#include "engine/channel.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/memory.hpp"
#include "base/socket.hpp"
#include "engine/deadline.hpp"
#include "engine/frame.hpp"
#include "engine/open_files.hpp"

namespace engine {
namespace {

using Status = Reception::Status;

// Long enough for any machine; none of the tests waits for its end.
std::int64_t soon() { return in_seconds(20); }

struct Pair {
  explicit Pair(std::size_t most_payload = kMostPayload) {
    auto [ours, theirs] = make_channel(most_payload);
    here = std::move(ours);
    there = Channel(std::move(theirs));
  }
  Channel here;
  Channel there;
};

// What the channel says to bytes (and descriptors) that no channel sends.
std::string refusal_of(const std::string& bytes, int descriptor = -1, int further = -1) {
  Pair pair(1000);
  base::send_message(pair.there.fd(), bytes, descriptor, further);
  const Reception got = pair.here.receive(soon());
  return got.status == Status::kMalformed ? got.reason : "it was accepted";
}

TEST(Channel, CarriesKindAndPayload) {
  Pair pair;
  EXPECT_EQ(pair.there.send(7, "hello", soon()), Sent::kSent);
  EXPECT_EQ(pair.there.send(8, "", soon()), Sent::kSent);
  Reception got = pair.here.receive(soon());
  ASSERT_EQ(got.status, Status::kMessage);
  EXPECT_EQ(got.message.kind, 7U);
  EXPECT_EQ(got.message.payload, "hello");
  EXPECT_FALSE(got.message.descriptor.valid());
  got = pair.here.receive(soon());
  ASSERT_EQ(got.status, Status::kMessage);
  EXPECT_EQ(got.message.kind, 8U);
  EXPECT_EQ(got.message.payload, "");
}

TEST(Channel, CarriesPayloadsAroundTheSizeThatFitsIntoAMessage) {
  Pair pair;
  for (const std::size_t size : {kMostInline - 1, kMostInline, kMostInline + 1, 40 * kMostInline}) {
    const std::string payload(size, 'x');
    ASSERT_EQ(pair.there.send(1, payload, soon()), Sent::kSent);
    const Reception got = pair.here.receive(soon());
    ASSERT_EQ(got.status, Status::kMessage) << got.reason;
    EXPECT_TRUE(got.message.payload == payload) << size;
  }
}

TEST(Channel, CarriesADescriptorBesideAPayloadOfAnySize) {
  Pair pair;
  const base::File file = base::make_memfd("carried");
  for (const std::size_t size : {std::size_t{0}, std::size_t{5}, 2 * kMostInline}) {
    ASSERT_EQ(pair.there.send(1, std::string(size, 'x'), soon(), file.fd()), Sent::kSent);
    const Reception got = pair.here.receive(soon());
    ASSERT_EQ(got.status, Status::kMessage) << got.reason;
    EXPECT_EQ(got.message.payload.size(), size);
    ASSERT_TRUE(got.message.descriptor.valid());
    EXPECT_EQ(base::identity_of(got.message.descriptor.fd()), base::identity_of(file.fd()));
    EXPECT_EQ(::fcntl(got.message.descriptor.fd(), F_GETFD), FD_CLOEXEC);
  }
}

TEST(Channel, WaitsWhileTheReaderIsBehind) {
  Pair pair;
  const std::string payload(30'000, 'x');
  constexpr int kMessages = 100;
  std::thread sender([&] {
    for (int i = 0; i < kMessages; ++i) {
      EXPECT_EQ(pair.there.send(static_cast<std::uint32_t>(i), payload, soon()), Sent::kSent);
    }
  });
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    const Reception got = pair.here.receive(soon());
    EXPECT_EQ(got.status, Status::kMessage);
    EXPECT_EQ(got.message.kind, i);
  }
  sender.join();
}

TEST(Channel, GivesUpOnAReaderThatHasStopped) {
  Pair pair;
  Sent sent = Sent::kSent;
  for (int i = 0; i < 10'000 && sent == Sent::kSent; ++i) sent = pair.there.send(1, "x", 0);
  EXPECT_EQ(sent, Sent::kTimeout);
  EXPECT_EQ(pair.here.receive(0).status, Status::kMessage);
}

TEST(Channel, TellsThatTheOtherEndIsClosed) {
  Pair pair;
  EXPECT_EQ(pair.there.send(1, "last words", soon()), Sent::kSent);
  pair.there = Channel();
  EXPECT_EQ(pair.here.send(1, "x", soon()), Sent::kClosed);
  EXPECT_EQ(pair.here.receive(soon()).status, Status::kMessage);
  EXPECT_EQ(pair.here.receive(soon()).status, Status::kClosed);
}

TEST(Channel, SaysThatNothingCameInTime) {
  Pair pair;
  EXPECT_EQ(pair.here.receive(0).status, Status::kTimeout);
  EXPECT_EQ(pair.here.receive(in_seconds(0.01)).status, Status::kTimeout);
}

TEST(Channel, IsWokenByAnotherDescriptor) {
  Pair pair;
  const base::File quiet(::eventfd(0, EFD_CLOEXEC));
  const base::File event(::eventfd(0, EFD_CLOEXEC));
  const std::array wakes{quiet.fd(), -1, event.fd()};
  std::thread waker([&] { EXPECT_EQ(::eventfd_write(event.fd(), 1), 0); });
  const Reception got = pair.here.receive(kNoDeadline, wakes);
  waker.join();
  EXPECT_EQ(got.status, Status::kWoken);
  EXPECT_EQ(got.woken, 4U);
}

TEST(Channel, TellsOfAWakeEvenWhenAMessageWins) {
  Pair pair;
  const base::File event(::eventfd(1, EFD_CLOEXEC));
  pair.there.send(1, "x", soon());
  const Reception got = pair.here.receive(soon(), std::array{event.fd()});
  EXPECT_EQ(got.status, Status::kMessage);
  EXPECT_EQ(got.woken, 1U);
}

TEST(Channel, KeepsMessagesOfSeveralThreadsWhole) {
  Pair pair;
  constexpr std::size_t kSenders = 4;
  constexpr std::size_t kEach = 50;
  std::vector<std::thread> senders;
  for (std::size_t sender = 0; sender < kSenders; ++sender) {
    senders.emplace_back([&, sender] {
      for (std::size_t i = 0; i < kEach; ++i) {
        const std::string payload(i % 5 == 0 ? 2 * kMostInline : 100 + i,
                                  static_cast<char>('a' + sender));
        pair.there.send(static_cast<std::uint32_t>(sender * kEach + i), payload, soon());
      }
    });
  }
  std::set<std::uint32_t> kinds;
  for (std::size_t i = 0; i < kSenders * kEach; ++i) {
    const Reception got = pair.here.receive(soon());
    EXPECT_EQ(got.status, Status::kMessage) << got.reason;
    kinds.insert(got.message.kind);
    const char letter = static_cast<char>('a' + got.message.kind / kEach);
    EXPECT_EQ(got.message.payload.find_first_not_of(letter), std::string::npos);
  }
  for (auto& sender : senders) sender.join();
  EXPECT_EQ(kinds.size(), kSenders * kEach);
}

TEST(Channel, LetsAForkedChildSend) {
  Pair pair;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(pair.there.send(9, "from a child", soon()) == Sent::kSent ? 0 : 1);
  pair.there = Channel();
  EXPECT_EQ(pair.here.receive(soon()).message.payload, "from a child");
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(pair.here.receive(soon()).status, Status::kClosed);
}

TEST(Channel, RefusesBytesThatAreNoFrame) {
  const std::string nonsense = "its first bytes make no sense";
  EXPECT_EQ(refusal_of("x"), nonsense);
  EXPECT_EQ(refusal_of(std::string(40, '\xff')), nonsense);
  EXPECT_EQ(refusal_of(encode_frame({.kind = 1, .size = 3, .payload = "ab"})), nonsense);
  EXPECT_EQ(refusal_of(std::string(kFrameBytes + kMostInline + 1, 'x')),
            "it is longer than any message");
  EXPECT_EQ(refusal_of(encode_frame({.size = 1001, .payload = std::string(1001, 'x')})),
            "its payload is too big");
}

TEST(Channel, ReadsLargePayloadsOnlyFromSealedMemoryOfTheSizeSaid) {
  const base::File sealed = base::make_sealed_memfd("test", "hello");
  const base::File open = base::make_memfd("test");
  base::write_at(open.fd(), "hello", 0);
  const base::File null = base::File::open("/dev/null", O_RDONLY);
  const auto frame = [](std::uint64_t size) {
    return encode_frame({.in_memory_file = true, .size = size});
  };
  EXPECT_EQ(refusal_of(frame(5), sealed.fd()), "it was accepted");
  EXPECT_EQ(refusal_of(frame(5), open.fd()), "its payload lies in no sealed memory file");
  EXPECT_EQ(refusal_of(frame(5), null.fd()), "its payload lies in no sealed memory file");
  EXPECT_EQ(refusal_of(frame(4), sealed.fd()), "its payload is not of the size that it says");
  EXPECT_EQ(refusal_of(frame(6), sealed.fd()), "its payload is not of the size that it says");
  EXPECT_EQ(refusal_of(frame(~0ULL), sealed.fd()), "its payload is too big");
}

TEST(Channel, RefusesDescriptorsThatWereNotSaidAndClosesThem) {
  const base::File file = base::File::open("/dev/null", O_RDONLY);
  const std::string missing = "a descriptor of it is missing: too many open files, perhaps";
  const std::string surplus = "it brought more descriptors than said";
  const auto before = open_files();
  EXPECT_EQ(refusal_of(encode_frame({.in_memory_file = true, .size = 5})), missing);
  EXPECT_EQ(refusal_of(encode_frame({.with_descriptor = true})), missing);
  EXPECT_EQ(refusal_of(encode_frame({}), file.fd()), surplus);
  EXPECT_EQ(refusal_of(encode_frame({.with_descriptor = true}), file.fd(), file.fd()), surplus);
  EXPECT_EQ(open_files(), before);
}

TEST(Channel, GoesOnAfterAMessageThatItRefused) {
  Pair pair;
  base::send_message(pair.there.fd(), "nonsense");
  pair.there.send(3, "sense", soon());
  EXPECT_EQ(pair.here.receive(soon()).status, Status::kMalformed);
  EXPECT_EQ(pair.here.receive(soon()).message.payload, "sense");
}

TEST(Channel, RefusesADescriptorThatIsNoSuchSocket) {
  EXPECT_THROW(Channel(base::File::open("/dev/null", O_RDONLY)), base::Error);
  EXPECT_THROW(Channel(base::File(-1)), base::Error);
}

}  // namespace
}  // namespace engine
