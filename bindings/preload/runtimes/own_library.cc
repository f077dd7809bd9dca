#include "bindings/preload/runtimes/own_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bindings/preload/support/environment.h"
#include "bindings/preload/support/host_log.h"

namespace optile::preload {
namespace {

bool is_trustworthy(const char* path, mode_t writable) {
  struct stat found = {};
  if (stat(path, &found) != 0) return false;
  errno = EPERM;
  const bool owned = found.st_uid == 0 || found.st_uid == geteuid();
  return owned && (found.st_mode & writable) == 0;
}

}  // namespace

void* open_own_library(const char* name, const char* why_it_matters) {
  char path[768];
  snprintf(path, sizeof path, "%s/%s", environment().bridge_dir, name);
  if (!is_trustworthy(environment().bridge_dir, S_IWOTH) ||
      !is_trustworthy(path, S_IWGRP | S_IWOTH)) {
    const int why = errno;
    log_line(why_it_matters, path);
    errno = why;
    return nullptr;
  }
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    log_line(why_it_matters, why == nullptr ? path : why);
    errno = ELIBACC;
  }
  return library;
}

const OwnApiHead* find_own_api(const char* library, const char* symbol, OwnApiHead wanted,
                               const char* why_it_matters) {
  void* opened = open_own_library(library, why_it_matters);
  if (opened == nullptr) return nullptr;
  const auto get = reinterpret_cast<const OwnApiHead* (*)()>(dlsym(opened, symbol));
  const OwnApiHead* offered = get == nullptr ? nullptr : get();
  if (offered != nullptr && offered->version == wanted.version && offered->bytes == wanted.bytes) {
    return offered;
  }
  log_line(why_it_matters, "the library is of another version");
  errno = ENOEXEC;
  return nullptr;
}

}  // namespace optile::preload
