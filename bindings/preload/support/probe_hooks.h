// What a probe asks to be called for, besides the ops that it reports (core/probe.h): one constant
// object in its folder, which it registers with one line. The linker gathers them, so that they are
// there before any constructor runs, and the rooms below know no probe by name.
#pragma once

#include <stdint.h>

namespace optile::preload {

struct ProbeHooks {
  // The file name, as far as it goes, of the library that a framework computes with. The first time
  // that an address in it is met, or that it is loaded when somebody else computes,
  // `framework_comes` is called, once for all frameworks, with an address inside it: true when the
  // framework's own probe is at work from now on.
  const char* framework = nullptr;
  bool (*framework_comes)(const void* core) = nullptr;
  // A thread is about to issue its first op, and has this slot from now on (issuing_thread.h): what
  // the probe keeps for slots is to be as if none had had it.
  void (*thread_comes)(uint32_t slot) = nullptr;
  // In a child that was forked, on its one thread. Asks nobody for anything: the lock may be held
  // by a thread that is no more.
  void (*forked)() = nullptr;
};

// All that are registered, in no order; never null.
struct RegisteredProbes {
  const ProbeHooks* const* first;
  const ProbeHooks* const* past_last;

  const ProbeHooks* const* begin() const { return first; }
  const ProbeHooks* const* end() const { return past_last; }
};
RegisteredProbes registered_probes();

}  // namespace optile::preload

// The one line, in this namespace; `hooks` is a constant of the folder.
#define OPTILE_REGISTER_PROBE(hooks)                                                             \
  [[gnu::used, gnu::section("optile_probes")]] static const ProbeHooks* const registered_hooks = \
      &(hooks)
