// Bridges that `optile bridge build` makes for PyTorch wheels: how their files are named, and what
// is checked before one of them is loaded. The command line writes them, the shim loads them, and
// both judge by this. libc only, header only, no allocation; any thread.
//
//   CACHE/optile/bridges/torch-2.13.0+cpu-0123456789abcdef.so
//   CACHE/optile/bridges/torch-2.13.0+cpu-0123456789abcdef.so.sha256   as sha256sum writes it
//
// CACHE is XDG_CACHE_HOME, else HOME/.cache. The digits are the bridge's own source
// (optile_bridge_key.h): a bridge of another release is never loaded.
#pragma once

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sha256.h"
#include "optile_bridge_key.h"

namespace optile::base {

inline constexpr const char* kBridgeFolder = "optile/bridges";
inline constexpr const char* kDigestSuffix = ".sha256";
inline constexpr size_t kVersionBytes = 64;  // of PyTorch, as text

enum class BridgeFault {
  kNone,
  kAbsent,
  kNotRegular,  // a link, a folder
  kForeign,     // belongs neither to the user nor to root
  kWritable,    // by others than the owner
  kNoDigest,    // the second file is missing or says nothing
  kChanged,     // the content is not what was written
};

inline const char* bridge_fault_text(BridgeFault fault) {
  switch (fault) {
    case BridgeFault::kNone:
      return "it is in order";
    case BridgeFault::kAbsent:
      return "it is not there";
    case BridgeFault::kNotRegular:
      return "it is no regular file";
    case BridgeFault::kForeign:
      return "it belongs to somebody else";
    case BridgeFault::kWritable:
      return "others may write to it or to its folder";
    case BridgeFault::kNoDigest:
      return "its checksum is missing";
    case BridgeFault::kChanged:
      return "it is not what was built: its checksum differs";
  }
  return "unknown";
}

// The folder of bridges; "" where neither variable names an absolute path, or it does not fit.
template <size_t Size>
void put_bridge_folder(char (&to)[Size], const char* xdg_cache_home, const char* home) {
  const bool xdg = xdg_cache_home != nullptr && xdg_cache_home[0] == '/';
  const char* base = xdg ? xdg_cache_home : home;
  to[0] = '\0';
  if (base == nullptr || base[0] != '/') return;
  const int size = snprintf(to, Size, "%s%s/%s", base, xdg ? "" : "/.cache", kBridgeFolder);
  if (size < 0 || static_cast<size_t>(size) >= Size) to[0] = '\0';
}

// The name of a bridge for one version of PyTorch.
template <size_t Size>
void put_bridge_name(char (&to)[Size], const char* torch_version) {
  const int size = snprintf(to, Size, "torch-%s-%s.so", torch_version, OPTILE_BRIDGE_KEY);
  if (size < 0 || static_cast<size_t>(size) >= Size) to[0] = '\0';
}

// The version in the text of a wheel's torch/version.py: 2.13.0+cpu. False where there is none, or
// where it would not do as a part of a file's name.
inline bool find_torch_version(const char* text, char (&version)[kVersionBytes]) {
  version[0] = '\0';
  // At the begin of a line: __all__ names it too.
  const char* name = "__version__ = '";
  const char* at = text;
  while (at != nullptr && strncmp(at, name, strlen(name)) != 0) {
    at = strchr(at, '\n');
    if (at != nullptr) ++at;
  }
  if (at == nullptr) return false;
  at += strlen(name);
  size_t length = 0;
  while (at[length] != '\0' && at[length] != '\'') {
    const char letter = at[length];
    const bool good = isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '.' ||
                      letter == '+' || letter == '-' || letter == '_';
    if (!good || length + 1 >= kVersionBytes) return false;
    ++length;
  }
  if (at[length] != '\'' || isdigit(static_cast<unsigned char>(at[0])) == 0) return false;
  memcpy(version, at, length);
  version[length] = '\0';
  return true;
}

// The same from the file; at most 4 KiB of it are read.
inline bool read_torch_version(const char* version_py, char (&version)[kVersionBytes]) {
  char text[4096];
  version[0] = '\0';
  const int fd = open(version_py, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  const ssize_t bytes = read(fd, text, sizeof text - 1);
  close(fd);
  if (bytes <= 0) return false;
  text[bytes] = '\0';
  return find_torch_version(text, version);
}

namespace bridge_file {

inline BridgeFault judge(const struct stat& found) {
  if (found.st_uid != 0 && found.st_uid != geteuid()) return BridgeFault::kForeign;
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0) return BridgeFault::kWritable;
  return BridgeFault::kNone;
}

// A descriptor of what is at `path`, or -1 with the fault.
inline int open_checked(const char* path, BridgeFault* fault) {
  struct stat found = {};
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) {
    *fault = lstat(path, &found) == 0 ? BridgeFault::kNotRegular : BridgeFault::kAbsent;
    return -1;
  }
  const bool regular = fstat(fd, &found) == 0 && S_ISREG(found.st_mode);
  *fault = regular ? judge(found) : BridgeFault::kNotRegular;
  if (*fault == BridgeFault::kNone) return fd;
  close(fd);
  return -1;
}

inline bool sum_file(int fd, char (&text)[Sha256::kTextBytes]) {
  Sha256 sum;
  char block[16384];
  ssize_t bytes = 0;
  while ((bytes = read(fd, block, sizeof block)) > 0) sum.add(block, static_cast<size_t>(bytes));
  sum.write_text(text);
  return bytes == 0;
}

}  // namespace bridge_file

// The file, its checksum and their folder. What others than the user and root could have written
// is never in order. Reads the whole file.
inline BridgeFault check_bridge_file(const char* folder, const char* name) {
  char path[1024];
  struct stat found = {};
  if (lstat(folder, &found) != 0) return BridgeFault::kAbsent;
  if (!S_ISDIR(found.st_mode)) return BridgeFault::kNotRegular;
  BridgeFault fault = bridge_file::judge(found);
  if (fault != BridgeFault::kNone) return fault;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  const int bridge = bridge_file::open_checked(path, &fault);
  if (bridge < 0) return fault;
  char now[Sha256::kTextBytes];
  const bool summed = bridge_file::sum_file(bridge, now);
  close(bridge);
  if (!summed) return BridgeFault::kChanged;
  snprintf(path, sizeof path, "%s/%s%s", folder, name, kDigestSuffix);
  const int digest = bridge_file::open_checked(path, &fault);
  if (digest < 0) return fault == BridgeFault::kAbsent ? BridgeFault::kNoDigest : fault;
  char then[Sha256::kTextBytes] = "";
  const ssize_t bytes = read(digest, then, sizeof then - 1);
  close(digest);
  if (bytes != static_cast<ssize_t>(sizeof then - 1)) return BridgeFault::kNoDigest;
  return memcmp(now, then, sizeof now) == 0 ? BridgeFault::kNone : BridgeFault::kChanged;
}

}  // namespace optile::base
