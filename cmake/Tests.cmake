# tests/native/<room>/*_test.cpp: one GoogleTest program per room; *_long_test.cpp: another one, label `long`.
find_package(GTest REQUIRED)
include(GoogleTest)
set(CMAKE_GTEST_DISCOVER_TESTS_DISCOVERY_MODE PRE_TEST)

# Each test says what it found, then stops: a report that doesn't fail is read by nobody.
set(sanitizer_environment
  "ASAN_OPTIONS=strict_string_checks=1:detect_stack_use_after_return=1"
  "UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1"
  "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1")

# A test in a folder that is no room would never run.
file(GLOB folders CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/tests/native tests/native/*/*_test.cpp)
foreach(file IN LISTS folders)
  get_filename_component(folder ${file} DIRECTORY)
  if(NOT folder IN_LIST rooms)
    message(FATAL_ERROR "tests/native/${file}: '${folder}' is no room of src/README.md's table.")
  endif()
endforeach()

function(jumper_add_tests name room label)
  if(NOT ARGN)
    return()
  endif()
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE jumper_${room} jumper_flags GTest::gmock GTest::gtest_main)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/native)
  target_compile_definitions(${name} PRIVATE JUMPER_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
  if(TARGET jumper)
    add_dependencies(${name} jumper)
    target_compile_definitions(${name} PRIVATE JUMPER_PROGRAM="$<TARGET_FILE:jumper>")
  endif()
  gtest_discover_tests(${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} TEST_PREFIX "${room}."
    PROPERTIES LABELS "${label}" TIMEOUT 300 ENVIRONMENT "${sanitizer_environment}")
endfunction()

foreach(room IN LISTS rooms)
  file(GLOB sources CONFIGURE_DEPENDS tests/native/${room}/*.cpp)
  set(long_sources ${sources})
  list(FILTER sources EXCLUDE REGEX "_long_test\\.cpp$")
  list(FILTER long_sources INCLUDE REGEX "_long_test\\.cpp$")
  jumper_add_tests(${room}_tests ${room} short ${sources})
  jumper_add_tests(${room}_long_tests ${room} long ${long_sources})
endforeach()
