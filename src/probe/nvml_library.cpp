#include "probe/nvml_library.hpp"

#include <dlfcn.h>

namespace probe {

Nvml::Nvml(const std::string& library)
    : library_(::dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL)) {
  if (library_ == nullptr) {
    const char* text = ::dlerror();
    reason_ = text != nullptr ? text : "it can't be opened";
  }
  find_all();
}

Nvml::~Nvml() {
  if (library_ == nullptr) return;
  if (initialised_) shutdown_();
  ::dlclose(library_);
}

template <typename... Arguments>
void Nvml::find(NvmlFunction<Arguments...>& function, std::initializer_list<const char*> names) {
  function.name_ = *names.begin();
  if (library_ == nullptr) return;
  for (const char* name : names) {
    void* symbol = ::dlsym(library_, name);
    if (symbol == nullptr) continue;
    function.function_ = reinterpret_cast<typename NvmlFunction<Arguments...>::Pointer>(symbol);
    function.name_ = name;
    return;
  }
}

void Nvml::find_all() {
  find(init_, {"nvmlInit_v2", "nvmlInit"});
  find(shutdown_, {"nvmlShutdown"});
  find(count, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"});
  find(handle_by_index, {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"});
  find(device_name, {"nvmlDeviceGetName"});
  find(uuid, {"nvmlDeviceGetUUID"});
  find(pci_info, {"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo"});
  find(utilization, {"nvmlDeviceGetUtilizationRates"});
  find(memory, {"nvmlDeviceGetMemoryInfo"});
  find(memory_v2, {"nvmlDeviceGetMemoryInfo_v2"});
  find(power, {"nvmlDeviceGetPowerUsage"});
  find(energy, {"nvmlDeviceGetTotalEnergyConsumption"});
  find(sensor, {"nvmlDeviceGetTemperatureV"});
  find(temperature, {"nvmlDeviceGetTemperature"});
  find(clock, {"nvmlDeviceGetClockInfo"});
  find(throttle_reasons,
       {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  find(compute_processes,
       {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2",
        "nvmlDeviceGetComputeRunningProcesses"});
  find(graphics_processes,
       {"nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2",
        "nvmlDeviceGetGraphicsRunningProcesses"});
  find(process_samples, {"nvmlDeviceGetProcessUtilization"});
  find(mig_mode, {"nvmlDeviceGetMigMode"});
  find(most_slices, {"nvmlDeviceGetMaxMigDeviceCount"});
  find(slice_by_index, {"nvmlDeviceGetMigDeviceHandleByIndex"});
  find(gpu_instance, {"nvmlDeviceGetGpuInstanceId"});
  find(compute_instance, {"nvmlDeviceGetComputeInstanceId"});
}

nvml::Return Nvml::init() noexcept {
  const nvml::Return answer = init_();
  initialised_ = answer == nvml::kSuccess;
  return answer;
}

std::string words_of(nvml::Return answer) {
  switch (answer) {
    case nvml::kSuccess:
      return "no error";
    case nvml::kNotSupported:
      return "it isn't supported";
    case nvml::kNoPermission:
      return "it isn't permitted";
    case nvml::kDriverNotLoaded:
      return "the NVIDIA driver isn't loaded";
    case nvml::kTimeout:
      return "the driver didn't answer in time";
    case nvml::kFunctionNotFound:
      return "this version of the library has no such function";
    case nvml::kGpuIsLost:
      return "the card is lost: it has fallen off the bus or can't be reached";
    case nvml::kLibRmVersionMismatch:
      return "library and kernel module are of different versions (the driver was updated: a "
             "restart of the node helps)";
    case nvml::kNoData:
      return "the driver has no number for it";
    default:
      return "error " + std::to_string(static_cast<int>(answer));
  }
}

}  // namespace probe
