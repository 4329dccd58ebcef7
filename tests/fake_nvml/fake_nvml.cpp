// A library with the names of NVML's that answers as a script says (script.hpp). Built three times:
// as of today, FAKE_NVML_OLD (a driver of 2014: no versions, MIG, energy or utilisation of
// processes) and FAKE_NVML_BARE (hardly any function).

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <string>

#include "probe/nvml.hpp"
#include "script.hpp"

#define FAKE extern "C" __attribute__((visibility("default")))

namespace {

using fake_nvml::Script;
using namespace probe::nvml;

std::atomic<std::uint64_t> loaded{0};  // the driver's number at nvmlInit; 0: not initialised

std::uint64_t driver_of(const Script& script) { return script.number("load", 1); }

// Handles are no pointers: 1 + card * 256 + (slice + 1).
Device handle_of(std::uint32_t card, int slice) {
  return reinterpret_cast<Device>(std::uintptr_t{1} + card * 256 +
                                  static_cast<std::uintptr_t>(slice + 1));
}

std::string name_of(Device device) {
  const auto number = reinterpret_cast<std::uintptr_t>(device) - 1;
  std::string name = "gpu" + std::to_string(number / 256);
  if (number % 256 > 0) name += "_mig" + std::to_string(number % 256 - 1);
  return name;
}

// Runs `answer(script, "gpu0")` unless the driver is gone or the script says otherwise.
template <typename Answer>
Return answered(const char* function, Device device, Answer answer) {
  const Script script = Script::read();
  const std::string name = device == nullptr ? "-" : name_of(device);
  if (script.text("note") == function) script.note(function);
  const int fault = script.fault(function, name);
  if (fault != 0) return static_cast<Return>(fault);
  if (loaded == 0 || loaded != driver_of(script)) return kUninitialized;
  return answer(script, name);
}

template <typename Number>
[[maybe_unused]] Return one_number(const char* function, Device device, const char* key,
                                   Number* number) {
  return answered(function, device, [&](const Script& script, const std::string& name) {
    const std::string full = name + "." + key;
    if (!script.has(full)) return kNotSupported;
    *number = static_cast<Number>(script.number(full));
    return kSuccess;
  });
}

// As the real ones do: cut, and then without an end.
[[maybe_unused]] Return one_text(const char* function, Device device, const char* key, char* text,
                                 std::uint32_t size) {
  return answered(function, device, [&](const Script& script, const std::string& name) {
    const std::string full = name + "." + key;
    if (!script.has(full)) return kNotSupported;
    ::strncpy(text, script.text(full).c_str(), size);
    return kSuccess;
  });
}

Return init(const char* function) {
  const Script script = Script::read();
  script.note(function);
  const int fault = script.fault(function, "-");
  if (fault != 0) return static_cast<Return>(fault);
  loaded = driver_of(script);
  return kSuccess;
}

Return count(const char* function, std::uint32_t* number) {
  return answered(function, nullptr, [&](const Script& script, const std::string&) {
    *number = static_cast<std::uint32_t>(script.number("cards"));
    return kSuccess;
  });
}

Return handle(const char* function, std::uint32_t index, Device* device) {
  return answered(function, handle_of(index, -1), [&](const Script& script, const std::string&) {
    if (index >= script.number("cards")) return kInvalidArgument;
    *device = handle_of(index, -1);
    return kSuccess;
  });
}

[[maybe_unused]] Return processes(const char* function, Device device, const char* key,
                                  std::size_t entry_bytes, std::uint32_t* number, void* entries) {
  return answered(function, device, [&](const Script& script, const std::string& name) {
    const auto words = script.words(name + "." + key);
    const auto room = *number;
    *number = static_cast<std::uint32_t>(script.number(name + "." + key + "_count", words.size()));
    if (words.size() > room) return kInsufficientSize;
    const std::size_t bytes = script.number("entry_bytes", entry_bytes);
    if (script.has("clears_entries")) ::memset(entries, 0, room * bytes);
    auto* at = static_cast<char*>(entries);
    for (const auto& word : words) {
      auto numbers = fake_nvml::split_numbers(word);
      if (numbers.size() < 4) numbers.resize(4, UINT64_MAX);  // no MIG: all ones
      const ProcessDetail entry{static_cast<std::uint32_t>(numbers[0]), numbers[1],
                                static_cast<std::uint32_t>(numbers[2]),
                                static_cast<std::uint32_t>(numbers[3]), 0};
      ::memcpy(at, &entry, std::min(bytes, sizeof entry));
      at += bytes;
    }
    return kSuccess;
  });
}

}  // namespace

// ---- every version ----

FAKE Return nvmlShutdown() {
  Script::read().note("nvmlShutdown");
  loaded = 0;
  return kSuccess;
}

#ifdef FAKE_NVML_OLD

