# Build switches and the compile flags that every target of ours shares.
include(GNUInstallDirs)

option(OPTILE_TESTS "Build the tests" ON)
set(OPTILE_SANITIZE "" CACHE STRING
    "Sanitizers for everything but the shim: address,undefined or thread")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

add_library(optile_flags INTERFACE)
target_include_directories(optile_flags INTERFACE
                           "${CMAKE_SOURCE_DIR}" "${CMAKE_BINARY_DIR}/generated")
target_compile_options(optile_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Werror
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual>)

# The sanitizers are kept out of the shim: it lives in programs that were built without them.
add_library(optile_sanitize INTERFACE)
if(OPTILE_SANITIZE)
  target_compile_options(optile_sanitize INTERFACE
    -fsanitize=${OPTILE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(optile_sanitize INTERFACE -fsanitize=${OPTILE_SANITIZE})
endif()

configure_file("${CMAKE_SOURCE_DIR}/cmake/version.h.in"
               "${CMAKE_BINARY_DIR}/generated/optile_version.h" @ONLY)

# With sanitizers the compiler gets several sources of this target at a time: most of its work is
# headers, and it has half of it then. Without, each is compiled alone and includes what it needs.
function(optile_compile_together target)
  if(OPTILE_SANITIZE)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

# optile_add_library(NAME SOURCES... [DEPENDS libs...]): a static library of one folder.
function(optile_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC optile_flags optile_sanitize ${ARG_DEPENDS})
endfunction()
