// Sets the width of an op and puts it back: the thread-local OpenMP count of the runtime that the
// op's framework or library is bound to, and beside it the count of OpenBLAS's own pool; where
// there is no OpenMP, that count alone; where the library keeps a count of its own, that one. One
// runtime is chosen for all ops; products of another copy of a BLAS go by that copy's. Never wider
// than the program's own count at that moment. On the issuing thread, at the outermost op boundary
// only.
#pragma once

#include "bindings/preload/actuators/count_knob.h"
#include "bindings/preload/actuators/steered_thread.h"
#include "bindings/preload/runtimes/blas_pool.h"
#include "bindings/preload/runtimes/runtime_resolver.h"

namespace optile::preload {

// The runtime and pool that steering goes to: those of the framework that `caller` belongs to. The
// first call decides, whatever was chosen before.
void choose_steered_runtime(const void* caller);
// Those of the object around `caller`, which opens a region or says where an op is, until a
// framework comes: programs load one late. The first call decides.
void choose_runtime_of_speaker(const void* caller);
// Those of the library that holds the function `inside`, until one of the other two comes. Nothing
// where any was chosen before. With a usable `knob`, the library's own count, that is steered and
// no runtime.
void choose_runtime_of_library(const void* inside, const CountKnob& knob = {});
// The same for a framework whose ops take their widths from `knob` and from no OpenMP; `inside`
// lies in its library. Nothing where another framework came first.
void choose_knob_of_framework(const void* inside, const CountKnob& knob);
const OpenmpRuntime* steered_runtime();  // null before, or where there is none
const BlasPool* steered_pool();          // null before, or where it is not to be steered
// Whether an op whose library takes its width from `setter` follows what is steered now: the
// OpenMP count, the pool's, or the knob's.
bool openmp_is_steered_by(const void* setter);
bool pool_is_steered_by(const void* setter);
bool knob_is_steered_by(const void* setter);
// The width of products of the BLAS that holds the function `inside` and takes its count from
// `setter`, OpenMP's or that of threads of its own: what is steered now, or, where that is
// something else, the copy's own. Any thread; slow for a copy that is new.
struct WidthOfCopy {
  bool follows = false;
  void* steers = nullptr;  // for SteeredThread::steers
};
WidthOfCopy width_of_copy(const void* inside, const void* setter, bool openmp);
// Whether apply_width() could have set another width in the op that is open.
bool width_could_be_set(const SteeredThread& thread);

// True on a thread that runs inside a parallel region of the steered runtime: hands off.
bool inside_region();

// What the plan wants for an op: at most so many threads; 0 = no word on it.
struct WantedWidth {
  uint32_t width = 0;
  uint32_t cap = 0;    // bounds the default width too
  uint32_t cores = 0;  // that threads which are inside ops at the same time share
};
// From here on, at `now`, the thread counts as inside an op, until leave_op() of issuer_share.h.
void apply_width(SteeredThread& thread, const WantedWidth& wanted, uint64_t now);
// The same for an op whose width is nobody's here: nothing is set.
void leave_width(SteeredThread& thread, uint64_t now);
void restore_width(SteeredThread& thread);
// What of it belongs to the whole process: also from another thread, once this one has ended.
void give_pool_back(SteeredThread& thread);

// On the calling thread, where no issuing thread has an op open: the width of a framework that has
// a knob of each thread's. 0 = the framework's own. Returns what was set before; nothing without
// one.
int set_knob_here(int width);

// While nobody listens to ops, what was capped stays so between them: a program that asks for its
// count then reads the cap. What was set, to be put back; nothing where the cap does not bind.
struct HeldWidth {
  const void* steered = nullptr;
  int own = 0;
  int set = 0;
  int pool_own = 0;
  int pool_set = 0;
};
HeldWidth hold_width(uint32_t cap);
// On the thread that it was held on.
void release_width(HeldWidth& held);
// What of it belongs to the whole process: from any thread.
void release_pool(HeldWidth& held);

// A second thread issues ops: a count that belongs to the whole process can follow neither. The
// pools, or the library's knob, get their own counts back and are left alone for good.
void leave_pool();

// The count is known to the daemon as the program's own.
void publish_default_width(int width);

}  // namespace optile::preload
