# The interactive page (frontend/): made by node where this is a checkout; an sdist carries it made,
# so nobody else needs node. It goes into the Python package and, as bytes, into the room `view`.
set(page ${PROJECT_SOURCE_DIR}/python/jumper/frontend/page.html)
file(GLOB page_sources CONFIGURE_DEPENDS frontend/src/* frontend/build.mjs frontend/package-lock.json)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page_sources})

set(page_is_old OFF)
foreach(source IN LISTS page_sources)
  if(NOT EXISTS ${page} OR source IS_NEWER_THAN ${page})
    set(page_is_old ON)
  endif()
endforeach()
if(EXISTS ${PROJECT_SOURCE_DIR}/PKG-INFO AND EXISTS ${page})  # an sdist, whose files all have one time
  set(page_is_old OFF)
endif()
if(page_is_old)
  find_program(NODE NAMES node nodejs)
  find_program(NPM npm)
  if(NODE AND NPM)
    set(installed ${PROJECT_SOURCE_DIR}/frontend/node_modules/.package-lock.json)
    if(NOT EXISTS ${installed} OR ${PROJECT_SOURCE_DIR}/frontend/package-lock.json IS_NEWER_THAN ${installed})
      execute_process(COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund --loglevel=error
        WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}/frontend COMMAND_ERROR_IS_FATAL ANY)
    endif()
    file(MAKE_DIRECTORY ${PROJECT_SOURCE_DIR}/python/jumper/frontend)
    execute_process(COMMAND ${NODE} build.mjs ${page}
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}/frontend COMMAND_ERROR_IS_FATAL ANY)
  elseif(NOT EXISTS ${page})
    message(FATAL_ERROR "The interactive page is made by node and npm, which were not found; "
      "install them (scripts/apt-packages-node.txt), or build from an sdist, which carries the page.")
  endif()
endif()

# A program that writes a page has it in itself: a report needs no Python.
set(page_code ${PROJECT_BINARY_DIR}/page_template.cpp)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page})
if(NOT EXISTS ${page_code} OR ${page} IS_NEWER_THAN ${page_code})
  file(READ ${page} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  file(WRITE ${page_code} "#include \"view/page.hpp\"\n"
    "namespace view {\nnamespace {\nconstexpr unsigned char kPage[] = {${bytes}};\n}\n"
    "std::string_view page_template() noexcept {\n"
    "  return {reinterpret_cast<const char*>(kPage), sizeof(kPage)};\n}\n}\n")
endif()
target_sources(jumper_view PRIVATE ${page_code})

if(in_wheel)
  install(FILES ${page} DESTINATION jumper/frontend)
endif()
