#include "bindings/preload/probes/itt/primitive_tasks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "bindings/preload/core/issuing_thread.h"
#include "bindings/preload/core/library_op.h"
#include "bindings/preload/core/op_boundary.h"
#include "bindings/preload/probes/itt/primitive_info.h"
#include "bindings/preload/shared_memory/attachment.h"
#include "bindings/preload/support/environment.h"
#include "bindings/preload/support/probe_hooks.h"

namespace optile::preload {
namespace {

// Further up the stack than any frame of oneDNN's between where it says that a primitive begins and
// where it executes it, and as near as may be to whoever called oneDNN.
constexpr uintptr_t kFramesOfBeginning = 4096;

// What is open on a thread.
struct OpenPrimitive {
  const void* domain = nullptr;   // null: nothing is
  const char* kind = nullptr;     // while its info is awaited
  bool awaits_info = false;       // what it is comes next: no op yet
  uint32_t depth = 0;             // of the thread, with this one in it; 0: it is the outermost
  const void* left_by = nullptr;  // as the outermost's storage: further up, it has been left
  optile_open_op op = {};
};
OpenPrimitive primitives[kMostIssuing];  // by slot

OpenPrimitive& primitive_of(const IssuingThread& thread) {
  return primitives[thread.slot];
}

void forget_primitive(uint32_t slot) {
  primitives[slot] = {};
}

constexpr ProbeHooks kHooks = {.thread_comes = forget_primitive};
OPTILE_REGISTER_PROBE(kHooks);

struct Said {
  const char* verb;
  const char* kind;
  const PrimitiveInfo* info;  // null where the kind is all
};

void describe(const void* source, char name[OPTILE_NAME_BYTES], char shape[OPTILE_SHAPE_BYTES]) {
  const auto& said = *static_cast<const Said*>(source);
  if (said.info != nullptr) {
    describe_primitive(*said.info, said.verb, name, shape);
    return;
  }
  snprintf(name, OPTILE_NAME_BYTES, "%s%s%s", said.verb, said.verb[0] == '\0' ? "" : " ",
           said.kind);
  shape[0] = '\0';
}

int mark_of(const itt::Domain* domain) {
  return __atomic_load_n(&domain->mark, __ATOMIC_RELAXED);
}

const char* verb_of(const itt::Domain* domain) {
  return (mark_of(domain) & kDomainCreates) != 0 ? "create" : "";
}

uint64_t key_of(const Said& said) {
  const uint64_t what = said.info != nullptr ? key_of_primitive(*said.info)
                                             : base::hash_bytes(said.kind, strlen(said.kind));
  const uint64_t key =
      base::hash_bytes(said.verb, strlen(said.verb), base::hash_word(OPTILE_PROBE_ITT, what));
  return key == 0 ? 1 : key;
}

optile_op_identity identity_of(const Said& said, uint32_t flags) {
  return {key_of(said) ^ (flags & OPTILE_OP_NESTED), flags, OPTILE_PROBE_ITT, describe, &said};
}

// The end of the one before was forgotten.
void forget_unended(IssuingThread& thread) {
  OpenPrimitive& open = primitive_of(thread);
  if (open.domain == nullptr) return;
  open.domain = nullptr;
  const bool outermost = !open.awaits_info && open.depth == 0 && thread.outermost == open.left_by;
  if (outermost) close_what_was_left(thread, open.left_by, nullptr);
}

void begin_op(IssuingThread& thread, const Said& said, uint32_t flags) {
  OpenPrimitive& open = primitive_of(thread);
  open.awaits_info = false;
  const optile_op_identity identity = identity_of(said, flags | OPTILE_OP_FIXED);
  op_begin(&identity, &open.op);
  if (thread.depth == 0) {
    open.domain = nullptr;  // nobody listens any more, or too many are known
  } else {
    thread.outermost = open.left_by;
  }
}

void begin_nested(IssuingThread& thread, const itt::Domain* domain, const char* kind) {
  if (nested_wanted() == 0) return;
  OpenPrimitive& open = primitive_of(thread);
  const Said said = {verb_of(domain), kind, nullptr};
  const optile_op_identity identity = identity_of(said, OPTILE_OP_NESTED);
  op_begin(&identity, &open.op);
  open.domain = domain;
  open.awaits_info = false;
  open.depth = thread.depth;
}

void begin_outermost(const itt::Domain* domain, const char* kind, const void* caller,
                     const void* frame) {
  if (!library_op_may_begin(caller)) return;
  IssuingThread* thread = issuing_thread();
  if (thread == nullptr) return;
  OpenPrimitive& open = primitive_of(*thread);
  open.domain = domain;
  open.kind = kind;
  open.depth = 0;
  open.left_by = static_cast<const char*>(frame) + kFramesOfBeginning;
  open.awaits_info = true;
  if ((mark_of(domain) & kDomainIsTerse) != 0)
    begin_op(*thread, {verb_of(domain), kind, nullptr}, 0);
}

}  // namespace

void primitive_begins(itt::Domain* domain, const char* kind, const void* caller,
                      const void* frame) {
  if (environment().off || is_forked_child()) return;
  const int kept_errno = errno;
  if (kind == nullptr) kind = "primitive";
  IssuingThread* thread = known_issuing_thread();
  if (thread != nullptr) {
    forget_unended(*thread);
    close_what_was_left(*thread, nullptr, frame);
  }
  if (thread != nullptr && thread->depth > 0) {
    begin_nested(*thread, domain, kind);
  } else {
    begin_outermost(domain, kind, caller, frame);
  }
  errno = kept_errno;
}

void primitive_is(itt::Domain* domain, const char* info) {
  IssuingThread* thread = known_issuing_thread();
  if (thread == nullptr || primitive_of(*thread).domain != domain) return;
  if (!primitive_of(*thread).awaits_info) return;
  const int kept_errno = errno;
  PrimitiveInfo read;
  const bool readable = read_primitive_info(info, &read);
  const uint32_t flags = readable && is_backward(read) ? uint32_t{OPTILE_OP_BACKWARD} : 0U;
  begin_op(*thread, {verb_of(domain), primitive_of(*thread).kind, readable ? &read : nullptr},
           flags);
  errno = kept_errno;
}

void primitive_ends(itt::Domain* domain) {
  IssuingThread* thread = known_issuing_thread();
  if (thread == nullptr || primitive_of(*thread).domain != domain) return;
  OpenPrimitive& open = primitive_of(*thread);
  open.domain = nullptr;
  if (open.awaits_info) {
    // An older oneDNN: from now on the kind has to do.
    open.awaits_info = false;
    __atomic_or_fetch(&domain->mark, kDomainIsTerse, __ATOMIC_RELAXED);
    return;
  }
  if (open.depth > 0) {
    if (thread->depth != open.depth) return;  // what it was part of has ended
  } else {
    if (thread->outermost != open.left_by) return;
    thread->outermost = nullptr;
  }
  const int kept_errno = errno;
  op_end(&open.op);
  errno = kept_errno;
}

}  // namespace optile::preload
