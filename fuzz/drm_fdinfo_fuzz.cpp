// /proc/PID/fdinfo/N of a graphics card, added up as a client; pp_dpm_sclk and uevent of sysfs.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "probe/drm_cards.hpp"
#include "probe/drm_clients.hpp"
#include "probe/drm_fdinfo.hpp"
#include "probe/drm_sensors.hpp"
#include "probe/scan.hpp"

namespace {

bool is_odd(std::int64_t value) { return value > probe::kMostNumber || value < -4; }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (probe::parse_dpm_clock(text) > probe::kMostNumber) __builtin_trap();
  if (probe::uevent_value(text, "DRIVER").size() > size) __builtin_trap();

  // The text in two halves: one client in two rounds, or two clients.
  probe::DrmClients clients(1);
  std::int64_t busy_ns = 0;
  std::int64_t now_ns = 1'000'000'000;
  for (const std::string_view part : {text.substr(0, size / 2), text.substr(size / 2), text}) {
    clients.begin(now_ns);
    const auto client = probe::parse_drm_fdinfo(part);
    if (client) {
      if (is_odd(client->card_bytes) || is_odd(client->main_bytes)) __builtin_trap();
      for (const auto& engine : client->engines()) {
        if (is_odd(engine.busy_ns) || is_odd(engine.cycles) || engine.capacity < 1) {
          __builtin_trap();
        }
      }
      clients.see(0, *client, now_ns);
    }
    clients.end();
    const auto& use = clients.of(0);
    if (use.busy_ns < busy_ns || use.busy_ns > busy_ns + 1'000'000'000) __builtin_trap();
    if (is_odd(use.card_bytes) || is_odd(use.main_bytes)) __builtin_trap();
    busy_ns = use.busy_ns;
    now_ns += 1'000'000'000;
  }
  return 0;
}