FAKE Return nvmlInit() { return init("nvmlInit"); }
FAKE Return nvmlDeviceGetCount(std::uint32_t* number) {
  return count("nvmlDeviceGetCount", number);
}
FAKE Return nvmlDeviceGetHandleByIndex(std::uint32_t index, Device* device) {
  return handle("nvmlDeviceGetHandleByIndex", index, device);
}

#else

FAKE Return nvmlInit_v2() { return init("nvmlInit_v2"); }
FAKE Return nvmlDeviceGetCount_v2(std::uint32_t* number) {
  return count("nvmlDeviceGetCount_v2", number);
}
FAKE Return nvmlDeviceGetHandleByIndex_v2(std::uint32_t index, Device* device) {
  return handle("nvmlDeviceGetHandleByIndex_v2", index, device);
}

#endif

#ifndef FAKE_NVML_BARE

// ---- today and in 2014 ----

FAKE Return nvmlDeviceGetName(Device device, char* text, std::uint32_t size) {
  return one_text("nvmlDeviceGetName", device, "name", text, size);
}
FAKE Return nvmlDeviceGetUUID(Device device, char* text, std::uint32_t size) {
  return one_text("nvmlDeviceGetUUID", device, "uuid", text, size);
}
FAKE Return nvmlDeviceGetUtilizationRates(Device device, Utilization* busy) {
  return answered("nvmlDeviceGetUtilizationRates", device,
                  [&](const Script& script, const std::string& name) {
                    if (!script.has(name + ".utilization")) return kNotSupported;
                    const auto numbers = script.numbers(name + ".utilization", 2);
                    busy->gpu = static_cast<std::uint32_t>(numbers[0]);
                    busy->memory = static_cast<std::uint32_t>(numbers[1]);
                    return kSuccess;
                  });
}
FAKE Return nvmlDeviceGetMemoryInfo(Device device, Memory* memory) {
  return answered("nvmlDeviceGetMemoryInfo", device,
                  [&](const Script& script, const std::string& name) {
                    if (!script.has(name + ".memory")) return kNotSupported;
                    const auto numbers = script.numbers(name + ".memory", 3);
                    memory->total = numbers[0];
                    memory->used = numbers[1] + numbers[2];
                    memory->free = numbers[0] - memory->used;
                    return kSuccess;
                  });
}
FAKE Return nvmlDeviceGetPowerUsage(Device device, std::uint32_t* milliwatts) {
  return one_number("nvmlDeviceGetPowerUsage", device, "power", milliwatts);
}
FAKE Return nvmlDeviceGetTemperature(Device device, std::uint32_t, std::uint32_t* celsius) {
  return one_number("nvmlDeviceGetTemperature", device, "temperature", celsius);
}
FAKE Return nvmlDeviceGetClockInfo(Device device, std::uint32_t clock, std::uint32_t* megahertz) {
  return one_number("nvmlDeviceGetClockInfo", device,
                    clock == kClockMemory ? "memory_clock" : "sm_clock", megahertz);
}
FAKE Return nvmlDeviceGetCurrentClocksThrottleReasons(Device device, std::uint64_t* mask) {
  return one_number("nvmlDeviceGetCurrentClocksThrottleReasons", device, "throttle", mask);
}

#ifdef FAKE_NVML_OLD

FAKE Return nvmlDeviceGetPciInfo(Device device, PciInfo* pci) {
  return answered("nvmlDeviceGetPciInfo", device,
                  [&](const Script& script, const std::string& name) {
                    pci->bus = static_cast<std::uint32_t>(script.numbers(name + ".bus", 3)[1]);
                    return kSuccess;
                  });
}
FAKE Return nvmlDeviceGetComputeRunningProcesses(Device device, std::uint32_t* number,
                                                 void* entries) {
  return processes("nvmlDeviceGetComputeRunningProcesses", device, "compute", sizeof(ProcessInfoV1),
                   number, entries);
}

#else

// ---- today ----

