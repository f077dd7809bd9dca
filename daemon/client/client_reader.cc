#include "daemon/client/client_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "daemon/transport/attach_request.h"

namespace optile::daemon {
namespace {

constexpr uint16_t kMaxWidth = 8192;  // wider than any machine of today
constexpr uint32_t kMostBeside = 64;  // more copies than anybody keeps
constexpr perfmodel::Nanoseconds kLongestExecution = std::chrono::hours(24);
// What PyTorch and the shim take for an outermost op and the three inside it once somebody listens,
// as measured in steps of an LSTM (docs/results/overhead.md); most of it is PyTorch's own.
constexpr perfmodel::Nanoseconds kTorchListens{4000};
constexpr uint64_t kMostCounted = uint64_t{1} << 56;  // two years of nanoseconds, or cycles
constexpr uint32_t kKnownEventFlags = OPTILE_EVENT_FIRST_TOUCH | OPTILE_EVENT_SCHEDULED |
                                      OPTILE_EVENT_MIXED_GENERATION | OPTILE_EVENT_DEFAULT_WIDTH |
                                      OPTILE_EVENT_STEERABLE | OPTILE_EVENT_OVERLAPPED |
                                      OPTILE_EVENT_UNHEARD;

// A copy of a shared struct, word by word.
template <typename T>
T copy_of(const T& shared) {
  static_assert(sizeof(T) % sizeof(uint64_t) == 0);
  std::array<uint64_t, sizeof(T) / sizeof(uint64_t)> words;
  const auto* source = reinterpret_cast<const uint64_t*>(&shared);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = optile_load64(&source[i]);
  return std::bit_cast<T>(words);
}

// A plan number from its low half, as close below the current one as possible; nullopt when no plan
// has had that number.
std::optional<uint64_t> whole_generation(uint32_t low, uint64_t current) {
  if (low == 0) return 0;
  uint64_t whole = (current & ~UINT64_C(0xffffffff)) | low;
  if (whole > current) {
    if (whole < UINT64_C(0x100000000)) return std::nullopt;
    whole -= UINT64_C(0x100000000);
  }
  return whole;
}

// The groups as far as they make sense: an event without a name is an unused place.
void read_counters(const optile_client_header& copy, uint32_t tier, ClientHeader& header) {
  header.counter_errno = std::clamp(copy.counter_errno, 0, 4095);
  if (tier > OPTILE_COUNTERS_HARDWARE) return;
  header.counter_tier = static_cast<perfmodel::CounterTier>(tier);
  if (tier == OPTILE_COUNTERS_NONE) return;
  header.counter_groups.resize(std::min<uint32_t>(copy.counter_groups, OPTILE_COUNTER_GROUPS));
  for (std::size_t i = 0; i < header.counter_groups.size(); ++i) {
    for (std::size_t j = 0; j < OPTILE_GROUP_EVENTS; ++j) {
      const uint8_t event = copy.counter_events[i][j];
      header.counter_groups[i][j] = event < perfmodel::kCountedEvents
                                        ? static_cast<perfmodel::CountedEvent>(event)
                                        : perfmodel::CountedEvent::kNothing;
    }
  }
}

// The path, and the file names behind it.
void read_blas(const optile_client_header& copy, ClientHeader& header) {
  const char* const end = copy.blas_path + sizeof copy.blas_path;
  header.blas_path = clean_text(copy.blas_path, sizeof copy.blas_path);
  header.blas_beside = std::min(copy.blas_beside, kMostBeside);
  const char* at = std::find(copy.blas_path, end, '\0');
  while (at != end && header.beside_names.size() < header.blas_beside) {
    const char* const begin = at + 1;
    at = std::find(begin, end, '\0');
    if (at == begin || at == end) return;
    header.beside_names.push_back(clean_text(begin, static_cast<std::size_t>(at - begin) + 1));
  }
}

static_assert(OPTILE_REGION_TUNED == perfmodel::OpDescription::kTuned);

// Bits of ours only; where something speaks against it, it is not tuned.
uint32_t tuning_word(uint64_t word) {
  constexpr uint64_t kReasons = 2 * uint64_t{OPTILE_REGION_UNSEEN} - 1 - OPTILE_REGION_TUNED;
  const auto reasons = static_cast<uint32_t>(word & kReasons);
  if (reasons != 0) return reasons;
  return (word & OPTILE_REGION_TUNED) != 0 ? uint32_t{OPTILE_REGION_TUNED} : 0;
}

perfmodel::Runtime runtime_of(uint32_t word) {
  switch (word) {
    case OPTILE_RUNTIME_LIBGOMP:
      return perfmodel::Runtime::kLibgomp;
    case OPTILE_RUNTIME_LLVM:
      return perfmodel::Runtime::kLlvm;
    default:
      return perfmodel::Runtime::kUnknown;
  }
}

bool counts_make_sense(const optile_event& raw, const ClientReader::Context& context) {
  const bool group_is_known =
      context.counter_groups != nullptr && raw.column < context.counter_groups->size();
  if (!group_is_known || raw.flags != 0) return false;
  if (raw.regions == 0 || raw.regions > kMaxWidth) return false;
  return std::max({raw.begin_ticks, raw.ticks, raw.context, raw.region_ticks}) <= kMostCounted;
}

// The first thing that is wrong with an event, if any.
std::optional<Rejection> find_fault(const optile_event& raw, const ClientReader::Context& context,
                                    const std::vector<perfmodel::OpDescription>& registry,
                                    uint64_t now_ticks) {
  const TickClock& clock = *context.clock;
  if ((raw.flags & ~kKnownEventFlags) != 0) return Rejection::kKind;
  if (raw.kind != OPTILE_EVENT_OP && raw.kind != OPTILE_EVENT_STEP) return Rejection::kKind;
  if (raw.width > kMaxWidth || raw.binding > OPTILE_BINDING_SPREAD) return Rejection::kWidth;
  const uint64_t end_ticks = raw.begin_ticks + raw.ticks;
  if (end_ticks < raw.begin_ticks) return Rejection::kTime;
  // Counters of two processors may differ by a little: one millisecond is a lot.
  if (end_ticks > now_ticks &&
      clock.duration(end_ticks - now_ticks) > std::chrono::milliseconds(1)) {
    return Rejection::kTime;
  }
  const std::vector<uint8_t>& lengths = *context.schedule_lengths;
  const std::optional<uint64_t> plan = whole_generation(raw.generation_low, lengths.size());
  if (!plan) return Rejection::kPlan;
  if ((raw.flags & OPTILE_EVENT_SCHEDULED) != 0 &&
      (*plan == 0 || raw.column >= lengths[*plan - 1])) {
    return Rejection::kColumn;
  }
  if (raw.kind == OPTILE_EVENT_OP &&
      (raw.op_id >= registry.size() || registry[raw.op_id].key == 0)) {
    return Rejection::kOp;
  }
  return std::nullopt;
}

// Of an event without fault.
ClientEvent decode(const optile_event& raw, const ClientReader::Context& context,
                   const std::vector<perfmodel::OpDescription>& registry) {
  const TickClock& clock = *context.clock;
  const uint64_t plan = *whole_generation(raw.generation_low, context.schedule_lengths->size());
  std::optional<int> column;
  if ((raw.flags & OPTILE_EVENT_SCHEDULED) != 0) column = raw.column;
  ClientEvent event;
  if (raw.kind == OPTILE_EVENT_OP) {
    tuner::OpEvent op;
    op.place = {registry[raw.op_id].key, raw.context};
    op.begin = clock.since_attach(raw.begin_ticks);
    op.duration = clock.duration(raw.ticks);
    op.step = raw.step;
    op.width = raw.width;
    op.binding = static_cast<perfmodel::Binding>(raw.binding);
    op.first_touch = (raw.flags & OPTILE_EVENT_FIRST_TOUCH) != 0;
    op.default_width = (raw.flags & OPTILE_EVENT_DEFAULT_WIDTH) != 0;
    op.steerable = (raw.flags & OPTILE_EVENT_STEERABLE) != 0;
    op.overlapped = (raw.flags & OPTILE_EVENT_OVERLAPPED) != 0;
    op.column = column;
    op.plan = plan;
    event.op = op;
    return event;
  }
  tuner::StepEvent step;
  step.step = raw.step;
  step.duration = clock.duration(raw.ticks);
  // Ops of several threads overlap: more than the step itself is no coverage.
  step.observed = std::min(clock.duration(raw.context), step.duration);
  step.steerable = std::min(clock.duration(raw.region_ticks), step.observed);
  step.ops = raw.regions;
  step.width_changes = raw.width_changes;
  step.mixed = (raw.flags & OPTILE_EVENT_MIXED_GENERATION) != 0;
  step.overlapped = (raw.flags & OPTILE_EVENT_OVERLAPPED) != 0;
  step.heard = (raw.flags & OPTILE_EVENT_UNHEARD) == 0;
  step.column = column;
  step.plan = plan;
  event.step = step;
  return event;
}

}  // namespace

void ClientReader::reject(Rejection why) {
  ++counters_.rejected;
  ++counters_.rejected_by[static_cast<std::size_t>(why)];
}

uint64_t ClientReader::progress() const {
  return optile_load64(&region_->header.progress);
}

uint32_t ClientReader::steps() const {
  return optile_load32(&region_->header.steps);
}

std::optional<ClientHeader> ClientReader::header() const {
  const optile_client_header& shared = region_->header;
  if (optile_load32(&shared.magic) != OPTILE_ABI_MAGIC) return std::nullopt;
  if (optile_load32(&shared.abi_version) != OPTILE_ABI_VERSION) return std::nullopt;
  // `runtime` and `blas_ready` say that a path is complete, and `counter_tier` that the groups are,
  // so they are read before the copy.
  const uint32_t runtime = optile_load32(&shared.runtime);
  const bool blas_ready = optile_load32(&shared.blas_ready) != 0;
  const uint32_t counter_tier = optile_load32(&shared.counter_tier);
  const optile_client_header copy = copy_of(shared);

  ClientHeader header;
  header.clock_kind = copy.clock_kind;
  header.ticks_per_second = copy.ticks_per_second;
  header.attach_ticks = copy.attach_ticks;
  header.runtime = runtime_of(runtime);
  header.blas_ready = blas_ready;
  if (blas_ready) read_blas(copy, header);
  header.progress = copy.progress;
  header.registry_count = std::min<uint32_t>(copy.registry_count, OPTILE_MAX_OPS);
  header.fallbacks = copy.fallbacks;
  header.default_width = static_cast<int>(std::min<uint32_t>(copy.default_width, kMaxWidth));
  header.default_width_source =
      std::min<uint32_t>(copy.default_width_source, uint32_t{OPTILE_WIDTH_PROGRAM});
  header.steps = copy.steps;
  header.unseen_ops = copy.unseen_ops;
  header.shim_ticks = copy.shim_ticks;
  header.annotations = copy.annotations;
  header.region_width = static_cast<int>(std::min<uint32_t>(copy.region_width, kMaxWidth));
  header.wait_changes = copy.wait_changes;
  header.sized_units = static_cast<int>(std::min<uint32_t>(copy.sized_units, OPTILE_MAX_CPUS));
  header.issuing_threads = copy.issuing_threads;
  header.most_in_ops = std::min(copy.most_in_ops, copy.issuing_threads);
  header.narrowed_ops = copy.narrowed_ops;
  read_counters(copy, counter_tier, header);
  return header;
}

std::vector<perfmodel::OpDescription> ClientReader::new_ops() {
  std::vector<perfmodel::OpDescription> fresh;
  const uint32_t count =
      std::min<uint32_t>(optile_load32(&region_->header.registry_count), OPTILE_MAX_OPS);
  while (registry_.size() < count) {
    const optile_op_record copy = copy_of(region_->ops[registry_.size()]);
    perfmodel::OpDescription op;
    op.key = copy.key;
    op.name = clean_text(copy.name, sizeof copy.name);
    op.shape = clean_text(copy.shape, sizeof copy.shape);
    op.backward = (copy.flags & OPTILE_OP_BACKWARD) != 0;
    op.nested = (copy.flags & OPTILE_OP_NESTED) != 0;
    op.region = (copy.flags & OPTILE_OP_REGION) != 0;
    if (op.region) op.tuning = tuning_word(copy.tuning);
    op.probe = copy.probe;
    op.left_alone = copy.probe == OPTILE_PROBE_ITT;
    op.unordered = copy.probe == OPTILE_PROBE_TENSORFLOW;
    if (copy.probe == OPTILE_PROBE_TORCH && !op.nested) op.listening = kTorchListens;
    registry_.push_back(op);
    if (op.key == 0) {
      reject(Rejection::kRecord);
      continue;
    }
    fresh.push_back(std::move(op));
  }
  return fresh;
}

std::vector<perfmodel::OpDescription> ClientReader::changed_regions() {
  std::vector<perfmodel::OpDescription> changed;
  for (std::size_t i = 0; i < registry_.size(); ++i) {
    perfmodel::OpDescription& op = registry_[i];
    if (!op.region || op.key == 0) continue;
    const uint32_t tuning = tuning_word(optile_load64(&region_->ops[i].tuning));
    if (tuning == op.tuning) continue;
    op.tuning = tuning;
    changed.push_back(op);
  }
  return changed;
}

std::vector<DisabledEntry> ClientReader::new_disabled(const TickClock& clock) {
  std::vector<DisabledEntry> fresh;
  const uint64_t count = optile_load64(&region_->header.disabled_count);
  // A client that counts backwards is not followed.
  if (count <= disabled_seen_) return fresh;
  uint64_t next = disabled_seen_;
  if (count - next > OPTILE_MAX_DISABLED) next = count - OPTILE_MAX_DISABLED;
  disabled_seen_ = count;
  for (; next != count; ++next) {
    const optile_disabled_entry copy =
        copy_of(region_->header.disabled[next % OPTILE_MAX_DISABLED]);
    if (copy.key == 0 || copy.width > kMaxWidth) {
      reject(Rejection::kRecord);
      continue;
    }
    fresh.push_back({{copy.key, copy.context},
                     copy.width,
                     std::min(clock.duration(copy.entry_ticks), kLongestExecution),
                     std::min(clock.duration(copy.own_ticks), kLongestExecution)});
  }
  return fresh;
}

void ClientReader::mark() {
  uint64_t dropped = 0;
  for (uint32_t slot = 0; slot < OPTILE_MAX_THREADS; ++slot) {
    heads_[slot] = optile_load64(&region_->threads[slot].head);
    dropped += optile_load64(&region_->threads[slot].dropped);
  }
  counters_.dropped = dropped;
}

std::vector<ClientEvent> ClientReader::read(const Context& context) {
  fill_ = 0;
  std::vector<Timed> timed;
  for (uint32_t slot = 0; slot < OPTILE_MAX_THREADS; ++slot) read_slot(slot, context, timed);
  std::stable_sort(timed.begin(), timed.end(),
                   [](const Timed& a, const Timed& b) { return a.end < b.end; });
  std::vector<ClientEvent> events;
  events.reserve(timed.size());
  for (const Timed& one : timed) events.push_back(one.event);
  return events;
}

void ClientReader::read_slot(uint32_t slot, const Context& context, std::vector<Timed>& out) {
  const uint64_t head = heads_[slot];
  uint64_t& tail = tails_[slot];
  const uint64_t waiting = head - tail;
  if (waiting == 0) return;
  if (waiting > OPTILE_RING_EVENTS) {
    // A producer that keeps the rules cannot be here. Start again from where it says it is.
    reject(Rejection::kRing);
    tail = head;
    return;
  }
  fill_ = std::max(fill_, static_cast<double>(waiting) / OPTILE_RING_EVENTS);
  const uint64_t now_ticks = context.clock->now();
  uint64_t latest_end = 0;
  std::optional<optile_event> counts;
  for (; tail != head; ++tail) {
    const optile_event raw = copy_of(region_->threads[slot].ring[tail % OPTILE_RING_EVENTS]);
    if (raw.kind == OPTILE_EVENT_COUNTS) {
      if (counts) reject(Rejection::kCounts);
      counts = raw;
      continue;
    }
    if (const std::optional<Rejection> wrong = find_fault(raw, context, registry_, now_ticks)) {
      reject(*wrong);
      if (counts) reject(Rejection::kCounts);
      counts.reset();
      continue;
    }
    // One thread's events are in order already; equal or odd times must not reorder them.
    latest_end = std::max(latest_end, raw.begin_ticks + raw.ticks);
    out.push_back({latest_end, decode(raw, context, registry_)});
    out.back().event.slot = slot;
    out.back().event.counts = take_counts(raw, context, counts);
    ++counters_.read;
  }
  // Counts and op are written together: there is nothing that it could still belong to.
  if (counts) reject(Rejection::kCounts);
}

std::optional<perfmodel::CountedExecution> ClientReader::take_counts(
    const optile_event& op, const Context& context, std::optional<optile_event>& counts) {
  if (!counts) return std::nullopt;
  const optile_event raw = *counts;
  counts.reset();
  const bool belongs = op.kind == OPTILE_EVENT_OP && raw.op_id == op.op_id;
  if (!belongs || !counts_make_sense(raw, context)) {
    reject(Rejection::kCounts);
    return std::nullopt;
  }
  perfmodel::CountedExecution execution;
  execution.key = registry_[op.op_id].key;
  execution.width = op.width;
  execution.duration = context.clock->duration(op.ticks);
  execution.regions = op.regions;
  execution.threads = raw.regions;
  execution.events = (*context.counter_groups)[raw.column];
  execution.counts = {raw.begin_ticks, raw.ticks, raw.context, raw.region_ticks};
  return execution;
}

// `count` is read by itself first: our own mask was set before, the program's after it was told.
ThreadBinding ClientReader::binding(int tid) const {
  if (tid <= 0) return {};
  const auto thread = static_cast<uint64_t>(tid);
  const optile_thread_binding& told = region_->bindings[thread % OPTILE_MAX_BINDINGS];
  ThreadBinding binding;
  binding.count = __atomic_load_n(&told.count, __ATOMIC_SEQ_CST);
  const uint64_t of = optile_load64(&told.thread);
  if (binding.count % 2 == 0 && of / 2 != thread) return binding;
  for (std::size_t i = 0; i < binding.mask.size(); ++i) {
    binding.mask.set(i, (optile_load64(&told.units[i / 64]) >> (i % 64) & 1) != 0);
  }
  binding.is_running = of % 2 != 0;
  binding.is_written = binding.count % 2 != 0 || optile_load64(&told.count) != binding.count;
  return binding;
}

std::vector<OpenRegion> ClientReader::open_regions(const TickClock& clock) const {
  std::vector<OpenRegion> found;
  const uint64_t now = clock.now();
  for (const optile_thread_slot& thread : region_->threads) {
    const uint64_t key = optile_load64(&thread.open.key);
    if (key == 0) continue;
    const uint64_t since = optile_load64(&thread.open.since);
    const uint64_t width = std::min<uint64_t>(optile_load64(&thread.open.width), kMaxWidth);
    // It ended meanwhile, and these may be another one's.
    if (since > now || optile_load64(&thread.open.key) != key) continue;
    found.push_back({key, static_cast<int>(width), clock.duration(now - since)});
  }
  return found;
}

std::vector<int> ClientReader::issuing_threads(std::size_t most) const {
  std::vector<int> found;
  for (const optile_thread_slot& thread : region_->threads) {
    const uint32_t tid = optile_load32(&thread.tid);
    if (found.size() == most) break;
    if (tid != 0 && tid <= INT32_MAX) found.push_back(static_cast<int>(tid));
  }
  return found;
}

std::vector<OpTotals> ClientReader::totals(const TickClock& clock) const {
  std::vector<OpTotals> totals(registry_.size());
  for (const optile_thread_slot& thread : region_->threads) {
    if (optile_load32(&thread.tid) == 0) continue;
    for (std::size_t i = 0; i < totals.size(); ++i) {
      const optile_aggregate& shared = thread.aggregates[i];
      const uint64_t count = optile_load64(&shared.count);
      if (count == 0) continue;
      OpTotals& total = totals[i];
      total.count += count;
      total.time = std::min(total.time + clock.duration(optile_load64(&shared.ticks)),
                            perfmodel::Nanoseconds(std::chrono::hours(24 * 365)));
      total.default_width_count += optile_load64(&shared.default_width_count);
      const perfmodel::Nanoseconds least = clock.duration(optile_load64(&shared.min_ticks));
      if (total.min.count() == 0 || (least.count() != 0 && least < total.min)) total.min = least;
    }
  }
  return totals;
}

}  // namespace optile::daemon
