#include "bindings/preload/actuators/issuer_share.h"

namespace optile::preload {

uint32_t issuing_ever = 0;

namespace {

// The low bits are the sum of the widths in force, the others say who is inside.
constexpr uint64_t kWidthBits = 16;
constexpr uint64_t kWidths = (UINT64_C(1) << kWidthBits) - 1;
constexpr uint32_t kWidest = 1023;  // counted of one thread, so that the sum of all fits
static_assert(uint64_t{kMostIssuing} * kWidest <= kWidths, "the sum of all widths has its bits");
static_assert(kWidthBits + kMostIssuing <= 64, "every thread has its bit");

constexpr int32_t kFading = 8;  // ops that the mean remembers

struct alignas(64) Shared {
  uint64_t inside = 0;
  // Ends of ops minus begins: with n threads inside, all threads together were inside ops for
  // `spent` + n * now so far. It may lag behind `inside` for a moment, which shows.
  uint64_t spent = 0;
  // Who was inside an op when another thread entered one.
  uint64_t joined = 0;
};
Shared shared;
uint32_t most = 1;

uint64_t bit_of(uint32_t slot) {
  return UINT64_C(1) << (kWidthBits + slot);
}

// Mostly nobody or one; what counts more of them is a call on processors of the oldest kind.
uint32_t count(uint64_t who) {
  if ((who & (who - 1)) == 0) return who != 0 ? 1 : 0;
  return static_cast<uint32_t>(__builtin_popcountll(who));
}

void note_most(uint32_t threads) {
  uint32_t known = __atomic_load_n(&most, __ATOMIC_RELAXED);
  while (threads > known && !__atomic_compare_exchange_n(&most, &known, threads, true,
                                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

// What is this thread's to take while `word` says who else is inside. Those who usually are and are
// not yet have one thread each coming to them.
uint32_t available(const IssuerPart& part, uint32_t slot, uint32_t cores, uint64_t word) {
  const uint64_t others = word & ~kWidths;
  const uint32_t fair = fair_part(cores, part.sharers, count(others & (bit_of(slot) - 1)));
  const uint32_t there = count(others) + 1;
  const uint32_t coming = part.sharers > there ? part.sharers - there : 0;
  const uint32_t taken = static_cast<uint32_t>(word & kWidths) + coming;
  const uint32_t left = taken < cores ? cores - taken : 0;
  return fair < left ? fair : left;
}

}  // namespace

uint32_t fair_part(uint32_t cores, uint32_t sharers, uint32_t before) {
  if (sharers <= 1) return cores;
  const uint32_t part = cores / sharers + (before < cores % sharers ? 1 : 0);
  return part == 0 ? 1 : part;
}

void note_co_runners(IssuerPart* part, uint32_t others) {
  const auto now = static_cast<int32_t>(others);
  const auto mean = static_cast<int32_t>(part->co_runners);
  // Away from zero, or the last few steps would never be taken.
  const int32_t step = (now - mean + (now > mean ? kFading - 1 : 1 - kFading)) / kFading;
  part->co_runners = static_cast<uint32_t>(mean + step);
  // Up when another thread is there more often than not, down when it hardly is any more.
  while (part->co_runners > (part->sharers - 1) * kOneOther + kOneOther / 2) ++part->sharers;
  while (part->sharers > 1 &&
         part->co_runners + 3 * kOneOther / 4 < (part->sharers - 1) * kOneOther) {
    --part->sharers;
  }
}

uint32_t settle_limit(IssuerPart* part, uint32_t available) {
  // A team of one is no team: taking it costs the next op nothing.
  if (available <= 1) return 1;
  const bool wider = part->limit != 0 && available > part->limit;
  part->spare = wider ? part->spare + 1 : 0;
  if (!wider || part->spare >= kPatience) {
    part->limit = available;
    part->spare = 0;
  }
  return part->limit;
}

uint32_t enter_op(uint32_t slot, IssuerPart* part, uint32_t width, uint32_t cores, uint64_t now) {
  if (slot >= kMostIssuing) return width;
  forget_issuer(slot, part);  // an op that was left without its end
  const uint64_t mine = bit_of(slot);
  const IssuerPart known = *part;
  uint64_t word = __atomic_load_n(&shared.inside, __ATOMIC_RELAXED);
  uint32_t given = width;
  do {
    if (cores != 0 && width > 1) {
      *part = known;
      const uint32_t limit = settle_limit(part, available(known, slot, cores, word));
      given = width < limit ? width : limit;
    }
    part->held = mine + (given < kWidest ? given : kWidest);
  } while (!__atomic_compare_exchange_n(&shared.inside, &word, word + part->held, true,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
  const uint64_t others = word & ~kWidths;
  part->entered = now;
  part->spent = __atomic_fetch_sub(&shared.spent, now, __ATOMIC_RELAXED) + count(others) * now;
  part->joins = others != 0;
  if (others != 0) {
    note_most(count(others) + 1);
    __atomic_fetch_or(&shared.joined, others, __ATOMIC_RELAXED);
  }
  return given;
}

bool leave_op(uint32_t slot, IssuerPart* part, uint64_t now) {
  if (part->held == 0) return false;
  const uint64_t mine = bit_of(slot);
  const uint64_t word = __atomic_fetch_sub(&shared.inside, part->held, __ATOMIC_ACQ_REL);
  part->held = 0;
  const uint64_t spent =
      __atomic_fetch_add(&shared.spent, now, __ATOMIC_RELAXED) + count(word & ~kWidths) * now;
  const uint64_t whole = now - part->entered;
  const uint64_t others = spent - part->spent - whole;
  // Somebody was between its two words: that one op says nothing.
  if (others == 0) {
    note_co_runners(part, 0);
  } else if (whole != 0 && others / kMostIssuing <= whole) {
    note_co_runners(part, static_cast<uint32_t>(others * kOneOther / whole));
  }
  const bool was_joined = (__atomic_load_n(&shared.joined, __ATOMIC_RELAXED) & mine) != 0;
  if (was_joined) __atomic_fetch_and(&shared.joined, ~mine, __ATOMIC_RELAXED);
  return was_joined || part->joins;
}

void forget_issuer(uint32_t slot, IssuerPart* part) {
  if (part->held == 0) return;
  __atomic_sub_fetch(&shared.inside, part->held, __ATOMIC_ACQ_REL);
  __atomic_fetch_add(&shared.spent, part->entered, __ATOMIC_RELAXED);
  __atomic_fetch_and(&shared.joined, ~bit_of(slot), __ATOMIC_RELAXED);
  part->held = 0;
}

uint32_t most_in_ops() {
  return __atomic_load_n(&most, __ATOMIC_RELAXED);
}

}  // namespace optile::preload
