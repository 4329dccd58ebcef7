#include "probe/drm_fdinfo.hpp"

#include <algorithm>

#include "probe/scan.hpp"

namespace probe {
namespace {

using record::State;
using record::unknown;
using record::Value;

constexpr Value kUntold = unknown(State::kNotSupported);

struct Region {
  std::string_view name;
  Value resident_bytes = kUntold;
  Value memory_bytes = kUntold;  // its older name
  Value total_bytes = kUntold;

  [[nodiscard]] Value bytes() const noexcept {
    if (record::is_known(resident_bytes)) return resident_bytes;
    return record::is_known(memory_bytes) ? memory_bytes : total_bytes;
  }
};

struct Regions {
  std::array<Region, kMostDrmEngines> places{};
  std::size_t count = 0;
};

// The place of the one called `name`, a new one if need be; nullptr when there are too many.
template <typename Place, std::size_t N>
Place* place_of(std::array<Place, N>& places, std::size_t& count, std::string_view name) noexcept {
  const auto end = places.begin() + static_cast<std::ptrdiff_t>(count);
  const auto found = std::ranges::find(places.begin(), end, name, &Place::name);
  if (found != end) return &*found;
  if (count == N || name.empty()) return nullptr;
  places[count].name = name;
  return &places[count++];
}

// "192 KiB"; bytes without a unit.
Value bytes_of(std::string_view text) noexcept {
  Scanner words(text);
  const auto number = words.number();
  const std::string_view unit = words.word();
  std::int64_t factor = 1;
  if (unit == "KiB") factor = 1 << 10;
  if (unit == "MiB") factor = 1 << 20;
  if (factor == 1 && !unit.empty()) return kUntold;
  return number && *number <= kMostNumber / factor ? *number * factor : kUntold;
}

Value hertz_of(std::string_view text) noexcept {
  Scanner words(text);
  const auto number = words.number();
  const std::string_view unit = words.word();
  std::int64_t factor = 1;
  if (unit == "KHz") factor = 1'000;
  if (unit == "MHz") factor = 1'000'000;
  return number && *number <= kMostNumber / factor ? *number * factor : kUntold;
}

Value number_of(std::string_view text) noexcept { return Scanner(text).number().value_or(kUntold); }

// True, and the beginning is cut off, when `key` has it.
bool takes(std::string_view& key, std::string_view beginning) noexcept {
  if (!key.starts_with(beginning)) return false;
  key.remove_prefix(beginning.size());
  return true;
}

void add_engine(DrmClient& client, std::string_view name, Value DrmEngine::* field,
                Value value) noexcept {
  DrmEngine* engine = place_of(client.engine_places, client.engine_count, name);
  if (engine != nullptr) engine->*field = value;
}

void add_region(Regions& regions, std::string_view name, Value Region::* field,
                Value value) noexcept {
  Region* region = place_of(regions.places, regions.count, name);
  if (region != nullptr) region->*field = value;
}

// `key` without its "drm-". Longer beginnings first: "engine-capacity-vcs" is no engine.
void read_line(DrmClient& client, Regions& regions, bool& has_id, std::string_view key,
               std::string_view value) noexcept {
  if (key == "driver") {
    client.driver = Scanner(value).word();
  } else if (key == "pdev") {
    client.device = Scanner(value).word();
  } else if (key == "client-id") {
    const auto id = Scanner(value).number();
    has_id = id.has_value();
    client.id = id.value_or(0);
  } else if (takes(key, "engine-capacity-")) {
    DrmEngine* engine = place_of(client.engine_places, client.engine_count, key);
    if (engine != nullptr) engine->capacity = std::max<std::int64_t>(number_of(value), 1);
  } else if (takes(key, "engine-")) {
    add_engine(client, key, &DrmEngine::busy_ns, number_of(value));
  } else if (takes(key, "cycles-")) {
    add_engine(client, key, &DrmEngine::cycles, number_of(value));
  } else if (takes(key, "total-cycles-")) {
    add_engine(client, key, &DrmEngine::total_cycles, number_of(value));
  } else if (takes(key, "maxfreq-")) {
    add_engine(client, key, &DrmEngine::max_hz, hertz_of(value));
  } else if (takes(key, "total-")) {
    add_region(regions, key, &Region::total_bytes, bytes_of(value));
  } else if (takes(key, "resident-")) {
    add_region(regions, key, &Region::resident_bytes, bytes_of(value));
  } else if (takes(key, "memory-")) {
    add_region(regions, key, &Region::memory_bytes, bytes_of(value));
  }
}

void add(Value& sum, Value bytes) noexcept {
  if (record::is_known(bytes)) sum = std::min(std::max<Value>(sum, 0) + bytes, kMostNumber);
}

}  // namespace

std::optional<DrmClient> parse_drm_fdinfo(std::string_view text) noexcept {
  DrmClient client;
  Regions regions;
  bool has_id = false;
  for (Scanner lines(text); !lines.done();) {
    const std::string_view line = lines.line();
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || !line.starts_with("drm-")) continue;
    read_line(client, regions, has_id, line.substr(4, colon - 4), line.substr(colon + 1));
  }
  if (client.driver.empty() || !has_id) return std::nullopt;
  for (std::size_t i = 0; i < regions.count; ++i) {
    const Region& region = regions.places[i];
    // amdgpu: vram, gtt, cpu; i915: local0, system0; xe: vram0, gtt, system.
    const auto begins = [&](std::string_view with) { return region.name.starts_with(with); };
    if (begins("vram") || begins("local")) add(client.card_bytes, region.bytes());
    if (begins("system") || begins("gtt") || begins("cpu") || begins("memory")) {
      add(client.main_bytes, region.bytes());
    }
  }
  return client;
}

}  // namespace probe
