# fuzz/<x>_fuzz.cpp defines LLVMFuzzerTestOneInput. With JUMPER_FUZZ it is a libFuzzer program; else
# the same code runs over fuzz/corpus/<x>/ as an ordinary test (fuzz/driver.cpp).
if(JUMPER_FUZZ AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "JUMPER_FUZZ needs clang (libFuzzer); this is ${CMAKE_CXX_COMPILER_ID}.")
endif()

file(GLOB fuzzers CONFIGURE_DEPENDS fuzz/*_fuzz.cpp)
foreach(source IN LISTS fuzzers)
  get_filename_component(name ${source} NAME_WE)
  string(REGEX REPLACE "_fuzz$" "" corpus ${name})
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE ${rooms_left} jumper_flags)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
  if(JUMPER_FUZZ)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(${name} PRIVATE fuzz/driver.cpp)
    add_test(NAME fuzz.${corpus} COMMAND ${name} ${PROJECT_SOURCE_DIR}/fuzz/corpus/${corpus})
    set_tests_properties(fuzz.${corpus} PROPERTIES
      LABELS short TIMEOUT 300 ENVIRONMENT "${sanitizer_environment}")
  endif()
endforeach()
