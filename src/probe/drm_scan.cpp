#include "probe/drm_scan.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include "base/clock.hpp"
#include "probe/directory.hpp"
#include "probe/drm_fdinfo.hpp"

namespace probe {
namespace {

constexpr std::size_t kListingBytes = 1 << 13;
constexpr std::size_t kTextBytes = 1 << 13;  // about 1 KiB in fact
constexpr std::string_view kFolder = "/dev/dri/";

}  // namespace

DrmScan::DrmScan(const std::string& root, const DrmCards& cards)
    : root_(root), proc_(root), cards_(cards), listing_(kListingBytes), text_(kTextBytes) {
  notes_.asleep.resize(cards.list.size());
  notes_.untold.resize(cards.list.size());
  sleeps_.resize(cards.list.size());
}

const DrmScan::Notes& DrmScan::run(std::span<const pid_t> pids, DrmClients& clients) {
  notes_.processes = 0;
  notes_.refused = 0;
  notes_.cut = false;
  notes_.compute = false;
  std::ranges::fill(notes_.asleep, 0);
  std::ranges::fill(notes_.untold, 0);
  std::ranges::fill(sleeps_, 0);
  descriptors_ = 0;
  clients.begin(base::monotonic_ns());
  if (pids.size() > kMostDrmProcesses) {
    pids = pids.first(kMostDrmProcesses);
    notes_.cut = true;
  }
  for (const pid_t pid : pids) look_at(pid, clients);
  clients.end();
  return notes_;
}

void DrmScan::look_at(pid_t pid, DrmClients& clients) {
  const base::File directory =
      base::File::try_open_at(proc_.fd(), ProcPath(pid, "fd").text(), O_RDONLY | O_DIRECTORY);
  if (!directory.valid()) {
    const bool gone = errno == ENOENT || errno == ESRCH;
    notes_.processes += gone ? 0 : 1;
    notes_.refused += gone ? 0 : 1;
    return;
  }
  ++notes_.processes;
  visit_numbered_entries(directory.fd(), listing_, [&](int number, std::uint64_t) {
    if (descriptors_ >= kMostDrmDescriptors) {
      notes_.cut = true;
      return;
    }
    ++descriptors_;
    look_at(directory, number, pid, clients);
  });
}

void DrmScan::look_at(const base::File& directory, int number, pid_t pid, DrmClients& clients) {
  std::array<char, 16> name{};
  std::to_chars(name.data(), name.data() + name.size() - 1, number);
  std::array<char, 64> target;
  const ssize_t size = ::readlinkat(directory.fd(), name.data(), target.data(), target.size());
  if (size <= 0) return;
  const std::string_view path(target.data(), static_cast<std::size_t>(size));
  if (path == "/dev/kfd") notes_.compute = true;
  if (!path.starts_with(kFolder)) return;
  const auto card = card_of(path.substr(kFolder.size()));
  if (card == DrmNode::kForeign) return;
  if (card && sleeps(*card, clients)) return;
  read_client(pid, number, card, clients);
}

void DrmScan::read_client(pid_t pid, int number, std::optional<std::size_t> card,
                          DrmClients& clients) {
  std::array<char, 24> name{};
  constexpr std::string_view kDirectory = "fdinfo/";
  char* const end = std::ranges::copy(kDirectory, name.begin()).out;
  std::to_chars(end, name.data() + name.size() - 1, number);
  const base::File file =
      base::File::try_open_at(proc_.fd(), ProcPath(pid, name.data()).text(), O_RDONLY);
  if (!file.valid()) return;  // closed meanwhile
  const std::string_view text = base::read_text(file.fd(), text_);
  if (text.empty()) return;
  const auto client = parse_drm_fdinfo(text);
  if (!client) {
    if (card) notes_.untold[*card] = 1;
    return;
  }
  if (!card || !client->device.empty()) card = card_at(client->device);
  if (*card == DrmNode::kForeign || client->driver != cards_.list[*card].driver) return;
  if (!clients.see(*card, *client, base::monotonic_ns())) notes_.cut = true;
}

std::optional<std::size_t> DrmScan::card_of(std::string_view node) const noexcept {
  const auto found = std::ranges::find(cards_.nodes, node, &DrmNode::name);
  if (found == cards_.nodes.end()) return std::nullopt;
  return found->card;
}

std::size_t DrmScan::card_at(std::string_view slot) const noexcept {
  const auto found = std::ranges::find(cards_.list, slot, &DrmCard::slot);
  if (slot.empty() || found == cards_.list.end()) return DrmNode::kForeign;
  return static_cast<std::size_t>(found - cards_.list.begin());
}

// Asked once a round for cards that have descriptors. Reading a client of xe wakes the card.
bool DrmScan::sleeps(std::size_t card, DrmClients& clients) {
  if (sleeps_[card] == 0) {
    sleeps_[card] = is_asleep(root_, cards_.list[card]) ? 2 : 1;
    if (sleeps_[card] == 2) {
      notes_.asleep[card] = 1;
      clients.pass_over(card);
    }
  }
  return sleeps_[card] == 2;
}

}  // namespace probe
