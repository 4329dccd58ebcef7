#pragma once
// The part of NVML's C interface that is used here, declared by ourselves: no header of NVIDIA's is
// needed to build, and the library is looked for at run time (nvml_library.hpp). Names, numbers and
// layouts are those of the "NVML API Reference Manual"; tests/python/test_nvml_declarations.py
// compares them with the declarations of NVIDIA's own Python package.

#include <cstddef>
#include <cstdint>

namespace probe::nvml {

// nvmlReturn_t. The driver may answer with others.
enum Return : int {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNoPermission = 4,
  kNotFound = 6,
  kInsufficientSize = 7,
  kDriverNotLoaded = 9,
  kTimeout = 10,
  kFunctionNotFound = 13,
  kGpuIsLost = 15,
  kLibRmVersionMismatch = 18,
  kNoData = 21,
  kArgumentVersionMismatch = 25,
  kDeprecated = 26,
  kGpuNotFound = 28,
  kUnknown = 999,
};

// nvmlDevice_t: a card, or a MIG slice of one.
struct DeviceOfDriver;
using Device = DeviceOfDriver*;

inline constexpr std::uint32_t kTemperatureGpu = 0;  // NVML_TEMPERATURE_GPU
inline constexpr std::uint32_t kClockSm = 1;         // NVML_CLOCK_SM
inline constexpr std::uint32_t kClockMemory = 2;     // NVML_CLOCK_MEM
inline constexpr std::uint32_t kMigEnabled = 1;      // NVML_DEVICE_MIG_ENABLE
inline constexpr std::size_t kNameBytes = 96;        // NVML_DEVICE_NAME_V2_BUFFER_SIZE
inline constexpr std::size_t kUuidBytes = 96;        // NVML_DEVICE_UUID_V2_BUFFER_SIZE
// NVML_VALUE_NOT_AVAILABLE: a number that the driver doesn't have.
inline constexpr std::uint32_t kNoNumber32 = UINT32_MAX;
inline constexpr std::uint64_t kNoNumber64 = UINT64_MAX;

// Structs that may grow say in their first field what the caller knows of them.
template <typename Struct>
constexpr std::uint32_t version_of(std::uint32_t version) noexcept {
  return static_cast<std::uint32_t>(sizeof(Struct)) | version << 24;
}

// nvmlMemory_t, bytes. `used` holds what the driver has reserved for itself, too.
struct Memory {
  std::uint64_t total = 0;
  std::uint64_t free = 0;
  std::uint64_t used = 0;
};

// nvmlMemory_v2_t (from driver 510 on): `used` is what was allocated.
struct MemoryV2 {
  std::uint32_t version = version_of<MemoryV2>(2);
  std::uint64_t total = 0;
  std::uint64_t reserved = 0;
  std::uint64_t free = 0;
  std::uint64_t used = 0;
};

// nvmlUtilization_t: per cent of the last sample period (a sixth of a second to a second) in which
// a kernel ran; in which memory was read or written.
struct Utilization {
  std::uint32_t gpu = 0;
  std::uint32_t memory = 0;
};

// nvmlPciInfo_t (_v3). Up to pci_subsystem_id the older ones are the same, and shorter.
struct PciInfo {
  char bus_id_legacy[16] = {};
  std::uint32_t domain = 0;
  std::uint32_t bus = 0;
  std::uint32_t device = 0;
  std::uint32_t pci_device_id = 0;
  std::uint32_t pci_subsystem_id = 0;
  char bus_id[32] = {};
};

// nvmlProcessInfo_v1_t, and what _v2 and _v3 of the functions should fill in. (Some drivers of the
// 535 series fill in ProcessDetail for _v3, against the manual.)
struct ProcessInfoV1 {
  std::uint32_t pid = 0;
  std::uint64_t used_memory = 0;
};
struct ProcessInfo {
  std::uint32_t pid = 0;
  std::uint64_t used_memory = 0;
  std::uint32_t gpu_instance = 0;  // MIG: all ones where there is none
  std::uint32_t compute_instance = 0;
};
struct ProcessDetail {  // nvmlProcessDetail_v1_t
  std::uint32_t pid = 0;
  std::uint64_t used_memory = 0;
  std::uint32_t gpu_instance = 0;
  std::uint32_t compute_instance = 0;
  std::uint64_t protected_memory = 0;
};

// nvmlProcessUtilizationSample_t: one for each process that was busy. Time: us since 1970.
struct ProcessSample {
  std::uint32_t pid = 0;
  std::uint64_t time_us = 0;
  std::uint32_t sm = 0;  // per cent
  std::uint32_t memory = 0;
  std::uint32_t encoder = 0;
  std::uint32_t decoder = 0;
};

// nvmlTemperature_v1_t.
struct Temperature {
  std::uint32_t version = version_of<Temperature>(1);
  std::uint32_t sensor = kTemperatureGpu;
  std::int32_t celsius = 0;
};

}  // namespace probe::nvml
