// Primitives of a oneDNN that nobody can interpose, as it is linked statically (PyTorch's wheels):
// it tells of them by ITT's tasks. They are ops where nothing else is open, else part of what is,
// and always at the width that they have: their number of threads was settled when they were made.
//
// oneDNN begins a task, says what the primitive is (from 3.12 on), and ends the task, all on the
// thread that executes it, one at a time. Where making a primitive fails it forgets the end.
#pragma once

#include "bindings/preload/probes/itt/itt_abi.h"

namespace optile::preload {

// Bits of a domain's mark.
enum DomainMark {
  kDomainExecutes = 1,
  kDomainCreates = 2,
  kDomainIsTerse = 4  // its tasks end without a word on what they are
};

// `kind`: null where it is not known; `caller`, `frame`: of whoever was called by oneDNN. Any
// thread, also before the shim's constructor ran.
void primitive_begins(itt::Domain* domain, const char* kind, const void* caller, const void* frame);
void primitive_is(itt::Domain* domain, const char* info);
void primitive_ends(itt::Domain* domain);

}  // namespace optile::preload
