#include "probe/network.hpp"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "actor.hpp"
#include "allocations.hpp"
#include "host_tree.hpp"
#include "probe/interfaces.hpp"

namespace probe {
namespace {

using record::State;
using record::unknown;
using Names = std::vector<std::string>;

constexpr std::string_view kHeadings =
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop "
    "fifo colls carrier compressed\n";

std::string line_of(const std::string& name, std::int64_t receive, std::int64_t transmit) {
  return name + ": " + std::to_string(receive) + " 10 1 2 0 0 0 0 " + std::to_string(transmit) +
         " 20 3 4 0 0 0 0\n";
}

std::string text_of(const std::string& lines) { return std::string(kHeadings) + lines; }

struct Reader {
  explicit Reader(const std::string& root, pid_t root_pid = 0, Network::Levels levels = {})
      : network(root, root_pid, levels, missing), buffer(1 << 15) {}

  std::map<std::string, record::Value> read() {
    std::vector<record::Value> values(network.columns().size());
    now_ns += 1'000'000'000;
    network.read(values, Turn{now_ns, true, buffer});
    std::map<std::string, record::Value> named;
    for (std::size_t i = 0; i < values.size(); ++i) named[network.columns()[i].name] = values[i];
    return named;
  }
  [[nodiscard]] std::string reason(const std::string& name) const {
    for (const auto& item : missing.list()) {
      if (item.name == name) return item.reason;
    }
    return {};
  }

