#include "daemon/client/client_reader.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tests/daemon/fixtures/fake_client.h"

namespace optile::daemon {
namespace {

constexpr uint64_t kNow = UINT64_C(5000000000);
constexpr uint64_t kAttach = UINT64_C(1000000000);

Clocks fixed_clocks() {
  Clocks clocks;
  clocks.monotonic_ns = [] { return kNow; };
  clocks.counter = [] { return kNow; };
  clocks.counter_hz = []() -> std::optional<uint64_t> { return UINT64_C(2000000000); };
  clocks.unix_seconds = [] { return int64_t{1700000000}; };
  return clocks;
}

class ClientReaderTest : public testing::Test {
 protected:
  ClientReaderTest()
      : memory_(ClientMemory::make().value()),
        fds_(memory_.take_descriptors()),
        regions_(fds_.plan.get(), fds_.client.get()),
        reader_(memory_.client()),
        clock_(TickClock::make(OPTILE_CLOCK_MONOTONIC_NS, UINT64_C(1000000000), kAttach,
                               fixed_clocks())) {}

  std::vector<ClientEvent> read() {
    reader_.mark();
    reader_.new_ops();
    return reader_.read({&*clock_, &schedule_lengths_, &groups_});
  }
  // Five, six, seven and eight of the group's events, on four threads.
  optile_event counts_of(uint32_t id, uint8_t group) {
    optile_event event{};
    event.kind = OPTILE_EVENT_COUNTS;
    event.op_id = id;
    event.column = group;
    event.regions = 4;
    event.begin_ticks = 5;
    event.ticks = 6;
    event.context = 7;
    event.region_ticks = 8;
    return event;
  }
  optile_event op_event(uint32_t id, uint64_t begin, uint64_t ticks) {
    optile_event event{};
    event.kind = OPTILE_EVENT_OP;
    event.op_id = id;
    event.begin_ticks = begin;
    event.ticks = ticks;
    event.width = 4;
    return event;
  }
  uint64_t rejected(Rejection why) {
    return reader_.counters().rejected_by[static_cast<std::size_t>(why)];
  }

  ClientMemory memory_;
  ClientMemory::Descriptors fds_;
  ClientRegions regions_;
  ClientReader reader_;
  std::optional<TickClock> clock_;
  std::vector<uint8_t> schedule_lengths_ = {0, 4};  // plans 1 and 2
  std::vector<std::array<perfmodel::CountedEvent, OPTILE_GROUP_EVENTS>> groups_ = {
      {perfmodel::CountedEvent::kCycles, perfmodel::CountedEvent::kInstructions},
      {perfmodel::CountedEvent::kTaskClockNs}};
};

TEST_F(ClientReaderTest, HeaderIsEmptyUntilWrittenByClient) {
  EXPECT_FALSE(reader_.header().has_value());
  regions_.begin(kAttach, 4);
  ASSERT_TRUE(reader_.header().has_value());
  EXPECT_EQ(reader_.header()->default_width, 4);
  EXPECT_EQ(reader_.header()->runtime, perfmodel::Runtime::kLibgomp);
}

TEST_F(ClientReaderTest, ReadsNamesOfAllBlasLibraries) {
  regions_.begin(kAttach, 4);
  optile_client_header& header = regions_.client().header;
  const std::string paths("/lib/libblas.so.3\0one.so\0two\x01.so\0", 33);
  std::memcpy(header.blas_path, paths.data(), paths.size());
  header.blas_beside = 3;
  EXPECT_TRUE(reader_.header()->beside_names.empty()) << "not complete";
  header.blas_ready = 1;
  EXPECT_EQ(reader_.header()->blas_path, "/lib/libblas.so.3");
  EXPECT_EQ(reader_.header()->beside_names, (std::vector<std::string>{"one.so", "two?.so"}));
  header.blas_beside = 1;
  EXPECT_EQ(reader_.header()->beside_names.size(), 1U);
  // What a hostile client may write.
  header.blas_beside = UINT32_MAX;
  std::memset(header.blas_path, 'x', sizeof header.blas_path);
  EXPECT_TRUE(reader_.header()->beside_names.empty());
  for (std::size_t i = 0; i < sizeof header.blas_path; i += 2) header.blas_path[i] = '\0';
  EXPECT_LE(reader_.header()->beside_names.size(), 64U);
}

TEST_F(ClientReaderTest, ReadsBindingOfMatchingThreadOnly) {
  constexpr int kThread = 1000;
  optile_thread_binding& told = regions_.client().bindings[kThread % OPTILE_MAX_BINDINGS];
  EXPECT_EQ(reader_.binding(kThread), ThreadBinding());
  told = {2, 2 * kThread + 1, {0, 1}};
  EXPECT_EQ(reader_.binding(kThread), (ThreadBinding{2, false, true, unit_set({64})}));
  told.thread = 2 * kThread;
  EXPECT_EQ(reader_.binding(kThread), (ThreadBinding{2, false, false, unit_set({64})}));
  EXPECT_TRUE(reader_.binding(kThread + int{OPTILE_MAX_BINDINGS}).mask.none()) << "another's";
  told.count = 3;
  EXPECT_TRUE(reader_.binding(kThread).is_written);
  EXPECT_EQ(reader_.binding(-1), ThreadBinding());
}

TEST_F(ClientReaderTest, EventsAreOrderedByEndAcrossThreads) {
  const uint32_t a = regions_.register_op(11, "a", "");
  const uint32_t b = regions_.register_op(22, "b", "");
  regions_.write(op_event(a, kAttach + 100, 50), 0);
  regions_.write(op_event(a, kAttach + 300, 50), 0);
  regions_.write(op_event(b, kAttach + 150, 60), 1);
  const std::vector<ClientEvent> events = read();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].op->place.key, 11u);
  EXPECT_EQ(events[1].op->place.key, 22u);
  EXPECT_EQ(events[2].op->begin, std::chrono::nanoseconds(300));
  EXPECT_EQ(reader_.tail(0), 2u);
  EXPECT_EQ(reader_.tail(1), 1u);
  EXPECT_TRUE(read().empty());
}

