// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
// Work without computing power: ioctl(/dev/held_work, kind, ns) keeps the calling thread on its
// processor, as the scheduler sees it, until that has spent so long on it; the processor itself is
// halted meanwhile. In an emulated machine such work costs the host next to nothing, so that many
// processors work at the same time on a host with few. Not for machines that do anything else.
//
// Kind 0 is arithmetic. Kind 1 waits for memory, of which there is as much as the parameter
// `bandwidth` says, in thousandths of what one thread draws (0: no end): where more threads draw at
// a time, each gets its part and takes as much longer.
//
// Preempted like any other work, at its interrupts: the next tick of the scheduler's wakes the
// processor, and what others then run on it does not count. Answers what a signal left undone, in
// nanoseconds. Built for a Linux 6.1 kernel; the functions it needs are for modules under the GPL.
#include <linux/atomic.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

enum { kMemory = 1 };
enum { kSliceNs = 1000000 };  // for so long the number of those that draw is taken to stay

static uint bandwidth;
module_param(bandwidth, uint, 0644);
static atomic_t drawing = ATOMIC_INIT(0);

static enum hrtimer_restart time_is_over(struct hrtimer* timer) {
  return HRTIMER_NORESTART;
}

// The processor halts for so long, or until its next interrupt. Interrupts are off when called.
static s64 halt_for(struct hrtimer* timer, s64 ns) {
  const ktime_t begin = ktime_get();
  hrtimer_start(timer, ns_to_ktime(ns), HRTIMER_MODE_REL_PINNED_HARD);
  asm volatile("sti; hlt" ::: "memory");
  ns = ktime_to_ns(ktime_sub(ktime_get(), begin));
  hrtimer_cancel(timer);
  return ns;
}

// How much of the work was done.
static s64 work(struct hrtimer* timer, unsigned int kind, s64 left) {
  const s64 most = bandwidth;
  s64 wanted, spent;
  if (kind != kMemory || most == 0) return halt_for(timer, left);
  wanted = 1000 * (s64)atomic_inc_return(&drawing);
  if (wanted < most) wanted = most;
  spent = halt_for(timer, min_t(s64, div64_s64(left * wanted, most) + 1, kSliceNs));
  atomic_dec(&drawing);
  return div64_s64(spent * most, wanted) + 1;
}

static long hold(struct file* file, unsigned int kind, unsigned long nanoseconds) {
  s64 left = nanoseconds;
  struct hrtimer timer;
  hrtimer_init_on_stack(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
  timer.function = time_is_over;
  while (left > 0 && !signal_pending(current)) {
    preempt_disable();
    local_irq_disable();
    if (need_resched()) {
      local_irq_enable();
      preempt_enable();
      schedule();
      continue;
    }
    left -= work(&timer, kind, left);
    preempt_enable();
  }
  destroy_hrtimer_on_stack(&timer);
  return left > 0 ? left : 0;
}

static const struct file_operations held_operations = {
    .owner = THIS_MODULE,
    .unlocked_ioctl = hold,
};
static struct miscdevice held_device = {
    .minor = MISC_DYNAMIC_MINOR,
    .name = "held_work",
    .fops = &held_operations,
    .mode = 0666,
};
module_misc_device(held_device);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Work that occupies a processor without using it");
