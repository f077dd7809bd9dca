// What a static copy of ittnotify, which lies inside a library such as oneDNN, and a collector
// agree on, as far as it is needed here. The layouts are those of Intel's ITT API, version 3, as
// its public headers declare them (intel/ittapi: include/ittnotify.h,
// src/ittnotify/ittnotify_config.h); declared anew. Such a copy opens the file that
// INTEL_LIBITTNOTIFY64 names when it is used for the first time, and calls its __itt_api_init with
// itself: a collector puts its functions into the copy's list.
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace optile::itt {

// By value.
struct Identifier {
  unsigned long long words[3];
};

// One for each name, usually: whose tasks they are. The copy makes those that it is asked for
// before there is a collector.
struct Domain {
  int enabled;  // 0: nothing of it is told; the collector's to set, like `mark`
  const char* name;
  const void* wide_name;
  int mark;
  void* reserved;
  Domain* next;
};

struct StringHandle {
  const char* text;
  const void* wide_text;
  int reserved1;
  void* reserved2;
  StringHandle* next;
};

struct Function {
  const char* name;  // null: the end of the list
  void** called;     // what the library calls
  void* initial;     // opens the collector
  void* without;     // what is called where there is no collector; null: nothing is
  int group;
};

struct Client {
  unsigned char magic[8];
  unsigned long major;
  unsigned long minor;
  unsigned long build;  // a date
  long initialized;
  long mutex_initialized;
  long counter;
  pthread_mutex_t mutex;  // held while __itt_api_init runs
  void* library;
  void* error_handler;
  const char** library_path;
  Function* functions;
  Client* next;
  void* threads;
  Domain* domains;
  StringHandle* strings;
};
static_assert(sizeof(Identifier) == 24 && sizeof(Domain) == 48 && sizeof(Function) == 40);
static_assert(offsetof(Domain, mark) == 24 && offsetof(StringHandle, text) == 0);
static_assert(offsetof(Client, functions) == 80 + sizeof(pthread_mutex_t));
static_assert(offsetof(Client, domains) == offsetof(Client, functions) + 24);

inline constexpr unsigned char kMagic[8] = {0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30};
inline constexpr unsigned long kMajor = 3;
// Copies of before have a shorter Function.
inline constexpr unsigned long kFirstBuild = 20111111;
// What a library's first call asks for. Runtimes that know of collectors, as oneTBB does, ask for
// what they need, and do more work where they find it.
inline constexpr uint32_t kAllGroups = UINT32_MAX;

inline bool is_known(const Client& client) {
  return memcmp(client.magic, kMagic, sizeof kMagic) == 0 && client.major == kMajor &&
         client.build >= kFirstBuild && client.functions != nullptr;
}

// What the shim exports to the collector: puts itself into the copy's list. Called with the copy's
// lock held, on any thread.
using Listen = void (*)(Client* client);
inline constexpr char kListenSymbol[] = "optile_itt_listen_1";

}  // namespace optile::itt
