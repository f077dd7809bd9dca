# Build switches and the compile flags that every target of ours shares.
include(GNUInstallDirs)

option(OPTILE_TESTS "Build the tests" ON)
option(OPTILE_TOGETHER "Compile sources of a target several at a time: half of the work" OFF)
set(OPTILE_SANITIZE "" CACHE STRING
    "Sanitizers for everything but the shim: address,undefined or thread")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

# Most of the compiler's work is headers, and it has half of it so. Without, each source is compiled
# alone and shows whether it includes what it needs.
if(OPTILE_TOGETHER)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 24)
endif()

add_library(optile_flags INTERFACE)
target_include_directories(optile_flags INTERFACE
                           "${CMAKE_SOURCE_DIR}" "${CMAKE_BINARY_DIR}/generated")
target_compile_options(optile_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Werror
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual>)
# Lines for a backtrace; all else that a debugger could show takes a third of a build. `dev` has it.
target_compile_options(optile_flags INTERFACE $<$<CONFIG:RelWithDebInfo>:-g1>)

# The sanitizers are kept out of the shim: it lives in programs that were built without them.
add_library(optile_sanitize INTERFACE)
if(OPTILE_SANITIZE)
  # A little optimisation, and of debugging no more than lines: the tests take a third of the time.
  target_compile_options(optile_sanitize INTERFACE
    -fsanitize=${OPTILE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -O1 -g1)
  if(OPTILE_SANITIZE MATCHES "undefined" AND NOT OPTILE_FUZZ)
    # Before every access, up to 40 % of the compiler's work. AddressSanitizer ends a program that
    # uses a null pointer; what is not aligned comes from casts: see optile_pointer_checks.
    target_compile_options(optile_sanitize INTERFACE -fno-sanitize=null,alignment)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 warns of its own headers (std::regex and others) when it adds checks to them.
    target_compile_options(optile_sanitize INTERFACE -Wno-maybe-uninitialized)
  endif()
  target_link_options(optile_sanitize INTERFACE -fsanitize=${OPTILE_SANITIZE})
endif()

# Whether the launcher may have its libraries within itself: loading them takes longer than all that
# it does. Not every system has the C library so, and no sanitizer works with it.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_LINK_OPTIONS -static-pie)
check_cxx_source_compiles("#include <iostream>\nint main() { std::cout << 1; }" OPTILE_LINKS_STATIC)
unset(CMAKE_REQUIRED_LINK_OPTIONS)
if(OPTILE_LINKS_STATIC AND NOT OPTILE_SANITIZE)
  set(OPTILE_STATIC_LAUNCHER ON)
endif()

configure_file("${CMAKE_SOURCE_DIR}/cmake/version.h.in"
               "${CMAKE_BINARY_DIR}/generated/optile_version.h" @ONLY)

# What parses, prints and carries messages computes little, and is mostly templates, and so are the
# tests themselves: with sanitizers the compiler has half as much to do without optimisation, and
# the tests take hardly longer.
add_library(optile_quick_sanitize INTERFACE)
if(OPTILE_SANITIZE)
  target_compile_options(optile_quick_sanitize INTERFACE -O0)
endif()

# For what reads memory that others have filled, or makes pointers by casts: with these checks.
add_library(optile_pointer_checks INTERFACE)
if(OPTILE_SANITIZE MATCHES "undefined")
  target_compile_options(optile_pointer_checks INTERFACE -fsanitize=null,alignment)
endif()

# optile_add_library(NAME SOURCES... [DEPENDS libs...]): a static library of one folder.
function(optile_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC optile_flags optile_sanitize ${ARG_DEPENDS})
endfunction()