TEST_F(ClientReaderTest, EqualEndsKeepRingOrder) {
  const uint32_t a = regions_.register_op(11, "a", "");
  regions_.write(op_event(a, kAttach + 100, 50));
  optile_event step = op_event(0, kAttach + 100, 50);
  step.kind = OPTILE_EVENT_STEP;
  regions_.write(step);
  const std::vector<ClientEvent> events = read();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_TRUE(events[0].op.has_value());
  EXPECT_TRUE(events[1].step.has_value());
}

TEST_F(ClientReaderTest, DecodesStepFields) {
  optile_event step = op_event(0, kAttach + 100, 1000);
  step.kind = OPTILE_EVENT_STEP;
  step.context = 900;
  step.region_ticks = 2000;  // more than the step: several threads
  step.regions = 12;
  step.width_changes = 3;
  step.generation_low = 2;
  step.flags = OPTILE_EVENT_SCHEDULED | OPTILE_EVENT_MIXED_GENERATION;
  step.column = 3;
  regions_.write(step);
  const std::vector<ClientEvent> events = read();
  ASSERT_EQ(events.size(), 1u);
  const tuner::StepEvent& seen = *events[0].step;
  EXPECT_EQ(seen.observed, std::chrono::nanoseconds(900));
  EXPECT_EQ(seen.steerable, std::chrono::nanoseconds(900));
  EXPECT_EQ(seen.ops, 12u);
  EXPECT_EQ(seen.width_changes, 3u);
  EXPECT_EQ(seen.plan, 2u);
  EXPECT_EQ(seen.column, 3);
  EXPECT_TRUE(seen.mixed);
}

TEST_F(ClientReaderTest, DecodesStepThatWasUnheard) {
  optile_event step = op_event(0, kAttach + 100, 1000);
  step.kind = OPTILE_EVENT_STEP;
  regions_.write(step);
  step.flags = OPTILE_EVENT_UNHEARD;
  regions_.write(step);
  const std::vector<ClientEvent> events = read();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_TRUE(events[0].step->heard);
  EXPECT_FALSE(events[1].step->heard);
  EXPECT_EQ(reader_.counters().rejected, 0u);
}

TEST_F(ClientReaderTest, CountsAttachToFollowingOp) {
  const uint32_t a = regions_.register_op(11, "a", "");
  regions_.write(counts_of(a, 0));
  regions_.write(op_event(a, kAttach + 100, 50));
  regions_.write(op_event(a, kAttach + 200, 50));
  const std::vector<ClientEvent> events = read();
  ASSERT_EQ(events.size(), 2u);
  ASSERT_TRUE(events[0].counts.has_value());
  EXPECT_EQ(events[0].counts->key, 11u);
  EXPECT_EQ(events[0].counts->width, 4);
  EXPECT_EQ(events[0].counts->threads, 4u);
  EXPECT_EQ(events[0].counts->duration, std::chrono::nanoseconds(50));
  EXPECT_EQ(events[0].counts->events, groups_[0]);
  EXPECT_EQ(events[0].counts->counts[3], 8u);
  EXPECT_FALSE(events[1].counts.has_value());
  EXPECT_EQ(reader_.counters().rejected, 0u);
  EXPECT_EQ(reader_.counters().read, 2u);
}