FAKE Return nvmlDeviceGetPciInfo_v3(Device device, PciInfo* pci) {
  return answered("nvmlDeviceGetPciInfo_v3", device,
                  [&](const Script& script, const std::string& name) {
                    const auto numbers = script.numbers(name + ".bus", 3);
                    pci->domain = static_cast<std::uint32_t>(numbers[0]);
                    pci->bus = static_cast<std::uint32_t>(numbers[1]);
                    pci->device = static_cast<std::uint32_t>(numbers[2]);
                    return kSuccess;
                  });
}
FAKE Return nvmlDeviceGetMemoryInfo_v2(Device device, MemoryV2* memory) {
  return answered("nvmlDeviceGetMemoryInfo_v2", device,
                  [&](const Script& script, const std::string& name) {
                    if (memory->version != 0x02000028) return kArgumentVersionMismatch;
                    if (!script.has(name + ".memory")) return kNotSupported;
                    const auto numbers = script.numbers(name + ".memory", 3);
                    memory->total = numbers[0];
                    memory->used = numbers[1];
                    memory->reserved = numbers[2];
                    memory->free = numbers[0] - numbers[1] - numbers[2];
                    return kSuccess;
                  });
}
FAKE Return nvmlDeviceGetTotalEnergyConsumption(Device device, std::uint64_t* millijoules) {
  return one_number("nvmlDeviceGetTotalEnergyConsumption", device, "energy", millijoules);
}
FAKE Return nvmlDeviceGetTemperatureV(Device device, Temperature* temperature) {
  if (temperature->version != 0x0100000c) return kArgumentVersionMismatch;
  std::uint64_t celsius = 0;
  const Return answer = one_number("nvmlDeviceGetTemperatureV", device, "temperature", &celsius);
  temperature->celsius = static_cast<std::int32_t>(celsius);
  return answer;
}
FAKE Return nvmlDeviceGetCurrentClocksEventReasons(Device device, std::uint64_t* mask) {
  return one_number("nvmlDeviceGetCurrentClocksEventReasons", device, "throttle", mask);
}
FAKE Return nvmlDeviceGetComputeRunningProcesses_v3(Device device, std::uint32_t* number,
                                                    void* entries) {
  return processes("nvmlDeviceGetComputeRunningProcesses_v3", device, "compute",
                   sizeof(ProcessInfo), number, entries);
}
FAKE Return nvmlDeviceGetGraphicsRunningProcesses_v3(Device device, std::uint32_t* number,
                                                     void* entries) {
  return processes("nvmlDeviceGetGraphicsRunningProcesses_v3", device, "graphics",
                   sizeof(ProcessInfo), number, entries);
}
FAKE Return nvmlDeviceGetProcessUtilization(Device device, ProcessSample* samples,
                                            std::uint32_t* number, std::uint64_t since_us) {
  const auto answer = [&](const Script& script, const std::string& name) {
    const auto words = script.words(name + ".samples");
    const auto room = *number;
    *number = static_cast<std::uint32_t>(script.number(name + ".samples_count", words.size()));
    if (words.empty()) return kNotFound;
    if (words.size() > room) return kInsufficientSize;
    for (const auto& word : words) {
      const auto numbers = fake_nvml::split_numbers(word);
      samples->pid = static_cast<std::uint32_t>(numbers[0]);
      samples->sm = static_cast<std::uint32_t>(numbers[1]);
      samples->time_us = since_us + (numbers.size() > 2 ? numbers[2] : 1);
      ++samples;
    }
    return kSuccess;
  };
  return answered("nvmlDeviceGetProcessUtilization", device, answer);
}
FAKE Return nvmlDeviceGetMigMode(Device device, std::uint32_t* mode, std::uint32_t* later) {
  return answered("nvmlDeviceGetMigMode", device,
                  [&](const Script& script, const std::string& name) {
                    *mode = *later = script.has(name + ".mig") ? kMigEnabled : 0;
                    return kSuccess;
                  });
}
FAKE Return nvmlDeviceGetMaxMigDeviceCount(Device device, std::uint32_t* most) {
  return answered("nvmlDeviceGetMaxMigDeviceCount", device,
                  [&](const Script& script, const std::string&) {
                    *most = static_cast<std::uint32_t>(script.number("most_slices", 7));
                    return kSuccess;
                  });
}
FAKE Return nvmlDeviceGetMigDeviceHandleByIndex(Device device, std::uint32_t index, Device* slice) {
  return answered("nvmlDeviceGetMigDeviceHandleByIndex", device,
                  [&](const Script& script, const std::string& name) {
                    const auto slices = script.words(name + ".mig");
                    if (std::ranges::find(slices, std::to_string(index)) == slices.end()) {
                      return kNotFound;
                    }
                    const auto card = (reinterpret_cast<std::uintptr_t>(device) - 1) / 256;
                    *slice = handle_of(static_cast<std::uint32_t>(card), static_cast<int>(index));
                    return kSuccess;
                  });
}
FAKE Return nvmlDeviceGetGpuInstanceId(Device device, std::uint32_t* number) {
  return answered("nvmlDeviceGetGpuInstanceId", device,
                  [&](const Script& script, const std::string& name) {
                    *number = static_cast<std::uint32_t>(script.numbers(name + ".instances", 2)[0]);
                    return kSuccess;
                  });
}
FAKE Return nvmlDeviceGetComputeInstanceId(Device device, std::uint32_t* number) {
  return answered("nvmlDeviceGetComputeInstanceId", device,
                  [&](const Script& script, const std::string& name) {
                    *number = static_cast<std::uint32_t>(script.numbers(name + ".instances", 2)[1]);
                    return kSuccess;
                  });
}

#endif
#endif
