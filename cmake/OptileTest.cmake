include(GoogleTest)

# Debian's Python: the one that has PyTorch, whatever else is called python3 on the PATH.
set(OPTILE_PYTHON /usr/bin/python3 CACHE FILEPATH "Python that runs the tests written in it")

# Everything labelled `unit`, for builds that want only those (the sanitizers).
add_custom_target(unit_tests)

# What CTest begins with: tests that take moments, before those that keep cores busy for minutes.
set(OPTILE_QUICK_COST 3000)

# What holds a program to one thread, in a target of its own: it is compiled once, and alone.
add_library(optile_one_thread OBJECT "${CMAKE_SOURCE_DIR}/tests/one_thread.cc")
target_link_libraries(optile_one_thread PRIVATE optile_flags)

# optile_add_shards(NAME LABELS label ... TIMEOUT seconds): a program's tests, in a few processes.
# Under AddressSanitizer a process takes longer to start than most tests take.
function(optile_add_shards name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "LABELS" ${ARGN})
  set(shards 4)
  math(EXPR last "${shards} - 1")
  math(EXPR timeout "${shards} * ${ARG_TIMEOUT}")
  foreach(shard RANGE ${last})
    add_test(NAME ${name}.${shard} COMMAND ${name} --gtest_brief=1)
    set_tests_properties(${name}.${shard} PROPERTIES
      LABELS "${ARG_LABELS}" TIMEOUT ${timeout} COST ${OPTILE_QUICK_COST}
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard}")
  endforeach()
endfunction()

# optile_add_test(NAME SOURCES a.cc ... [LIBS lib ...] [LABELS label ...] [TIMEOUT seconds]
#                 [DEFINITIONS name=value ...] [ONE_THREAD] [SIMULATION])
# One GoogleTest program. Each of its tests is a CTest test called NAME.Suite.Test, so that a
# skipped one is counted and names its reason; with AddressSanitizer they are in shards. The labels
# choose where it runs. ONE_THREAD: it starts none and is held to that; ThreadSanitizer's suite goes
# without it. SIMULATION: it computes for long itself, so it is optimised under the sanitizers too.
function(optile_add_test name)
  cmake_parse_arguments(ARG "ONE_THREAD;SIMULATION" "TIMEOUT" "SOURCES;LIBS;LABELS;DEFINITIONS"
                        ${ARGN})
  if(ARG_ONE_THREAD AND OPTILE_SANITIZE STREQUAL "thread")
    return()
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_compile_definitions(${name} PRIVATE ${ARG_DEFINITIONS})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} optile_flags optile_sanitize
                        GTest::gtest GTest::gmock GTest::gtest_main)
  if(NOT ARG_SIMULATION)
    target_link_libraries(${name} PRIVATE optile_quick_sanitize)
  endif()
  if(ARG_ONE_THREAD)
    target_link_libraries(${name} PRIVATE optile_one_thread)
  endif()
  # What they test is optimised; they themselves are compiled in half of the time. Those of the shim
  # are programs in its place, and what they call has to be inlined as it is there.
  if(ARG_SIMULATION OR "shim" IN_LIST ARG_LABELS)
    set(level -O1)
  else()
    set(level -O0)
  endif()
  target_compile_options(${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:${level}>)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  if(OPTILE_SANITIZE MATCHES "address")
    optile_add_shards(${name} LABELS ${ARG_LABELS} TIMEOUT ${ARG_TIMEOUT})
  else()
    # Properties handed through the discovery lose every label but the first; one label with spaces
    # survives, and `ctest -L unit` matches it.
    string(REPLACE ";" " " labels "${ARG_LABELS}")
    gtest_discover_tests(${name} TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60
                         PROPERTIES LABELS "${labels}" TIMEOUT ${ARG_TIMEOUT}
                                    COST ${OPTILE_QUICK_COST})
  endif()
  if("unit" IN_LIST ARG_LABELS)
    add_dependencies(unit_tests ${name})
  endif()
endfunction()

# optile_add_python_test(NAME SCRIPT file.py [ARGUMENTS ...] [LABELS label ...] [TIMEOUT seconds])
# A script of Python's unittest, one CTest test. It finds the tree in OPTILE_SOURCE_DIR and the
# build in OPTILE_BINARY_DIR. Exit status 77: skipped; the output then has a line "SKIP: reason".
function(optile_add_python_test name)
  cmake_parse_arguments(ARG "" "SCRIPT;TIMEOUT" "ARGUMENTS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_test(NAME ${name}
           COMMAND ${OPTILE_PYTHON} "${CMAKE_CURRENT_SOURCE_DIR}/${ARG_SCRIPT}" ${ARG_ARGUMENTS})
  set_tests_properties(${name} PROPERTIES
    LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT} SKIP_RETURN_CODE 77
    COST ${OPTILE_QUICK_COST}
    ENVIRONMENT "OPTILE_SOURCE_DIR=${CMAKE_SOURCE_DIR};OPTILE_BINARY_DIR=${CMAKE_BINARY_DIR}")
endfunction()