TEST_F(ClientReaderTest, CountsWithoutOpAreRejected) {
  const uint32_t a = regions_.register_op(11, "a", "");
  const uint32_t b = regions_.register_op(22, "b", "");
  regions_.write(counts_of(a, 0));  // another follows
  regions_.write(counts_of(a, 0));  // of another op
  regions_.write(op_event(b, kAttach + 100, 50));
  optile_event step = op_event(a, kAttach + 200, 50);
  step.kind = OPTILE_EVENT_STEP;
  regions_.write(counts_of(a, 0));  // before a step
  regions_.write(step);
  optile_event broken = op_event(a, kAttach + 300, UINT64_MAX);
  regions_.write(counts_of(a, 0));  // before an op that makes no sense
  regions_.write(broken);
  regions_.write(op_event(a, kAttach + 400, 50));
  regions_.write(counts_of(a, 0));  // before nothing
  const std::vector<ClientEvent> events = read();
  EXPECT_EQ(events.size(), 3u);
  for (const ClientEvent& event : events) EXPECT_FALSE(event.counts.has_value());
  EXPECT_EQ(rejected(Rejection::kCounts), 5u);
  regions_.write(op_event(a, kAttach + 500, 50), 0);
  ASSERT_EQ(read().size(), 1u);
}

TEST_F(ClientReaderTest, InvalidCountsAreRejected) {
  const uint32_t a = regions_.register_op(11, "a", "");
  uint64_t wrong = 0;
  const auto send = [&](auto change) {
    optile_event counts = counts_of(a, 0);
    change(counts);
    regions_.write(counts);
    regions_.write(op_event(a, kAttach + 100, 50));
    const std::vector<ClientEvent> events = read();
    ASSERT_EQ(events.size(), 1u);
    EXPECT_FALSE(events[0].counts.has_value());
    EXPECT_EQ(rejected(Rejection::kCounts), ++wrong);
  };
  send([](optile_event& e) { e.column = 2; });
  send([](optile_event& e) { e.column = 255; });
  send([](optile_event& e) { e.regions = 0; });
  send([](optile_event& e) { e.regions = UINT32_MAX; });
  send([](optile_event& e) { e.flags = OPTILE_EVENT_SCHEDULED; });
  send([](optile_event& e) { e.op_id = 1000; });
  send([](optile_event& e) { e.begin_ticks = UINT64_MAX; });
  send([](optile_event& e) { e.region_ticks = uint64_t{1} << 60; });
  groups_.clear();
  send([](optile_event&) {});
}

TEST_F(ClientReaderTest, ReadsCounterTierAndGroups) {
  regions_.begin(kAttach, 4);
  EXPECT_EQ(reader_.header()->counter_tier, perfmodel::CounterTier::kNone);
  optile_client_header& header = regions_.client().header;
  header.counter_groups = 77;  // more than there can be
  header.counter_events[0][1] = OPTILE_COUNT_INSTRUCTIONS;
  header.counter_events[3][0] = 200;
  header.counter_errno = -5;
  EXPECT_TRUE(reader_.header()->counter_groups.empty()) << "before the tier is set";
  header.counter_tier = OPTILE_COUNTERS_HARDWARE;
  const ClientHeader seen = *reader_.header();
  EXPECT_EQ(seen.counter_tier, perfmodel::CounterTier::kHardware);
  ASSERT_EQ(seen.counter_groups.size(), std::size_t{OPTILE_COUNTER_GROUPS});
  EXPECT_EQ(seen.counter_groups[0][1], perfmodel::CountedEvent::kInstructions);
  EXPECT_EQ(seen.counter_groups[3][0], perfmodel::CountedEvent::kNothing);
  EXPECT_EQ(seen.counter_errno, 0);
  header.counter_tier = 9;
  EXPECT_EQ(reader_.header()->counter_tier, perfmodel::CounterTier::kNone);
}

