#include "bindings/preload/shared_memory/attachment.h"

#include "bindings/preload/support/probe_hooks.h"
#include "bindings/preload/support/process_words.h"

namespace optile::preload {

uint64_t attaching_due = 0;

namespace {

const DaemonLink* link_in_use = nullptr;
uint32_t fallbacks = 0;
int forked = 0;

}  // namespace

const Attachment* attachment() {
  return __atomic_load_n(&own_words().attached, __ATOMIC_ACQUIRE);
}

void use_daemon_link(const DaemonLink& link) {
  __atomic_store_n(&link_in_use, &link, __ATOMIC_RELEASE);
}

void maintain_due_attachment() {
  const DaemonLink* link = __atomic_load_n(&link_in_use, __ATOMIC_ACQUIRE);
  if (link != nullptr && !is_forked_child()) link->maintain();
}

void add_fallback(uint32_t fallback) {
  const uint32_t all = __atomic_or_fetch(&fallbacks, fallback, __ATOMIC_RELAXED);
  const Attachment* attached = attachment();
  if (attached != nullptr) optile_store32(&attached->client->header.fallbacks, all);
}

uint32_t fallbacks_so_far() {
  return __atomic_load_n(&fallbacks, __ATOMIC_RELAXED);
}

void note_forked_child() {
  __atomic_store_n(&own_words().attached, static_cast<const Attachment*>(nullptr),
                   __ATOMIC_RELEASE);
  const DaemonLink* link = __atomic_load_n(&link_in_use, __ATOMIC_ACQUIRE);
  if (link != nullptr && link->hang_up()) {
    __atomic_store_n(&own_words().ours, UINT64_C(1), __ATOMIC_RELAXED);
    __atomic_store_n(&attaching_due, UINT64_C(0), __ATOMIC_RELAXED);
    return;
  }
  __atomic_store_n(&forked, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&own_words().ours, UINT64_C(0), __ATOMIC_RELAXED);
  __atomic_store_n(&attaching_due, UINT64_MAX, __ATOMIC_RELAXED);
  for (const ProbeHooks* probe : registered_probes()) {
    if (probe->forked != nullptr) probe->forked();
  }
}

bool is_forked_child() {
  if (__atomic_load_n(&own_words().ours, __ATOMIC_RELAXED) != 0) return false;
  if (__atomic_load_n(&forked, __ATOMIC_RELAXED) == 0) note_forked_child();
  return __atomic_load_n(&own_words().ours, __ATOMIC_RELAXED) == 0;
}

}  // namespace optile::preload
