#include "probe/visible_devices.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace probe {
namespace {

using Candidates = std::span<const VisibleCandidate>;

constexpr std::size_t kMostEntryBytes = 64;  // of one that is shown

constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool begins(std::string_view text, std::string_view prefix) noexcept {
  return text.size() >= prefix.size() &&
         std::equal(prefix.begin(), prefix.end(), text.begin(),
                    [](char a, char b) { return lower(a) == lower(b); });
}

std::string_view trimmed(std::string_view text) noexcept {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::optional<std::uint32_t> number_of(std::string_view text) noexcept {
  std::uint32_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

bool is_negative(std::string_view entry) noexcept {
  return entry.starts_with('-') && number_of(entry.substr(1));
}

// The only candidate of which `matches` is true.
template <typename Matches>
std::optional<std::size_t> only_one(Candidates candidates, Matches matches) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!matches(candidates[i])) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

std::optional<std::size_t> by_number(std::uint32_t number, Candidates candidates) {
  std::vector<std::pair<std::uint64_t, std::size_t>> cards;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!candidates[i].is_slice && candidates[i].usable) cards.emplace_back(candidates[i].bus, i);
  }
  std::ranges::sort(cards);
  if (number >= cards.size()) return std::nullopt;
  return cards[number].second;
}

// "MIG-GPU-8932f937-…/1/0".
std::optional<std::size_t> by_instances(std::string_view entry, Candidates candidates) {
  constexpr std::size_t kPrefix = 4;  // "MIG-"
  const std::size_t first = entry.find('/');
  const std::size_t second = entry.find('/', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const auto gpu_instance = number_of(entry.substr(first + 1, second - first - 1));
  const auto compute_instance = number_of(entry.substr(second + 1));
  if (!gpu_instance || !compute_instance) return std::nullopt;
  const std::string_view card = entry.substr(kPrefix, first - kPrefix);
  return only_one(candidates, [&](const VisibleCandidate& candidate) {
    return candidate.is_slice && begins(candidate.card_uuid, card) &&
           candidate.gpu_instance == *gpu_instance &&
           candidate.compute_instance == *compute_instance;
  });
}

std::optional<std::size_t> find(std::string_view entry, Candidates candidates) {
  if (const auto number = number_of(entry)) return by_number(*number, candidates);
  const bool slice = begins(entry, "MIG-");
  if (!slice && !begins(entry, "GPU-")) return std::nullopt;
  if (slice && entry.find('/') != std::string_view::npos) return by_instances(entry, candidates);
  return only_one(candidates, [&](const VisibleCandidate& candidate) {
    return candidate.is_slice == slice && begins(candidate.uuid, entry);
  });
}

std::string shown(std::string_view entry) {
  std::string text(entry.substr(0, kMostEntryBytes));
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text;
}

}  // namespace

VisibleDevices parse_environ(std::string_view text) {
  constexpr std::string_view kList = "CUDA_VISIBLE_DEVICES=";
  constexpr std::string_view kOrder = "CUDA_DEVICE_ORDER=";
  VisibleDevices visible;
  bool order_seen = false;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\0'), text.size());
    const std::string_view entry = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
    if (entry.starts_with(kList) && !visible.list) {
      visible.list = entry.substr(kList.size());
    } else if (entry.starts_with(kOrder) && !order_seen) {
      order_seen = true;
      visible.bus_order = entry.substr(kOrder.size()) == "PCI_BUS_ID";
    }
  }
  return visible;
}

VisibleSelection select_visible(const std::optional<std::string>& list, Candidates candidates) {
  VisibleSelection selection;
  std::vector<bool> taken(candidates.size());
  const auto take = [&](std::size_t place) {
    if (taken[place]) return;
    taken[place] = true;
    selection.chosen.push_back(place);
  };
  if (!list) {
    for (std::size_t i = 0; i < candidates.size(); ++i) take(i);
    return selection;
  }
  for (std::string_view rest = *list; !rest.empty();) {
    const std::size_t length = std::min(rest.find(','), rest.size());
    const std::string_view entry = trimmed(rest.substr(0, length));
    rest.remove_prefix(std::min(length + 1, rest.size()));
    // Slurm says "NoDevFiles" to a job that has no cards.
    if (entry.empty() || is_negative(entry) || entry == "NoDevFiles") break;
    const auto found = find(entry, candidates);
    if (!found) {
      selection.unmatched = shown(entry);
      break;
    }
    selection.by_number = selection.by_number || number_of(entry);
    take(*found);
    if (candidates[*found].is_slice) continue;
    for (std::size_t i = *found + 1; i < candidates.size() && candidates[i].is_slice; ++i) take(i);
  }
  return selection;
}

}  // namespace probe