TEST_F(ClientReaderTest, InvalidEventsAreRejected) {
  const uint32_t a = regions_.register_op(11, "a", "");
  const auto send = [&](auto change) {
    optile_event event = op_event(a, kAttach + 100, 50);
    change(event);
    regions_.write(event);
    EXPECT_TRUE(read().empty());
  };
  send([](optile_event& e) { e.kind = 7; });
  EXPECT_EQ(rejected(Rejection::kKind), 1u);
  send([](optile_event& e) { e.flags = 0x8000; });
  EXPECT_EQ(rejected(Rejection::kKind), 2u);
  send([](optile_event& e) { e.op_id = 1; });
  send([](optile_event& e) { e.op_id = 0xffffffff; });
  EXPECT_EQ(rejected(Rejection::kOp), 2u);
  send([](optile_event& e) { e.width = 0xffff; });
  send([](optile_event& e) { e.binding = 3; });
  EXPECT_EQ(rejected(Rejection::kWidth), 2u);
  send([](optile_event& e) { e.begin_ticks = kNow + 10000000; });
  send([](optile_event& e) { e.ticks = UINT64_MAX; });
  send([](optile_event& e) { e.ticks = kNow; });
  EXPECT_EQ(rejected(Rejection::kTime), 3u);
  send([](optile_event& e) { e.generation_low = 3; });
  EXPECT_EQ(rejected(Rejection::kPlan), 1u);
  send([](optile_event& e) {
    e.generation_low = 1;  // whose schedule is empty
    e.flags = OPTILE_EVENT_SCHEDULED;
  });
  send([](optile_event& e) {
    e.generation_low = 2;
    e.flags = OPTILE_EVENT_SCHEDULED;
    e.column = 4;
  });
  EXPECT_EQ(rejected(Rejection::kColumn), 2u);
  EXPECT_EQ(reader_.counters().rejected, 12u);
  regions_.write(op_event(a, kAttach + 100, 50));  // and a good one still passes
  EXPECT_EQ(read().size(), 1u);
}

TEST_F(ClientReaderTest, FullRingIsReadAndDropsAreCounted) {
  const uint32_t a = regions_.register_op(11, "a", "");
  uint64_t dropped = 0;
  for (uint32_t i = 0; i < OPTILE_RING_EVENTS + 10; ++i) {
    if (!regions_.write(op_event(a, kAttach + i, 1))) ++dropped;
  }
  EXPECT_EQ(dropped, 10u);
  EXPECT_EQ(read().size(), OPTILE_RING_EVENTS);
  EXPECT_EQ(reader_.counters().dropped, 10u);
  EXPECT_DOUBLE_EQ(reader_.fill(), 1.0);
}

TEST_F(ClientReaderTest, ImpossibleRingPositionIsSkipped) {
  const uint32_t a = regions_.register_op(11, "a", "");
  optile_store64(&regions_.client().threads[0].head, UINT64_C(1) << 60);
  EXPECT_TRUE(read().empty());
  EXPECT_EQ(rejected(Rejection::kRing), 1u);
  optile_thread_slot& slot = regions_.client().threads[0];
  slot.ring[slot.head % OPTILE_RING_EVENTS] = op_event(a, kAttach + 1, 1);
  optile_store64(&slot.head, slot.head + 1);
  EXPECT_EQ(read().size(), 1u);
}

TEST_F(ClientReaderTest, NamesAreSanitisedAndKeylessRecordsKeepSlot) {
  regions_.register_op(0, "nothing", "");
  regions_.register_op(5, "a\nb\"\x01", "[1]");
  optile_op_record& third = regions_.client().ops[2];
  third.key = 6;
  std::memset(third.name, 'n', sizeof third.name);
  optile_store32(&regions_.client().header.registry_count, 3);
  const std::vector<perfmodel::OpDescription> ops = reader_.new_ops();
  ASSERT_EQ(ops.size(), 2u);
  EXPECT_EQ(ops[0].name, "a?b\"?");
  EXPECT_EQ(ops[1].name.size(), OPTILE_NAME_BYTES);
  EXPECT_EQ(reader_.registry().size(), 3u);
  EXPECT_EQ(rejected(Rejection::kRecord), 1u);
}

TEST_F(ClientReaderTest, TotalsAddUpOverThreads) {
  regions_.register_op(11, "a", "");
  for (uint32_t thread = 0; thread < 2; ++thread) {
    optile_thread_slot& slot = regions_.client().threads[thread];
    slot.tid = 7;
    slot.aggregates[0].count = 3;
    slot.aggregates[0].ticks = 300;
    slot.aggregates[0].min_ticks = 90 + thread;
  }
  reader_.new_ops();
  const std::vector<OpTotals> totals = reader_.totals(*clock_);
  ASSERT_EQ(totals.size(), 1u);
  EXPECT_EQ(totals[0].count, 6u);
  EXPECT_EQ(totals[0].time, std::chrono::nanoseconds(600));
  EXPECT_EQ(totals[0].min, std::chrono::nanoseconds(90));
}

