// For test programs whose code has one thread: ThreadSanitizer has nothing to look for there, so
// they are left out of its suite (optile_add_test's ONE_THREAD), and a thread that is started after
// all ends the program.
#include <pthread.h>

#include <cstdio>
#include <cstdlib>

extern "C" int pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) noexcept {
  std::fputs(
      "A thread was started in a test program that is declared ONE_THREAD in CMake: "
      "take that word away, so that ThreadSanitizer looks at it.\n",
      stderr);
  std::abort();
}
