// For bodies of tests that run in a child: the exit status is their only word.
#pragma once

#include <cstdio>
#include <cstdlib>

#define CHECK_OR_EXIT(condition)                                            \
  do {                                                                      \
    if (!(condition)) {                                                     \
      std::fprintf(stderr, "line %d: %s is false\n", __LINE__, #condition); \
      std::_Exit(1);                                                        \
    }                                                                       \
  } while (false)