TEST_F(ClientReaderTest, RandomMemoryIsReadSafely) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  auto* words = reinterpret_cast<uint64_t*>(&regions_.client());
  const std::size_t count = sizeof(optile_client_region) / sizeof(uint64_t);
  for (int round = 0; round < 20; ++round) {
    for (std::size_t i = 0; i < count; i += 1 + random() % 64) words[i] = random();
    // Some rounds look right on the outside.
    if (round % 2 == 0) regions_.begin(kAttach, 4);
    for (optile_thread_slot& slot : regions_.client().threads) {
      if (random() % 2 == 0) slot.head = reader_.tail(0) + random() % (OPTILE_RING_EVENTS + 2);
    }
    const std::optional<ClientHeader> header = reader_.header();
    if (header) {
      EXPECT_LE(header->registry_count, OPTILE_MAX_OPS);
      TickClock::make(header->clock_kind, header->ticks_per_second, header->attach_ticks,
                      fixed_clocks());
    }
    for (const ClientEvent& event : read()) {
      EXPECT_NE(event.op.has_value(), event.step.has_value());
      if (event.op) {
        EXPECT_NE(event.op->place.key, 0u);
      }
    }
    reader_.totals(*clock_);
    EXPECT_LE(reader_.registry().size(), OPTILE_MAX_OPS);
  }
}

TEST(TickClock, AcceptsOnlyClocksOfThisMachine) {
  const Clocks clocks = fixed_clocks();
  EXPECT_TRUE(TickClock::make(OPTILE_CLOCK_MONOTONIC_NS, UINT64_C(1000000000), 0, clocks));
  EXPECT_FALSE(TickClock::make(OPTILE_CLOCK_MONOTONIC_NS, 1000, 0, clocks));
  EXPECT_FALSE(TickClock::make(99, UINT64_C(1000000000), 0, clocks));
  EXPECT_TRUE(TickClock::make(OPTILE_CLOCK_CPU_COUNTER, UINT64_C(2000000000), 0, clocks));
  EXPECT_TRUE(TickClock::make(OPTILE_CLOCK_CPU_COUNTER, UINT64_C(2010000000), 0, clocks));
  EXPECT_FALSE(TickClock::make(OPTILE_CLOCK_CPU_COUNTER, UINT64_C(2100000000), 0, clocks));
  EXPECT_FALSE(TickClock::make(OPTILE_CLOCK_CPU_COUNTER, 0, 0, clocks));
  Clocks unsteady = clocks;
  unsteady.counter_hz = []() -> std::optional<uint64_t> { return std::nullopt; };
  EXPECT_FALSE(TickClock::make(OPTILE_CLOCK_CPU_COUNTER, UINT64_C(2000000000), 0, unsteady));
}

TEST(TickClock, ConvertsTicks) {
  const auto clock =
      TickClock::make(OPTILE_CLOCK_CPU_COUNTER, UINT64_C(2000000000), 1000, fixed_clocks());
  ASSERT_TRUE(clock);
  EXPECT_EQ(clock->duration(200), std::chrono::nanoseconds(100));
  EXPECT_EQ(clock->since_attach(1200), std::chrono::nanoseconds(100));
  EXPECT_EQ(clock->since_attach(10), std::chrono::nanoseconds(0));
  EXPECT_GT(clock->duration(UINT64_MAX), std::chrono::nanoseconds(0));  // no overflow
  EXPECT_GT(clock->since_attach(UINT64_MAX), std::chrono::nanoseconds(0));
}

TEST(TickClock, RepresentsYearsSinceAttach) {
  const auto clock =
      TickClock::make(OPTILE_CLOCK_MONOTONIC_NS, UINT64_C(1000000000), 0, fixed_clocks());
  ASSERT_TRUE(clock);
  const std::chrono::nanoseconds three_years = std::chrono::hours(3 * 365 * 24);
  EXPECT_EQ(clock->since_attach(static_cast<uint64_t>(three_years.count())), three_years);
}

TEST(SystemClocks, CounterRateIsPlausibleIfKnown) {
  const Clocks clocks = system_clocks();
  const std::optional<uint64_t> hz = clocks.counter_hz();
  if (hz && *hz != 0) {
    EXPECT_GT(*hz, UINT64_C(1000000));
  }
  EXPECT_GT(clocks.unix_seconds(), 1600000000);
}

}  // namespace
}  // namespace optile::daemon
