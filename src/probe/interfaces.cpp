#include "probe/interfaces.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <filesystem>
#include <system_error>

#include "probe/scan.hpp"

namespace probe {
namespace {

namespace fs = std::filesystem;

// Those of the highest rank that is there count.
enum Rank : std::uint8_t { kNever, kStacked, kPlain, kHardware };

// What stands on other interfaces, or carries nothing out of the node, by the names that kernel and
// programs give; used where sysfs doesn't tell.
constexpr std::array<std::string_view, 36> kStackedNames{
    "bond",   "br-",     "br0",     "calico",  "cali",  "cilium", "cni",  "docker",    "dummy",
    "erspan", "flannel", "gre",     "gretap",  "ifb",   "ip6",    "ipip", "ip_vti",    "ipvlan",
    "lxcbr",  "lxdbr",   "macvlan", "macvtap", "nlmon", "podman", "sit",  "tailscale", "tap",
    "team",   "tun",     "veth",    "virbr",   "vlan",  "vmbr",   "vnet", "vxlan",     "wg"};

// Those of them that sysfs shows as ordinary ones.
constexpr std::array<std::string_view, 3> kNowhereNames{"dummy", "ifb", "nlmon"};

template <std::size_t N>
bool begins_with_one_of(std::string_view name, const std::array<std::string_view, N>& beginnings) {
  return std::ranges::any_of(beginnings, [&](auto begin) { return name.starts_with(begin); });
}

bool exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

std::string first_line(const std::string& path) {
  const auto text = base::read_small_file(path, 4096);
  return text ? std::string(Scanner(*text).line()) : std::string();
}

bool has_lower(const std::string& folder) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename().string().starts_with("lower_")) return true;
  }
  return false;
}

// ARPHRD_* of <linux/if_arp.h> whose packets travel in those of another interface: tunnel, tunnel6,
// sit, ipgre, ip6gre, none (tun, wireguard).
bool is_tunnel(const std::string& type) {
  constexpr std::array<std::string_view, 6> kTypes{"768", "769", "776", "778", "823", "65534"};
  return std::ranges::find(kTypes, type) != kTypes.end();
}

// One of several interfaces of one piece of hardware whose traffic another one counts, too.
bool is_counted_elsewhere(const std::string& folder) {
  // A virtual function behind a paravirtual card (netvsc, net_failover): the master is a card
  // itself, and adds up both.
  if (exists(folder + "/master/device")) return true;
  // The port of a virtual function or subfunction on the card's own switch: "pf0vf3", "pf0sf1".
  const std::string port = first_line(folder + "/phys_port_name");
  const auto function = port.find("pf");
  if (function != std::string::npos && port.find_first_of("vs", function) != std::string::npos) {
    return true;
  }
  // A port of a switch chip: all go through the interface that the chip is on.
  const auto event = base::read_small_file(folder + "/uevent", 4096);
  return event && event->find("DEVTYPE=dsa\n") != std::string::npos;
}

}  // namespace

std::optional<DeviceLine<kInterfaceCounts>> parse_interface(std::string_view line) noexcept {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  DeviceLine<kInterfaceCounts> found;
  found.name = Scanner(line.substr(0, colon)).word();
  if (found.name.empty()) return std::nullopt;
  Scanner words(line.substr(colon + 1));
  bool complete = true;
  const auto number = [&] {
    const auto value = words.number();
    complete = complete && value.has_value();
    return value.value_or(0);
  };
  auto& counts = found.counts;
  counts[kReceiveBytes] = number();
  counts[kReceivePackets] = number();
  for (int i = 0; i < 2; ++i) counts[kErrors] += number();
  words.skip_words(4);
  counts[kTransmitBytes] = number();
  counts[kTransmitPackets] = number();
  for (int i = 0; i < 2; ++i) counts[kErrors] += number();
  if (!complete) return std::nullopt;
  return found;
}

Interfaces::Interfaces(const std::string& root, std::string_view path, std::string_view sys_folder)
    : file_(root, path) {
  if (!sys_folder.empty()) sys_folder_ = root + std::string(sys_folder);
  if (!exists(sys_folder_)) sys_folder_.clear();
  std::vector<char> buffer(1 << 15);
  sum_.start(file_.read_lines(buffer), parse_interface,
             [this](auto name) { return rank_of(name); });
}

bool Interfaces::read(std::span<char> buffer, std::int64_t now_ns) noexcept {
  const std::string_view text = file_.read_lines(buffer);
  if (text.empty()) return false;
  sum_.take(text, now_ns, parse_interface, [this](auto name) { return rank_of(name); });
  return true;
}

std::uint8_t Interfaces::rank_of(std::string_view name) const {
  if (name == "lo") return kNever;
  const std::string folder = sys_folder_ + "/" + std::string(name);
  // Where it isn't in sysfs, that shows another namespace (of who mounted it).
  if (sys_folder_.empty() || !exists(folder)) {
    const bool stacked = begins_with_one_of(name, kStackedNames) ||
                         name.find_first_of(".@") != std::string_view::npos;  // vlans
    return stacked ? kStacked : kPlain;
  }
  if (exists(folder + "/device")) return is_counted_elsewhere(folder) ? kStacked : kHardware;
  for (const char* entry : {"/bridge", "/bonding", "/tun_flags"}) {
    if (exists(folder + entry)) return kStacked;
  }
  if (begins_with_one_of(name, kNowhereNames)) return kStacked;
  if (is_tunnel(first_line(folder + "/type")) || has_lower(folder)) return kStacked;
  // One half of a pair whose other half is in a container (veth), on a bridge of ours.
  const bool paired = first_line(folder + "/iflink") != first_line(folder + "/ifindex");
  return paired && exists(folder + "/master") ? kStacked : kPlain;
}

std::vector<std::string> Interfaces::counted() const {
  std::vector<std::string> names;
  for (const auto& device : sum_.devices()) {
    if (device.counted && device.present) names.emplace_back(device.name());
  }
  return names;
}

}  // namespace probe
