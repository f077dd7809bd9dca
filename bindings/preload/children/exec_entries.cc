// exec in all its forms, interposed for the sake of programs that would not survive the shim, and
// so that a lease's mask is not handed on. The function that was called is called, where anything
// is as it should be, with the words that it was called with.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bindings/preload/children/command_file.h"
#include "bindings/preload/children/fitting_environment.h"
#include "bindings/preload/children/next_exec.h"
#include "bindings/preload/children/started_mask.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX wants it declared

namespace {

using namespace optile::preload;

using Words = char* const*;

template <typename... Parameters>
int call_next(ExecFunction function, Parameters... parameters) {
  const auto next = reinterpret_cast<int (*)(Parameters...)>(next_exec(function));
  if (next != nullptr) {
    StartedMask mask;
    const int result = next(parameters...);
    mask.put_back();
    return result;
  }
  errno = ENOSYS;
  return -1;
}

int execute(const char* path, Words arguments, Words variables, ExecFunction unchanged) {
  const auto harmed = [=](const char* list) { return is_harmed(AT_FDCWD, path, 0, list); };
  return call_fitting(variables, harmed, [=](Words changed) {
    if (changed != nullptr) return call_next(kExecve, path, arguments, changed);
    if (unchanged == kExecv) return call_next(kExecv, path, arguments);
    return call_next(kExecve, path, arguments, variables);
  });
}

int execute_in_path(const char* command, Words arguments, Words variables, ExecFunction unchanged) {
  const auto harmed = [=](const char* list) { return is_harmed_in_path(command, list); };
  return call_fitting(variables, harmed, [=](Words changed) {
    if (changed != nullptr) return call_next(kExecvpe, command, arguments, changed);
    if (unchanged == kExecvp) return call_next(kExecvp, command, arguments);
    return call_next(kExecvpe, command, arguments, variables);
  });
}

// Newer than the oldest C library that we run on.
int next_execveat(int folder, const char* path, Words arguments, Words variables, int flags) {
  if (next_exec(kExecveat) != nullptr) {
    return call_next(kExecveat, folder, path, arguments, variables, flags);
  }
  StartedMask mask;
  const long result = syscall(SYS_execveat, folder, path, arguments, variables, flags);
  mask.put_back();
  return static_cast<int>(result);
}

// A call's open list of words. A struct, since the list itself is handed on differently on each
// kind of processor.
struct OpenList {
  va_list words;
};

// `call` gets the words as an array, on this frame's stack, where the C library has them too; the
// list stands behind its null then.
template <typename Call>
__attribute__((noinline)) int with_words(const char* first, OpenList& list, Call call) {
  va_list counted;
  va_copy(counted, list.words);
  size_t count = 1;
  while (va_arg(counted, char*) != nullptr) ++count;
  va_end(counted);
  if (count >= INT_MAX) {
    errno = E2BIG;
    return -1;
  }
  auto** arguments = static_cast<char**>(__builtin_alloca((count + 1) * sizeof(char*)));
  arguments[0] = const_cast<char*>(first);
  for (size_t i = 1; i <= count; ++i) arguments[i] = va_arg(list.words, char*);
  return call(arguments);
}

}  // namespace

extern "C" {

int execve(const char* path, char* const arguments[], char* const variables[]) noexcept {
  return execute(path, arguments, variables, kExecve);
}

int execv(const char* path, char* const arguments[]) noexcept {
  return execute(path, arguments, environ, kExecv);
}

int execvp(const char* command, char* const arguments[]) noexcept {
  return execute_in_path(command, arguments, environ, kExecvp);
}

int execvpe(const char* command, char* const arguments[], char* const variables[]) noexcept {
  return execute_in_path(command, arguments, variables, kExecvpe);
}

int fexecve(int fd, char* const arguments[], char* const variables[]) noexcept {
  const auto harmed = [=](const char* list) { return is_harmed_descriptor(fd, list); };
  return call_fitting(variables, harmed, [=](Words changed) {
    return call_next(kFexecve, fd, arguments, changed != nullptr ? changed : variables);
  });
}

int execveat(int folder, const char* path, char* const arguments[], char* const variables[],
             int flags) noexcept {
  const auto harmed = [=](const char* list) {
    const bool itself = (flags & AT_EMPTY_PATH) != 0 && path[0] == '\0';
    return itself ? is_harmed_descriptor(folder, list) : is_harmed(folder, path, flags, list);
  };
  return call_fitting(variables, harmed, [=](Words changed) {
    return next_execveat(folder, path, arguments, changed != nullptr ? changed : variables, flags);
  });
}

int execl(const char* path, const char* first, ...) noexcept {
  OpenList list;
  va_start(list.words, first);
  const int result = with_words(
      first, list, [=](Words arguments) { return execute(path, arguments, environ, kExecv); });
  va_end(list.words);
  return result;
}

int execlp(const char* command, const char* first, ...) noexcept {
  OpenList list;
  va_start(list.words, first);
  const int result = with_words(first, list, [=](Words arguments) {
    return execute_in_path(command, arguments, environ, kExecvp);
  });
  va_end(list.words);
  return result;
}

int execle(const char* path, const char* first, ...) noexcept {
  OpenList list;
  va_start(list.words, first);
  const int result = with_words(first, list, [&](Words arguments) {
    Words variables = va_arg(list.words, char**);
    return execute(path, arguments, variables, kExecve);
  });
  va_end(list.words);
  return result;
}

}  // extern "C"
