#include "bindings/preload/core/op_registry.h"

#include <string.h>

#include "base/hash.h"
#include "bindings/preload/shared_memory/attachment.h"

namespace optile::preload {
namespace {

// Further flags of an identity are between a probe and the core.
constexpr uint32_t kOpFlags = OPTILE_OP_BACKWARD | OPTILE_OP_NESTED | OPTILE_OP_REGION;
constexpr uint32_t kSlots = OPTILE_MAX_OPS * 2;  // half full at most

struct Slot {
  uint64_t key;
  uint32_t id_plus_1;  // 0 while the key's first thread is still describing it
};

Slot slots[kSlots];
// The records as they were described; regions get copies.
optile_op_record records[OPTILE_MAX_OPS];
uint64_t widths_run[OPTILE_MAX_OPS];
uint32_t taken = 0;      // ids given out
uint32_t described = 0;  // records complete, in order
int publishing = 0;      // one thread at a time copies records into the region

uint32_t slot_of(uint64_t key) {
  return static_cast<uint32_t>(base::mix64(key) >> 40) % kSlots;
}

// Records complete in order only, so a count says it all: what comes later waits for the earlier.
void publish_records() {
  if (__atomic_exchange_n(&publishing, 1, __ATOMIC_ACQUIRE) != 0) return;
  uint32_t count = __atomic_load_n(&described, __ATOMIC_RELAXED);
  while (count < OPTILE_MAX_OPS && optile_load64(&records[count].key) != 0) ++count;
  __atomic_store_n(&described, count, __ATOMIC_RELAXED);
  const Attachment* attached = attachment();
  if (attached != nullptr) {
    optile_client_region* client = attached->client;
    uint32_t there = client->header.registry_count;
    for (; there < count; ++there) client->ops[there] = records[there];
    optile_store32(&client->header.registry_count, there);
  }
  __atomic_store_n(&publishing, 0, __ATOMIC_RELEASE);
}

uint32_t register_op(const optile_op_identity& identity, Slot& slot) {
  const uint32_t id = __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);
  if (id >= OPTILE_MAX_OPS) {
    __atomic_store_n(&taken, OPTILE_MAX_OPS, __ATOMIC_RELAXED);
    add_fallback(OPTILE_FALLBACK_OPS_FULL);
    return kNoOp;
  }
  optile_op_record& record = records[id];
  record.flags = identity.flags & kOpFlags;
  record.probe = identity.probe;
  if (identity.describe != nullptr) {
    identity.describe(identity.source, record.name, record.shape);
    record.name[OPTILE_NAME_BYTES - 1] = '\0';
    record.shape[OPTILE_SHAPE_BYTES - 1] = '\0';
  }
  optile_store64(&record.key, identity.key);
  optile_store32(&slot.id_plus_1, id + 1);
  publish_records();
  return id;
}

}  // namespace

uint32_t op_id_of(const optile_op_identity& identity) {
  if (identity.key == 0) return kNoOp;
  uint32_t at = slot_of(identity.key);
  for (uint32_t probe = 0; probe < kSlots; ++probe, at = (at + 1) % kSlots) {
    uint64_t found = optile_load64(&slots[at].key);
    if (found == 0) {
      if (__atomic_load_n(&taken, __ATOMIC_RELAXED) >= OPTILE_MAX_OPS) return kNoOp;
      if (__atomic_compare_exchange_n(&slots[at].key, &found, identity.key, false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_ACQUIRE)) {
        return register_op(identity, slots[at]);
      }
    }
    if (found != identity.key) continue;
    const uint32_t id_plus_1 = optile_load32(&slots[at].id_plus_1);
    return id_plus_1 == 0 ? kNoOp : id_plus_1 - 1;
  }
  return kNoOp;
}

bool is_first_touch(uint32_t op_id, uint32_t width) {
  const uint64_t bit = UINT64_C(1) << (width < 63 ? width : 63);
  if ((__atomic_load_n(&widths_run[op_id], __ATOMIC_RELAXED) & bit) != 0) return false;
  return (__atomic_fetch_or(&widths_run[op_id], bit, __ATOMIC_RELAXED) & bit) == 0;
}

void note_tuning(uint32_t op_id, uint64_t tuning) {
  optile_store64(&records[op_id].tuning, tuning);
  const Attachment* attached = attachment();
  if (attached != nullptr) optile_store64(&attached->client->ops[op_id].tuning, tuning);
}

void replay_registrations(optile_client_region* client) {
  const uint32_t count = __atomic_load_n(&described, __ATOMIC_RELAXED);
  for (uint32_t i = 0; i < count; ++i) client->ops[i] = records[i];
  optile_store32(&client->header.registry_count, count);
}

}  // namespace optile::preload
