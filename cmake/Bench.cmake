# benchmarks/native/*.cpp: one google/benchmark program, jumper_bench.
find_package(benchmark REQUIRED)
file(GLOB sources CONFIGURE_DEPENDS benchmarks/native/*.cpp)
if(sources)
  add_executable(jumper_bench ${sources})
  target_link_libraries(jumper_bench PRIVATE ${rooms_left} jumper_flags benchmark::benchmark_main)
  set_target_properties(jumper_bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endif()
