#pragma once
// What the fake library answers: a text file, read anew at each call, so that a test changes the
// machine while it is watched. JUMPER_FAKE_NVML names it; without it there are no cards.
//
//   cards = 2
//   load = 1                          another number: the driver was reloaded
//   gpu0.name = NVIDIA A100-SXM4-80GB
//   gpu0.uuid = GPU-11111111-2222-3333-4444-555555555555
//   gpu0.bus = 0 59 0                 domain, bus, device
//   gpu0.memory = 85899345920 1024 10 total, used, reserved
//   gpu0.utilization = 37 12
//   gpu0.power = 250000               and so on: temperature, energy, sm_clock, memory_clock,
//   gpu0.compute = 4242:1024:1:2      pid:bytes[:GPU instance:compute instance] …; throttle
//   gpu0.samples = 4242:30            pid:per cent …
//   gpu0.mig = 0 1                    slices by number: the card is in MIG mode
//   gpu0_mig1.uuid = MIG-…            a slice has what a card has, and: instances = 2 0
//   entry_bytes = 24                  what the process lists consist of
//
// A function of a device (or of all: "*") answers otherwise:
//
//   fail nvmlDeviceGetPowerUsage gpu0 = 15
//   fail nvmlDeviceGetPowerUsage gpu0 = 15@3      the third call only; "@3+": from then on
//   block nvmlDeviceGetPowerUsage gpu0 = FIFO     until somebody opens the FIFO to write
//   note = nvmlDeviceGetPowerUsage                its calls are noted, too (see note())

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fake_nvml {

class Script {
 public:
  // The file as it is now.
  static Script read();

  [[nodiscard]] bool has(const std::string& key) const { return lines_.contains(key); }
  [[nodiscard]] std::string text(const std::string& key, const std::string& otherwise = "") const;
  [[nodiscard]] std::uint64_t number(const std::string& key, std::uint64_t otherwise = 0) const;
  // The blank-separated words of a line.
  [[nodiscard]] std::vector<std::string> words(const std::string& key) const;
  [[nodiscard]] std::vector<std::uint64_t> numbers(const std::string& key, std::size_t count) const;

  // Waits where the script says so; then 0, or the answer to give instead.
  [[nodiscard]] int fault(const std::string& function, const std::string& device) const;
  // Notes a call in the file beside the script, SCRIPT.calls: those of init and shutdown always.
  void note(const std::string& function) const;

 private:
  std::string path_;
  std::map<std::string, std::string> lines_;
};

// Numbers between colons: "4242:1024".
std::vector<std::uint64_t> split_numbers(const std::string& word);

}  // namespace fake_nvml
