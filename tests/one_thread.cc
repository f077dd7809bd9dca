// For test programs whose code has one thread: ThreadSanitizer has nothing to look for there, so
// they are left out of its suite (optile_add_test's ONE_THREAD), and where our code starts a thread
// after all, the program ends. A library may have its own, as a BLAS has.
#include <dlfcn.h>
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

// This program, or the C++ library on its behalf.
bool is_of_ours(const void* caller) {
  Dl_info here{};
  Dl_info there{};
  static const char mark = 0;
  if (dladdr(&mark, &here) == 0 || dladdr(caller, &there) == 0) return true;
  return here.dli_fbase == there.dli_fbase || std::strstr(there.dli_fname, "libstdc++") != nullptr;
}

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*function)(void*), void* argument) noexcept {
  if (is_of_ours(__builtin_return_address(0))) {
    std::fputs(
        "A thread was started in a test program that is declared ONE_THREAD in CMake: "
        "take that word away, so that ThreadSanitizer looks at it.\n",
        stderr);
    std::abort();
  }
  // POSIX lets a pointer to data be one to a function.
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  return create(thread, attributes, function, argument);
}
