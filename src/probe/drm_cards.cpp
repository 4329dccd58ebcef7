#include "probe/drm_cards.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "base/file.hpp"
#include "probe/scan.hpp"

namespace probe {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> kDrivers{"amdgpu", "radeon", "i915", "xe"};
constexpr std::size_t kMostEntries = 4096;  // a card has a dozen connectors
constexpr std::size_t kMostTextBytes = 4096;
constexpr std::size_t kMostModelBytes = 128;

std::string first_line(const std::string& path) {
  const auto text = base::read_small_file(path, kMostTextBytes);
  return text ? std::string(Scanner(*text).line().substr(0, kMostModelBytes)) : std::string();
}

// "0x1002" as "1002".
std::string hexadecimal(const std::string& path) {
  const std::string text = first_line(path);
  return text.starts_with("0x") ? text.substr(2) : text;
}

DrmCard card_of(const std::string& root, std::size_t number, std::string_view uevent) {
  DrmCard card;
  card.number = number;
  card.driver = uevent_value(uevent, "DRIVER");
  card.slot = uevent_value(uevent, "PCI_SLOT_NAME");
  const std::string device = root + card.folder() + "/device/";
  card.model = first_line(device + "product_name");
  if (card.model.empty()) {
    card.model = hexadecimal(device + "vendor") + ":" + hexadecimal(device + "device");
  }
  card.id = first_line(device + "unique_id");
  if (card.id.empty()) card.id = card.slot;
  if (const auto text = base::read_small_file(device + "mem_info_vram_total", kMostTextBytes)) {
    card.memory_bytes = Scanner(*text).number().value_or(card.memory_bytes);
  }
  return card;
}

}  // namespace

std::string_view uevent_value(std::string_view text, std::string_view name) noexcept {
  for (Scanner lines(text); !lines.done();) {
    const std::string_view line = lines.line();
    if (line.size() <= name.size() || line[name.size()] != '=' || !line.starts_with(name)) continue;
    return line.substr(name.size() + 1, kMostModelBytes);
  }
  return {};
}

std::int64_t number_behind(std::string_view name, std::string_view prefix) noexcept {
  if (!name.starts_with(prefix)) return -1;
  return Scanner(name.substr(prefix.size())).number().value_or(-1);
}

bool is_asleep(const std::string& root, const DrmCard& card) {
  const auto text =
      base::read_small_file(root + card.folder() + "/device/power/runtime_status", 64);
  return text && text->starts_with("suspend");  // "suspended", "suspending"
}

std::string DrmCard::folder() const { return "/sys/class/drm/card" + std::to_string(number); }

DrmCards find_drm_cards(const std::string& root) {
  struct Entry {
    std::string name;
    std::string slot;
    std::string driver;
  };
  DrmCards cards;
  std::vector<Entry> entries;
  const std::string folder = root + "/sys/class/drm";
  std::error_code error;
  std::size_t seen = 0;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (++seen > kMostEntries) break;
    std::string name = at->path().filename().string();
    const std::int64_t number = number_behind(name, "card");
    if (number < 0 && number_behind(name, "renderD") < 0) continue;
    const auto uevent = base::read_small_file(at->path().string() + "/device/uevent");
    if (!uevent) continue;
    const std::string_view driver = uevent_value(*uevent, "DRIVER");
    const bool counts = std::ranges::find(kDrivers, driver) != kDrivers.end();
    const bool plain = number <= 9999 && name == "card" + std::to_string(number);
    if (plain && counts && cards.list.size() < kMostDrmCards) {
      cards.list.push_back(card_of(root, static_cast<std::size_t>(number), *uevent));
    }
    entries.push_back({std::move(name), std::string(uevent_value(*uevent, "PCI_SLOT_NAME")),
                       std::string(driver)});
  }
  std::ranges::sort(cards.list, {}, &DrmCard::number);
  for (Entry& entry : entries) {
    DrmNode node{std::move(entry.name), DrmNode::kForeign};
    for (std::size_t i = 0; i < cards.list.size(); ++i) {
      const DrmCard& card = cards.list[i];
      const bool same = card.slot.empty() ? node.name == "card" + std::to_string(card.number)
                                          : card.slot == entry.slot;
      if (same) node.card = i;
    }
    // A part of a divided card ("amdgpu_xcp") is a device of its own; its clients name the card.
    if (node.card == DrmNode::kForeign && entry.driver.starts_with("amdgpu")) continue;
    cards.nodes.push_back(std::move(node));
  }
  return cards;
}

}  // namespace probe
