#include "bindings/preload/probes/onednn/primitives.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"

namespace optile::preload {
namespace {

constexpr uint32_t kRecords = 1024;
constexpr uint32_t kHandles = 4096;
constexpr int kMostDimensions = 12;  // DNNL_MAX_NDIMS

// dnnl_query_t
enum {
  kQueryKind = 2,
  kQueryImplementation = 8,
  kQueryPropagation = 11,
  kQuerySource = 129,
  kQuerySourceGradient = 130,
  kQueryWeights = 131,
  kQueryWeightsGradient = 132,
  kQueryDestination = 133,
  kQueryDestinationGradient = 134,
  kReadDimensionCount = 256,
  kReadDimensions = 257,
  kReadType = 258
};
constexpr int kFirstBackward = 128;  // dnnl_prop_kind_t from here on

struct MemoryV2 {  // the head of dnnl_memory_desc_t in version 2
  int dimensions;
  int64_t sizes[kMostDimensions];
  int type;
};

struct Memory {
  int dimensions = 0;
  const int64_t* sizes = nullptr;
  int type = 0;
};

struct Handle {
  const void* address;
  uint64_t what;
};

PrimitiveRecord records[kRecords];
Handle primitives[kHandles];  // what: a record's number
int busy = 0;

// Whoever finds it taken does without.
class Writing {
 public:
  Writing() : mine_(__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE) == 0) {}
  ~Writing() {
    if (mine_) __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
  }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;
  explicit operator bool() const { return mine_; }

 private:
  bool mine_;
};

uint32_t slot_of(uint64_t word, uint32_t slots) {
  return static_cast<uint32_t>(base::mix64(word) >> 32) % slots;
}

uint32_t slot_of(const void* address, uint32_t slots) {
  return slot_of(static_cast<uint64_t>(reinterpret_cast<uintptr_t>(address)), slots);
}

void put(Handle (&table)[kHandles], const void* address, uint64_t what) {
  const Writing writing;
  Handle& handle = table[slot_of(address, kHandles)];
  // Whoever reads meanwhile must not take the old for the new.
  __atomic_store_n(&handle.address, static_cast<const void*>(nullptr), __ATOMIC_RELEASE);
  if (!writing) return;
  __atomic_store_n(&handle.what, what, __ATOMIC_RELAXED);
  __atomic_store_n(&handle.address, address, __ATOMIC_RELEASE);
}

uint64_t get(const Handle (&table)[kHandles], const void* address) {
  const Handle& handle = table[slot_of(address, kHandles)];
  if (__atomic_load_n(&handle.address, __ATOMIC_ACQUIRE) != address) return 0;
  const uint64_t what = __atomic_load_n(&handle.what, __ATOMIC_ACQUIRE);
  return __atomic_load_n(&handle.address, __ATOMIC_ACQUIRE) == address ? what : 0;
}

Memory read_memory(const OneDnnCopy& copy, const void* descriptor, int what, int otherwise) {
  const void* memory = copy.query_memory(descriptor, what, 0);
  Memory read;
  if (copy.read_memory == nullptr) {
    const auto* v2 = static_cast<const MemoryV2*>(memory);
    if (v2 != nullptr) read = {v2->dimensions, v2->sizes, v2->type};
  } else if (memory != nullptr) {
    if (copy.read_memory(memory, kReadDimensionCount, &read.dimensions) != 0) read.dimensions = 0;
    const bool whole = copy.read_memory(memory, kReadDimensions, &read.sizes) == 0 &&
                       copy.read_memory(memory, kReadType, &read.type) == 0;
    if (!whole || read.sizes == nullptr) read.dimensions = 0;
  }
  const bool there = read.dimensions > 0 && read.dimensions <= kMostDimensions;
  if (!there && otherwise != 0) return read_memory(copy, descriptor, otherwise, 0);
  if (!there) read.dimensions = 0;
  return read;
}

// Text that is cut where it does not fit.
class Text {
 public:
  Text(char* to, size_t bytes) : to_(to), bytes_(bytes) { to_[0] = '\0'; }

