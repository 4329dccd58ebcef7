# jumper._native, the border to Python (src/bind), and the kernelspec of the wheel.
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
  OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)

file(GLOB sources CONFIGURE_DEPENDS src/bind/*.cpp)
if(sources)
  nanobind_add_module(_native NB_STATIC NB_SUPPRESS_WARNINGS ${sources})
  target_link_libraries(_native PRIVATE ${rooms_left_of_bind} jumper_flags jumper_static)
  # --exclude-libs would leave libstdc++'s weak symbols to meet those of other modules.
  set(exports ${PROJECT_SOURCE_DIR}/cmake/module.map)
  target_link_options(_native PRIVATE -Wl,--version-script=${exports})
  set_target_properties(_native PROPERTIES LINK_DEPENDS ${exports})
endif()

if(in_wheel)
  if(sources)
    install(TARGETS _native DESTINATION jumper)
  endif()
  install(DIRECTORY share/kernelspec/ DESTINATION ${SKBUILD_DATA_DIR}/share/jupyter/kernels/jumper)
endif()
