#pragma once
// NVIDIA's management library, opened at run time. All calls from one thread; each may block for as
// long as the driver does.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "probe/nvml.hpp"
#include "record/value.hpp"

namespace probe {

// One function of the library. A library without it answers kFunctionNotFound.
template <typename... Arguments>
class NvmlFunction {
 public:
  nvml::Return operator()(Arguments... arguments) const noexcept {
    return function_ == nullptr ? nvml::kFunctionNotFound : function_(arguments...);
  }
  // The symbol that is called, or would have been.
  [[nodiscard]] std::string_view name() const noexcept { return name_; }

 private:
  friend class Nvml;
  using Pointer = nvml::Return (*)(Arguments...);
  Pointer function_ = nullptr;
  std::string_view name_;
};

class Nvml {
 public:
  static constexpr const char* kLibrary = "libnvidia-ml.so.1";

  // dlopen(3) of `library`: a bare name is looked for where the system keeps libraries, never in
  // the current folder.
  explicit Nvml(const std::string& library);
  // Shuts down what was initialised, closes the library.
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  [[nodiscard]] bool loaded() const noexcept { return library_ != nullptr; }
  // Why it isn't: the loader's words.
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

  // Once, before all others.
  nvml::Return init() noexcept;

  NvmlFunction<std::uint32_t*> count;
  NvmlFunction<std::uint32_t, nvml::Device*> handle_by_index;
  NvmlFunction<nvml::Device, char*, std::uint32_t> device_name;
  NvmlFunction<nvml::Device, char*, std::uint32_t> uuid;
  NvmlFunction<nvml::Device, nvml::PciInfo*> pci_info;
  NvmlFunction<nvml::Device, nvml::Utilization*> utilization;
  NvmlFunction<nvml::Device, nvml::Memory*> memory;
  NvmlFunction<nvml::Device, nvml::MemoryV2*> memory_v2;
  NvmlFunction<nvml::Device, std::uint32_t*> power;       // milliwatts
  NvmlFunction<nvml::Device, std::uint64_t*> energy;      // millijoules since the driver came
  NvmlFunction<nvml::Device, nvml::Temperature*> sensor;  // the newer way
  NvmlFunction<nvml::Device, std::uint32_t, std::uint32_t*> temperature;
  NvmlFunction<nvml::Device, std::uint32_t, std::uint32_t*> clock;  // MHz
  NvmlFunction<nvml::Device, std::uint64_t*> throttle_reasons;
  // In: how many entries fit; out: how many there are. The entries' size differs between drivers.
  NvmlFunction<nvml::Device, std::uint32_t*, void*> compute_processes;
  NvmlFunction<nvml::Device, std::uint32_t*, void*> graphics_processes;
  NvmlFunction<nvml::Device, nvml::ProcessSample*, std::uint32_t*, std::uint64_t> process_samples;
  NvmlFunction<nvml::Device, std::uint32_t*, std::uint32_t*> mig_mode;  // now, after a reset
  NvmlFunction<nvml::Device, std::uint32_t*> most_slices;
  NvmlFunction<nvml::Device, std::uint32_t, nvml::Device*> slice_by_index;
  NvmlFunction<nvml::Device, std::uint32_t*> gpu_instance;
  NvmlFunction<nvml::Device, std::uint32_t*> compute_instance;

 private:
  // Newest name first.
  template <typename... Arguments>
  void find(NvmlFunction<Arguments...>& function, std::initializer_list<const char*> names);
  void find_all();

  void* library_ = nullptr;
  bool initialised_ = false;
  std::string reason_;
  NvmlFunction<> init_;
  NvmlFunction<> shutdown_;
};

// What a value is when the driver answers so.
constexpr record::State state_of(nvml::Return answer) noexcept {
  switch (answer) {
    case nvml::kSuccess:
      return record::State::kMeasured;
    case nvml::kNotSupported:
    case nvml::kFunctionNotFound:
    case nvml::kArgumentVersionMismatch:
    case nvml::kDeprecated:
      return record::State::kNotSupported;
    case nvml::kNoPermission:
      return record::State::kNotPermitted;
    case nvml::kGpuIsLost:
    case nvml::kGpuNotFound:
      return record::State::kVanished;
    default:
      return record::State::kNotYet;
  }
}

// True for answers that are about the driver, not about a card: it must be initialised again.
constexpr bool is_driver_gone(nvml::Return answer) noexcept {
  return answer == nvml::kUninitialized || answer == nvml::kDriverNotLoaded ||
         answer == nvml::kLibRmVersionMismatch;
}

// For people: "the driver isn't loaded", "error 999".
std::string words_of(nvml::Return answer);

}  // namespace probe