  MissingList missing;
  Network network;
  std::vector<char> buffer;
  std::int64_t now_ns = 1'000'000'000;
};

TEST(Interface, ReadsItsCounters) {
  const auto found = parse_interface(
      "  eth0: 1472481448   38214    1    2    3     4          5         6  3339247   25700    7"
      "    8    9    10     11       12");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, "eth0");
  EXPECT_EQ(found->counts[kReceiveBytes], 1472481448);
  EXPECT_EQ(found->counts[kReceivePackets], 38214);
  EXPECT_EQ(found->counts[kTransmitBytes], 3339247);
  EXPECT_EQ(found->counts[kTransmitPackets], 25700);
  EXPECT_EQ(found->counts[kErrors], 1 + 2 + 7 + 8);
}

TEST(Interface, TakesANumberThatFollowsTheColonAtOnce) {
  const auto found = parse_interface("br-0a1b:4000000000 3 0 2 0 0 0 0 500 1 0 1 0 0 0 0");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, "br-0a1b");
  EXPECT_EQ(found->counts[kReceiveBytes], 4'000'000'000);
}

TEST(Interface, IsNoneOfTheHeadingsNorOfHalfALine) {
  for (Scanner lines(kHeadings); !lines.done();) EXPECT_FALSE(parse_interface(lines.line()));
  EXPECT_FALSE(parse_interface(""));
  EXPECT_FALSE(parse_interface(": 1 2 3 4 5 6 7 8 9 10 11 12"));
  EXPECT_FALSE(parse_interface("eth0: 1 2 3 4 5 6 7 8 9 10 11"));
  EXPECT_FALSE(parse_interface("eth0: 1 2 3 4 5 6 7 8 9 10 11 -1"));
  EXPECT_FALSE(parse_interface("eth0: 99999999999999999999 2 3 4 5 6 7 8 9 10 11 12"));
}

TEST(Interfaces, AreTheCardsBelowBondsBridgesAndVlans) {
  const Interfaces server(JUMPER_TEST_DATA "/hosts/made/server", "/proc/net/dev", "/sys/class/net");
  EXPECT_EQ(server.counted(), (Names{"eno1", "eno2", "eno3", "ib0"}));
  EXPECT_EQ(server.totals()[kReceiveBytes], 165'500'000'000);
  EXPECT_EQ(server.totals()[kTransmitBytes], 89'600'000'000);
  EXPECT_EQ(server.totals()[kErrors], 3 + 70 + 12 + 1 + 4);
}

TEST(Interfaces, OfAContainerWithoutSysfsAreThoseThatStandOnNoOther) {
  const Interfaces container(JUMPER_TEST_DATA "/hosts/made/container", "/proc/net/dev",
                             "/sys/class/net");
  EXPECT_EQ(container.counted(), Names{"eth0"});
  EXPECT_EQ(container.totals()[kReceiveBytes], 4'000'000'000);
  EXPECT_EQ(container.totals()[kErrors], 3);
}

// What sysfs shows of an interface: `entries` below its folder.
void write_interface(const HostTree& host, const std::string& name,
                     const std::map<std::string, std::string>& entries) {
  const std::string folder = "sys/class/net/" + name + "/";
  host.write(folder + "ifindex", "7\n");
  for (const auto& [entry, text] : entries) {
    if (text.starts_with("->")) {
      const std::filesystem::path link = std::filesystem::path(host.root()) / folder / entry;
      std::filesystem::create_directory_symlink(text.substr(2), link);
    } else {
      host.write(folder + entry, text);
    }
  }
}

TEST(Interfaces, OfAContainerWithSysfsAreThoseThatStandOnNoOther) {
  const HostTree host;
  std::string lines = line_of("lo", 1, 1);
  const auto add = [&](const std::string& name, std::map<std::string, std::string> entries) {
    entries.try_emplace("type", "1\n");
    entries.try_emplace("iflink", "7\n");
    write_interface(host, name, entries);
    lines += line_of(name, 100, 200);
  };
  add("eth0", {{"iflink", "31\n"}});  // its other half is outside
  add("eth1", {{"master", "->../bond7"}});
  add("bond7", {{"bonding/mode", "active-backup 1\n"}, {"lower_eth1", "->../eth1"}});
  add("bridge7", {{"bridge/stp_state", "0\n"}, {"lower_inner", "->../inner"}});
  add("inner", {{"iflink", "32\n"}, {"master", "->../bridge7"}});  // of a container in this one
  add("eth0.5", {{"lower_eth0", "->../eth0"}});
  add("vpn", {{"tun_flags", "0x1001\n"}, {"type", "65534\n"}});
  add("tunl0", {{"type", "768\n"}});
  add("ifb3", {});
  host.write("proc/net/dev", text_of(lines));
  const Interfaces interfaces(host.root(), "/proc/net/dev", "/sys/class/net");
  EXPECT_EQ(interfaces.counted(), (Names{"eth0", "eth1"}));
}

TEST(Interfaces, AreAllButTheLoopbackWhereEachStandsOnAnother) {
  const HostTree host;
  host.write("proc/net/dev", text_of(line_of("lo", 1, 1) + line_of("tap0", 5, 6)));
  write_interface(host, "lo", {{"type", "772\n"}});
  write_interface(host, "tap0", {{"tun_flags", "0x1002\n"}});
  const Interfaces interfaces(host.root(), "/proc/net/dev", "/sys/class/net");
  EXPECT_EQ(interfaces.counted(), Names{"tap0"});
}

TEST(Interfaces, CountOneOfSeveralOnOneCard) {
  const HostTree host;
  std::string lines;
  const auto add = [&](const std::string& name, std::map<std::string, std::string> entries) {
    entries["device/uevent"] = "DRIVER=some\n";
    write_interface(host, name, entries);
    lines += line_of(name, 100, 200);
  };
  add("eth0", {});                          // paravirtual, adds up the traffic of
  add("eth1", {{"master", "->../eth0"}});   // the virtual function below it
  add("p0", {{"phys_port_name", "p0\n"}});  // the uplink of a card with a switch, and its ports
  add("pf0vf0", {{"phys_port_name", "pf0vf0\n"}});
  add("sfp1", {{"phys_port_name", "sfp1\n"}});
  add("lan1", {{"uevent", "DEVTYPE=dsa\nINTERFACE=lan1\n"}});
  host.write("proc/net/dev", text_of(lines));
  const Interfaces interfaces(host.root(), "/proc/net/dev", "/sys/class/net");
  EXPECT_EQ(interfaces.counted(), (Names{"eth0", "p0", "sfp1"}));
}

TEST(Interfaces, StayAsTheyWereWhereTheTextIsCut) {
  const HostTree host;
  const auto whole = base::read_small_file(JUMPER_TEST_DATA "/hosts/made/container/proc/net/dev");
  ASSERT_TRUE(whole);
  host.write("proc/net/dev", *whole);
  Interfaces interfaces(host.root(), "/proc/net/dev", "");
  const auto before = interfaces.totals();
  std::vector<char> buffer(1 << 15);
  std::int64_t now_ns = 0;
  for (std::size_t size = 0; size <= whole->size(); ++size) {
    host.write("proc/net/dev", whole->substr(0, size));
    interfaces.read(buffer, now_ns += 20'000'000'000);
    ASSERT_EQ(interfaces.totals(), before) << size;
  }
}

TEST(Interfaces, ReadATextThatIsLongerThanTheBuffer) {
  const HostTree host;
  const auto text = [](std::int64_t count) {
    std::string lines;
    for (int i = 0; i < 2000; ++i) lines += line_of("eth" + std::to_string(i), count, count);
    return text_of(lines);
  };
  host.write("proc/net/dev", text(5));
  Interfaces interfaces(host.root(), "/proc/net/dev", "");
  EXPECT_EQ(interfaces.totals()[kReceiveBytes], 10'000);
  host.write("proc/net/dev", text(6));
  std::vector<char> buffer(1 << 15);
  ASSERT_TRUE(interfaces.read(buffer, 1));
  EXPECT_EQ(interfaces.totals()[kReceiveBytes], 12'000);
  const std::int64_t before = allocations();
  for (int i = 0; i < 5; ++i) interfaces.read(buffer, 2 + i);
  EXPECT_EQ(allocations(), before);
}

TEST(Network, HasTheColumnsOfTheNode) {
  Reader reader(JUMPER_TEST_DATA "/hosts/made/server");
  EXPECT_EQ(reader.read(),
            (std::map<std::string, record::Value>{{"node.net_receive_bytes", 165'500'000'000},
                                                  {"node.net_transmit_bytes", 89'600'000'000},
                                                  {"node.net_receive_packets", 183'888'888},
                                                  {"node.net_transmit_packets", 127'999'999},
                                                  {"node.net_errors", 90}}));
  EXPECT_TRUE(reader.missing.list().empty());
}

TEST(Network, SaysWhyProcessesHaveNone) {
  Reader reader("/", ::getpid());
  EXPECT_EQ(reader.network.columns().size(), 5U);
  EXPECT_EQ(reader.reason("process.net_receive_bytes"), "counted by network namespace only");
  EXPECT_EQ(reader.reason("job.net_errors"), "the job shares the node's network namespace");
}

TEST(Network, SaysWhatIsNotThere) {
  const HostTree host;
  host.write_process(20, 1);
  Reader reader(host.root(), 20);
  for (const auto& [name, value] : reader.read()) {
    EXPECT_EQ(value, unknown(State::kNotSupported)) << name;
    EXPECT_NE(reader.reason(name).find("cannot open /proc/net/dev"), std::string::npos);
  }
  EXPECT_FALSE(reader.reason("job.net_receive_bytes").empty());
}

TEST(Network, LeavesOutLevelsThatAreNotWanted) {
  const Reader none("/", ::getpid(), {.node = false, .process = false, .job = false});
  EXPECT_TRUE(none.network.columns().empty());
  EXPECT_TRUE(none.missing.list().empty());
}

TEST(Network, IsUnknownWhileItCannotBeReadAndGoesOnAfterwards) {
  const HostTree host;
  host.write("proc/net/dev", text_of(line_of("eth0", 100, 200)));
  Reader reader(host.root());
  EXPECT_EQ(reader.read().at("node.net_receive_bytes"), 100);
  host.write("proc/net/dev", "");
  EXPECT_EQ(reader.read().at("node.net_receive_bytes"), unknown(State::kNotYet));
  host.write("proc/net/dev", text_of(line_of("eth0", 101, 200)));
  EXPECT_EQ(reader.read().at("node.net_receive_bytes"), 101);
}

TEST(Network, AllocatesNothing) {
  Reader reader("/", ::getpid());
  std::vector<record::Value> values(reader.network.columns().size());
  const std::int64_t before = allocations();
  for (int i = 0; i < 20; ++i) reader.network.read(values, Turn{1 + i, true, reader.buffer});
  EXPECT_EQ(allocations(), before);
  for (const auto value : values) EXPECT_GE(value, 0);
}

// In the actor: a network namespace of its own with two interfaces that are joined by a wire.
bool make_network() {
  if (::unshare(CLONE_NEWNET) != 0) return false;
  std::ofstream("/proc/sys/net/ipv6/conf/default/disable_ipv6") << "1\n";  // it talks by itself
  const pid_t shell = child([] {
    ::execl("/bin/sh", "sh", "-c",
            "PATH=$PATH:/usr/sbin:/sbin; exec 2>/dev/null; ip link set lo up && "
            "ip link add eth0 type veth peer name eth1 && "
            "ip link set eth0 up && ip link set eth1 up",
            nullptr);
    ::_exit(9);
  });
  int status = -1;
  return ::waitpid(shell, &status, 0) == shell && status == 0;
}

constexpr int kPackets = 2000;
constexpr std::size_t kPacketBytes = 1400;  // with the header of the link

bool send_packets() {
  const int link = ::socket(AF_PACKET, SOCK_RAW, 0);
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_ifindex = static_cast<int>(::if_nametoindex("eth0"));
  std::array<char, kPacketBytes> packet{};
  packet[12] = '\x88';  // 0x88b5: for experiments
  packet[13] = '\xb5';
  const auto* to = reinterpret_cast<const sockaddr*>(&address);
  for (int i = 0; i < kPackets; ++i) {
    if (::sendto(link, packet.data(), packet.size(), 0, to, sizeof address) < 0) return false;
  }
  // And over the loopback, which doesn't count.
  const int loop = ::socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in self{};
  self.sin_family = AF_INET;
  self.sin_port = htons(9);
  self.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (int i = 0; i < kPackets; ++i) {
    ::sendto(loop, packet.data(), packet.size(), MSG_DONTWAIT,
             reinterpret_cast<const sockaddr*>(&self), sizeof self);
  }
  return true;
}

TEST(Network, CountsWhatAJobWithANetworkOfItsOwnSends) {
  const Actor actor([](const Cue& cue) {
    cue.tell(make_network() ? 1 : 0);
    cue.wait();
    cue.tell(send_packets() ? 1 : 0);
    cue.stay();
  });
  if (actor.heard() == 0) {
    GTEST_SKIP() << "no network namespace with two interfaces can be made here (that needs "
                    "CAP_NET_ADMIN, veth and the program ip)";
  }
  Reader reader("/", actor.pid());
  const auto before = reader.read();
  EXPECT_EQ(before.size(), 10U);
  EXPECT_TRUE(reader.reason("job.net_receive_bytes").empty());
  actor.go();
  ASSERT_EQ(actor.heard(), 1);
  const auto after = reader.read();
  const auto more = [&](const std::string& name) { return after.at(name) - before.at(name); };
  const std::int64_t bytes = kPackets * static_cast<std::int64_t>(kPacketBytes);
  EXPECT_EQ(more("job.net_transmit_packets"), kPackets);
  EXPECT_EQ(more("job.net_receive_packets"), kPackets);
  EXPECT_EQ(more("job.net_transmit_bytes"), bytes);
  EXPECT_EQ(more("job.net_receive_bytes"), bytes);
}

}  // namespace
}  // namespace probe
