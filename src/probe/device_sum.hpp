#pragma once
// Counters of devices that come and go, added up: the sum never falls.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "probe/scan.hpp"

namespace probe {

// One device's line in a text of the kernel.
template <std::size_t N>
struct DeviceLine {
  std::string_view name;
  std::array<std::int64_t, N> counts{};
};

// Which devices are in the sum is decided by a rank that the owner gives each: those of the highest
// rank count, those of rank 0 never. It is asked for when a device is new and once more 10 s later:
// what stands on it, or below, may join it after it was seen first.
//
// A counter that falls is a device that began anew (it was taken away and came back, its driver was
// loaded again, 32 bits ran over): what it shows now is added. Only when it falls by less than half
// while it is there, that is a driver's careless sum, and the larger value stands. What a device
// had counted before it was first seen isn't in the sum, unless it was there from the start: it may
// be of another time or another place (an interface that comes back from a container).
template <std::size_t N>
class DeviceSum {
 public:
  using Counts = std::array<std::int64_t, N>;

  static constexpr std::size_t kMostDevices = 4096;  // lines beyond are left out
  static constexpr std::size_t kMostName = 31;       // DISK_NAME_LEN - 1; IFNAMSIZ is shorter

  struct Device {
    [[nodiscard]] std::string_view name() const noexcept { return {letters.data(), size}; }
    std::array<char, kMostName + 1> letters{};
    std::uint8_t size = 0;
    std::uint8_t rank = 0;
    std::uint8_t looks = 0;  // how often its rank was asked for
    bool seen = false;       // in the text that is being read
    bool present = false;    // in the last one
    bool counted = false;
    Counts last{};
  };

  // `parse`: std::optional<DeviceLine<N>>(line); `rank_of`: std::uint8_t(name), which may throw.

  // The first text: the sum begins with what its devices have counted so far. Throws
  // std::bad_alloc.
  template <class Parse, class Rank>
  void start(std::string_view text, Parse parse, Rank rank_of) {
    look(text, parse, rank_of);
    for (const auto& device : devices_) {
      for (std::size_t i = 0; i < N && device.counted; ++i) add(i, device.last[i]);
    }
  }

  // A later text. Allocates when devices are new, once a second at most.
  template <class Parse, class Rank>
  void take(std::string_view text, std::int64_t now_ns, Parse parse, Rank rank_of) noexcept {
    bool all_known = true;
    for (auto& device : devices_) device.seen = false;
    cursor_ = 0;
    each_line(text, parse, [&](const auto& line) { all_known = see(line) && all_known; });
    for (auto& device : devices_) device.present = device.seen;
    if (next_look_ns_ == 0) next_look_ns_ = now_ns + kLookAgainNs;
    if (now_ns < next_look_ns_ && (all_known || now_ns < next_news_ns_)) return;
    try {
      look(text, parse, rank_of);
    } catch (const std::exception&) {
      again_ = true;  // no memory: later
    }
    next_news_ns_ = now_ns + kNewsPauseNs;
    next_look_ns_ = again_ ? now_ns + kLookAgainNs : kNever;
  }

  [[nodiscard]] const Counts& totals() const noexcept { return totals_; }
  [[nodiscard]] std::span<const Device> devices() const noexcept { return devices_; }

 private:
  static constexpr std::int64_t kNewsPauseNs = 1'000'000'000;
  static constexpr std::int64_t kLookAgainNs = 10'000'000'000;
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  template <class Parse, class Use>
  static void each_line(std::string_view text, Parse parse, Use use) {
    std::size_t count = 0;
    for (Scanner lines(text); !lines.done() && count < kMostDevices;) {
      const std::optional<DeviceLine<N>> line = parse(lines.line());
      if (!line || line->name.empty() || line->name.size() > kMostName) continue;
      ++count;
      use(*line);
    }
  }

  // False when it is new, or comes back (maybe as something else by the same name).
  bool see(const DeviceLine<N>& line) noexcept {
    Device* device = find(line.name);
    if (device == nullptr) return false;
    if (device->seen) return true;  // a name twice in one text
    device->seen = true;
    for (std::size_t i = 0; i < N; ++i) {
      std::int64_t& last = device->last[i];
      const std::int64_t now = std::clamp<std::int64_t>(line.counts[i], 0, kMostNumber);
      if (now < last && device->present && now >= last / 2) continue;
      if (device->counted) add(i, now < last ? now : now - last);
      last = now;
    }
    if (!device->present) device->looks = 0;
    return device->present;
  }

  template <class Parse, class Rank>
  void look(std::string_view text, Parse parse, Rank rank_of) {
    again_ = false;
    each_line(text, parse, [&](const auto& line) { admit(line); });
    std::uint8_t best = 1;
    for (auto& device : devices_) {
      if (device.present && device.looks < 2) {
        device.rank = rank_of(device.name());
        ++device.looks;
      }
      again_ = again_ || (device.present && device.looks < 2);
      best = std::max(best, device.rank);  // of those that are gone, too: they may come back
    }
    for (auto& device : devices_) device.counted = device.rank == best;
  }

  void admit(const DeviceLine<N>& line) {
    if (find(line.name) != nullptr) return;
    Device* place = nullptr;
    if (devices_.size() < kMostDevices) {
      place = &devices_.emplace_back();
    } else {
      const auto gone = std::ranges::find(devices_, false, &Device::present);
      if (gone == devices_.end()) return;
      place = &*gone;
      *place = Device();
    }
    place->size = static_cast<std::uint8_t>(line.name.copy(place->letters.data(), kMostName));
    place->present = true;
    for (std::size_t i = 0; i < N; ++i) {
      place->last[i] = std::clamp<std::int64_t>(line.counts[i], 0, kMostNumber);
    }
  }

  void add(std::size_t i, std::int64_t more) noexcept {
    totals_[i] = std::min(totals_[i] + more, kMostNumber);
  }

  // The kernel's order stays the same: the next one is mostly the one that is asked for.
  Device* find(std::string_view name) noexcept {
    for (std::size_t tried = 0; tried < devices_.size(); ++tried) {
      if (cursor_ >= devices_.size()) cursor_ = 0;
      Device& device = devices_[cursor_++];
      if (device.name() == name) return &device;
    }
    return nullptr;
  }

  std::vector<Device> devices_;
  std::size_t cursor_ = 0;
  Counts totals_{};
  bool again_ = false;  // a device was asked for its rank once only
  std::int64_t next_news_ns_ = 0;
  std::int64_t next_look_ns_ = 0;
};

}  // namespace probe
