"""Our declarations of NVML (src/probe/nvml.hpp) against those of NVIDIA's own Python package."""

import ctypes
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pynvml
import pytest

SOURCES = Path(__file__).resolve().parents[2] / "src"

# Our struct, theirs, and the names of the fields in the same order.
STRUCTS = {
    "Memory": (
        "c_nvmlMemory_t",
        {"total": "total", "free": "free", "used": "used"},
    ),
    "MemoryV2": (
        "c_nvmlMemory_v2_t",
        {
            "version": "version",
            "total": "total",
            "reserved": "reserved",
            "free": "free",
            "used": "used",
        },
    ),
    "Utilization": ("c_nvmlUtilization_t", {"gpu": "gpu", "memory": "memory"}),
    "PciInfo": (
        "nvmlPciInfo_t",
        {
            "bus_id_legacy": "busIdLegacy",
            "domain": "domain",
            "bus": "bus",
            "device": "device",
            "pci_device_id": "pciDeviceId",
            "pci_subsystem_id": "pciSubSystemId",
            "bus_id": "busId",
        },
    ),
    "ProcessInfo": (
        "c_nvmlProcessInfo_v3_t",
        {
            "pid": "pid",
            "used_memory": "usedGpuMemory",
            "gpu_instance": "gpuInstanceId",
            "compute_instance": "computeInstanceId",
        },
    ),
    "ProcessDetail": (
        "c_nvmlProcessDetail_v1_t",
        {
            "pid": "pid",
            "used_memory": "usedGpuMemory",
            "gpu_instance": "gpuInstanceId",
            "compute_instance": "computeInstanceId",
            "protected_memory": "usedGpuCcProtectedMemory",
        },
    ),
    "ProcessSample": (
        "c_nvmlProcessUtilizationSample_t",
        {
            "pid": "pid",
            "time_us": "timeStamp",
            "sm": "smUtil",
            "memory": "memUtil",
            "encoder": "encUtil",
            "decoder": "decUtil",
        },
    ),
    "Temperature": (
        "c_nvmlTemperature_v1_t",
        {"version": "version", "sensor": "sensorType", "celsius": "temperature"},
    ),
}

CONSTANTS = {
    "kSuccess": pynvml.NVML_SUCCESS,
    "kUninitialized": pynvml.NVML_ERROR_UNINITIALIZED,
    "kInvalidArgument": pynvml.NVML_ERROR_INVALID_ARGUMENT,
    "kNotSupported": pynvml.NVML_ERROR_NOT_SUPPORTED,
    "kNoPermission": pynvml.NVML_ERROR_NO_PERMISSION,
    "kNotFound": pynvml.NVML_ERROR_NOT_FOUND,
    "kInsufficientSize": pynvml.NVML_ERROR_INSUFFICIENT_SIZE,
    "kDriverNotLoaded": pynvml.NVML_ERROR_DRIVER_NOT_LOADED,
    "kTimeout": pynvml.NVML_ERROR_TIMEOUT,
    "kFunctionNotFound": pynvml.NVML_ERROR_FUNCTION_NOT_FOUND,
    "kGpuIsLost": pynvml.NVML_ERROR_GPU_IS_LOST,
    "kLibRmVersionMismatch": pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH,
    "kNoData": pynvml.NVML_ERROR_NO_DATA,
    "kArgumentVersionMismatch": pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH,
    "kDeprecated": pynvml.NVML_ERROR_DEPRECATED,
    "kGpuNotFound": pynvml.NVML_ERROR_GPU_NOT_FOUND,
    "kUnknown": pynvml.NVML_ERROR_UNKNOWN,
    "kTemperatureGpu": pynvml.NVML_TEMPERATURE_GPU,
    "kClockSm": pynvml.NVML_CLOCK_SM,
    "kClockMemory": pynvml.NVML_CLOCK_MEM,
    "kMigEnabled": pynvml.NVML_DEVICE_MIG_ENABLE,
    "kNameBytes": pynvml.NVML_DEVICE_NAME_V2_BUFFER_SIZE,
    "kUuidBytes": pynvml.NVML_DEVICE_UUID_V2_BUFFER_SIZE,
    "kNoNumber32": pynvml.NVML_VALUE_NOT_AVAILABLE_uint.value,
    "kNoNumber64": pynvml.NVML_VALUE_NOT_AVAILABLE_ulonglong.value,
    "MemoryV2{}.version": pynvml.nvmlMemory_v2,
    "Temperature{}.version": pynvml.nvmlTemperature_v1,
}


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    """What a C++ program makes of our header: {expression: number}."""
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")
    if compiler is None or not SOURCES.exists():
        pytest.skip("needs a C++ compiler and the sources")
    expressions = [*CONSTANTS]
    for name, (_, fields) in STRUCTS.items():
        expressions.append(f"sizeof({name})")
        for field in fields:
            expressions += [f"offsetof({name}, {field})", f"sizeof({name}::{field})"]
    folder = tmp_path_factory.mktemp("layout")
    prints = "\n".join(
        f'  std::printf("%s\\"%s\\": %llu", "{"," if i else ""}", "{expression}",'
        f" static_cast<unsigned long long>({expression}));"
        for i, expression in enumerate(expressions)
    )
    (folder / "layout.cpp").write_text(
        "#include <cstdio>\n"
        '#include "probe/nvml.hpp"\n'
        "using namespace probe::nvml;\n"
        f'int main() {{\n  std::puts("{{");\n{prints}\n  std::puts("}}");\n}}\n'
    )
    program = folder / "layout"
    subprocess.run(
        [*compiler.split(), "-std=c++20", f"-I{SOURCES}", folder / "layout.cpp", "-o", program],
        check=True,
    )
    return json.loads(subprocess.run([program], check=True, capture_output=True, text=True).stdout)


@pytest.mark.parametrize("name", CONSTANTS)
def test_a_constant_is_nvidias(ours, name):
    assert ours[name] == CONSTANTS[name]


@pytest.mark.parametrize("name", STRUCTS)
def test_a_struct_lies_in_memory_as_nvidias_does(ours, name):
    theirs_name, fields = STRUCTS[name]
    theirs = getattr(pynvml, theirs_name)
    assert ours[f"sizeof({name})"] == ctypes.sizeof(theirs)
    assert list(fields.values()) == [field[0] for field in theirs._fields_]
    for our_field, their_field in fields.items():
        described = getattr(theirs, their_field)
        assert ours[f"offsetof({name}, {our_field})"] == described.offset, our_field
        assert ours[f"sizeof({name}::{our_field})"] == described.size, our_field


def test_the_functions_have_nvidias_names():
    """All but those of old drivers and nvmlInit_v2, which the package doesn't call."""
    text = (SOURCES / "probe" / "nvml_library.cpp").read_text()
    names = set(re.findall(r'"(nvml\w+)"', text))
    theirs = set(re.findall(r'"(nvml\w+)"', Path(pynvml.__file__).read_text()))
    assert names - theirs == {
        "nvmlInit",
        "nvmlInit_v2",
        "nvmlDeviceGetCount",
        "nvmlDeviceGetHandleByIndex",
        "nvmlDeviceGetPciInfo",
        "nvmlDeviceGetPciInfo_v2",
        "nvmlDeviceGetComputeRunningProcesses",
        "nvmlDeviceGetGraphicsRunningProcesses",
    }
