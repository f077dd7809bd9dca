#include "bindings/preload/issuer_cores.h"

#include <errno.h>

#include "bindings/preload/attachment.h"
#include "bindings/preload/issuer_share.h"
#include "bindings/preload/issuing_thread.h"
#include "bindings/preload/master_mask.h"
#include "bindings/preload/team_binding.h"
#include "bindings/preload/unit_rows.h"

namespace optile::preload {
namespace {

// Ops that a thread waits that found no units: those who have too many find that out meanwhile.
constexpr uint32_t kPutOff = 16;
// A thread that begins no op for so long leaves its units to others.
constexpr uint64_t kStalePartOfSecond = 20;

// What a thread's fair part of the cores is, whoever comes first. One core more where some are left
// over and its op was given them.
uint32_t part_of(const IssuingThread& thread, uint32_t cores) {
  const uint32_t part = fair_part(cores, thread.part.sharers, thread.part.sharers - 1);
  return static_cast<uint32_t>(thread.effective_width) == part + 1 ? part + 1 : part;
}

// Of the page's order; false where the page was replaced meanwhile.
bool read_units(const PlanView& plan, uint32_t first, uint32_t count, cpu_set_t* units) {
  CPU_ZERO(units);
  for (uint32_t i = first; i < first + count; ++i) {
    const uint16_t unit = __atomic_load_n(&plan.page->compact_order[i], __ATOMIC_ACQUIRE);
    if (unit >= CPU_SETSIZE) return false;
    CPU_SET(unit, units);
  }
  return optile_load64(&plan.page->generation) == plan.generation;
}

void leave_cores(IssuingThread& thread) {
  IssuerCores& cores = thread.cores;
  give_row_back(thread.slot);
  if (cores.count == 0) return;
  cores.count = 0;
  // Its workers get what it has itself now.
  cpu_set_t now;
  if (sched_getaffinity(0, sizeof now, &now) == 0) cores.outside = now;
  cores.epoch = next_epoch();
}

// False where there are none that it may use.
bool find_cores(IssuingThread& thread, const Attachment& attached, const PlanView& plan,
                uint32_t wanted, uint64_t now) {
  IssuerCores& cores = thread.cores;
  const uint32_t units = optile_load32(&plan.page->cpu_count);
  const uint64_t second = optile_load64(&attached.client->header.ticks_per_second);
  const uint64_t patience = second / kStalePartOfSecond;
  if (wanted >= units || patience == 0 || now < patience) return false;
  const int first = take_row(thread.slot, wanted, units, now - patience);
  cpu_set_t own;
  cpu_set_t outside;
  // A lease and its plan come by different ways: units may lie outside what the thread has.
  if (first < 0 || !read_units(plan, static_cast<uint32_t>(first), wanted, &own) ||
      sched_getaffinity(0, sizeof outside, &outside) != 0 || !lies_within(own, outside)) {
    return false;
  }
  const bool same = cores.count == wanted && CPU_EQUAL(&own, &cores.own);
  cores.generation = plan.generation;
  cores.outside = outside;
  if (same) return true;
  cores.count = wanted;
  cores.own = own;
  cores.epoch = next_epoch();
  return true;
}

}  // namespace

void settle_cores(IssuingThread& thread, const Attachment& attached, const PlanView& plan,
                  uint64_t now) {
  IssuerCores& cores = thread.cores;
  const bool shares = plan.own_cores && plan.valid && plan.shared_cores != 0 &&
                      thread.part.sharers > 1 && may_place_teams();
  if (!shares) {
    if (cores.count != 0) leave_cores(thread);
    return;
  }
  note_use(thread.slot, now);
  const uint32_t wanted = part_of(thread, plan.shared_cores);
  const bool fits = cores.count == wanted || cores.count == wanted + 1;
  if (cores.count != 0 && fits && cores.generation == plan.generation && has_row(thread.slot)) {
    return;
  }
  if (cores.count == 0 && cores.put_off > 0) {
    --cores.put_off;
    return;
  }
  const int kept_errno = errno;
  if (!find_cores(thread, attached, plan, wanted, now)) {
    leave_cores(thread);
    cores.put_off = kPutOff;
  }
  errno = kept_errno;
}

}  // namespace optile::preload
