# jumper_flags: what every target of ours is compiled with.
find_package(fmt REQUIRED)
find_package(Threads REQUIRED)

# The wheels of three Python versions compile the same rooms: with ccache only the first one pays.
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
endif()

add_library(jumper_flags INTERFACE)
target_include_directories(jumper_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
# Debian has no libfmt.a, and the shared one would be one more thing to find at run time.
target_link_libraries(jumper_flags INTERFACE fmt::fmt-header-only Threads::Threads)
target_compile_definitions(jumper_flags INTERFACE JUMPER_VERSION="${PROJECT_VERSION}")
target_compile_options(jumper_flags INTERFACE
  -Wall -Wextra -Wconversion
  -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=  # nobody's paths in the binaries
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>    # false in g++ 12 -O3 on "x" + string
  $<$<CXX_COMPILER_ID:Clang>:-Wno-sign-conversion>)  # g++'s -Wconversion doesn't mean it either
if(JUMPER_WERROR)
  target_compile_options(jumper_flags INTERFACE -Werror)
endif()
if(JUMPER_FAILPOINTS)
  target_compile_definitions(jumper_flags INTERFACE JUMPER_FAILPOINTS=1)
endif()
if(JUMPER_SANITIZE)
  set(sanitize -fsanitize=${JUMPER_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(jumper_flags INTERFACE ${sanitize})
  target_link_options(jumper_flags INTERFACE ${sanitize})
endif()

# What leaves this machine must not depend on the user's libstdc++ (an older one of a conda
# environment, say). Sanitizers need the shared libraries.
add_library(jumper_static INTERFACE)
if(NOT JUMPER_SANITIZE)
  target_link_options(jumper_static INTERFACE -static-libstdc++ -static-libgcc)
endif()