  void add(const char* text) {
    const int written = snprintf(to_ + used_, bytes_ - used_, "%s%s", used_ == 0 ? "" : " ", text);
    advance(written);
  }
  void add(const Memory& memory) {
    for (int i = 0; i < memory.dimensions; ++i) {
      const char* before = i > 0 ? "x" : used_ == 0 ? "" : " ";
      // A size that is given at execution only is the smallest number there is.
      const bool open = memory.sizes[i] == INT64_MIN;
      const int written = open ? snprintf(to_ + used_, bytes_ - used_, "%s?", before)
                               : snprintf(to_ + used_, bytes_ - used_, "%s%lld", before,
                                          static_cast<long long>(memory.sizes[i]));
      advance(written);
    }
  }

 private:
  void advance(int written) {
    if (written > 0) used_ += static_cast<size_t>(written);
    if (used_ > bytes_ - 1) used_ = bytes_ - 1;
  }

  char* to_;
  size_t bytes_;
  size_t used_ = 0;
};

uint64_t add_to_key(const Memory& memory, uint64_t key) {
  key = base::hash_word(static_cast<uint64_t>(memory.type), key);
  for (int i = 0; i < memory.dimensions; ++i) {
    key = base::hash_word(static_cast<uint64_t>(memory.sizes[i]), key);
  }
  return key;
}

// Whatever number of threads it was described with: the implementation is told, and no part of the
// key, since it may depend on that.
bool describe(const OneDnnCopy& copy, const void* descriptor, PrimitiveRecord* record) {
  int kind = 0;
  int propagation = 0;
  const char* implementation = nullptr;
  if (copy.query(descriptor, kQueryKind, 0, &kind) != 0) return false;
  if (copy.query(descriptor, kQueryPropagation, 0, &propagation) != 0) propagation = 0;
  if (copy.query(descriptor, kQueryImplementation, 0, &implementation) != 0) {
    implementation = nullptr;
  }
  const Memory source = read_memory(copy, descriptor, kQuerySource, kQuerySourceGradient);
  const Memory weights = read_memory(copy, descriptor, kQueryWeights, kQueryWeightsGradient);
  const Memory to = read_memory(copy, descriptor, kQueryDestination, kQueryDestinationGradient);
  Text name(record->name, sizeof record->name);
  name.add(copy.kind_name(kind));
  if (propagation > 0 && copy.propagation_name != nullptr) {
    name.add(copy.propagation_name(propagation));
  }
  record->flags = propagation >= kFirstBackward ? uint32_t{OPTILE_OP_BACKWARD} : 0U;
  const uint64_t named = base::hash_bytes(record->name, strlen(record->name));
  const uint64_t key = add_to_key(to, add_to_key(weights, add_to_key(source, named)));
  record->key = (key ^ OPTILE_PROBE_ONEDNN) == 0 ? 1 : key ^ OPTILE_PROBE_ONEDNN;
  Text shape(record->shape, sizeof record->shape);
  shape.add(source);
  shape.add(weights.dimensions > 0 ? weights : to);
  if (copy.type_name != nullptr) shape.add(copy.type_name(source.type));
  if (implementation != nullptr) shape.add(implementation);
  return true;
}

}  // namespace

PrimitiveRecord* record_of_descriptor(const OneDnnCopy& copy, const void* descriptor) {
  PrimitiveRecord made = {};
  if (!copy.readable() || descriptor == nullptr || !describe(copy, descriptor, &made)) {
    return nullptr;
  }
  uint32_t at = slot_of(made.key, kRecords);
  for (uint32_t probe = 0; probe < kRecords / 2; ++probe, at = (at + 1) % kRecords) {
    PrimitiveRecord& record = records[at];
    const uint64_t there = optile_load64(&record.key);
    if (there == made.key) return &record;
    if (there != 0) continue;
    const Writing writing;
    if (!writing || optile_load64(&record.key) != 0) return nullptr;
    record.flags = made.flags;
    memcpy(record.name, made.name, sizeof record.name);
    memcpy(record.shape, made.shape, sizeof record.shape);
    optile_store64(&record.key, made.key);
    return &record;
  }
  return nullptr;
}

void note_primitive(const void* primitive, PrimitiveRecord* record) {
  put(primitives, primitive, record == nullptr ? 0 : static_cast<uint64_t>(record - records) + 1);
}

PrimitiveRecord* record_of_primitive(const void* primitive) {
  const uint64_t number = get(primitives, primitive);
  return number == 0 ? nullptr : &records[number - 1];
}

}  // namespace optile::preload
