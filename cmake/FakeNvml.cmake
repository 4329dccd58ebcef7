# tests/fake_nvml: NVML as a script says, for the tests of probe. Each version lies in a folder of
# its own under the real library's name: fake_nvml/{today,old,bare}/libnvidia-ml.so.1.
foreach(version today old bare)
  set(target fake_nvml_${version})
  string(TOUPPER FAKE_NVML_${version} definition)
  add_library(${target} SHARED tests/fake_nvml/fake_nvml.cpp tests/fake_nvml/script.cpp)
  target_link_libraries(${target} PRIVATE jumper_flags)
  target_compile_definitions(${target} PRIVATE ${definition})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME nvidia-ml SUFFIX .so.1
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fake_nvml/${version})
  add_dependencies(probe_tests ${target})
endforeach()
target_compile_definitions(probe_tests PRIVATE JUMPER_FAKE_NVML_FOLDER="${PROJECT_BINARY_DIR}/fake_nvml")
