// Regions of a program's own: why they are left alone, in words, and those that do not return.
#include <gmock/gmock.h>

#include "daemon/client/hang_detector.h"
#include "daemon/views/json_views.h"
#include "daemon/views/region_reasons.h"
#include "tests/daemon/fixtures/controller_fixture.h"

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

TEST(RegionReasons, DescribesEachReason) {
  EXPECT_EQ(region_reasons(OPTILE_REGION_TUNED), "");
  EXPECT_THAT(region_reasons(OPTILE_REGION_NOT_ASKED), HasSubstr("--regions=tune"));
  EXPECT_THAT(region_reasons(OPTILE_REGION_ENVIRONMENT), HasSubstr("you said so"));
  EXPECT_THAT(region_reasons(OPTILE_REGION_CLAUSE | OPTILE_REGION_ASKS), HasSubstr("clause; "));
  EXPECT_THAT(region_reasons(OPTILE_REGION_PER_THREAD), HasSubstr("threadprivate"));
  EXPECT_EQ(region_reasons(OPTILE_REGION_NOT_ASKED | OPTILE_REGION_CLAUSE),
            region_reasons(OPTILE_REGION_NOT_ASKED))
      << "nothing else was looked at";
  EXPECT_THAT(region_reasons(0), HasSubstr("observed only"));
}

TEST(HangDetector, ThresholdGrowsWithUsualDuration) {
  EXPECT_FALSE(hangs(milliseconds(2900), milliseconds(1)));
  EXPECT_TRUE(hangs(milliseconds(3100), milliseconds(1)));
  EXPECT_TRUE(hangs(milliseconds(3100), milliseconds(0)));
  EXPECT_FALSE(hangs(milliseconds(19000), milliseconds(100)));
  EXPECT_TRUE(hangs(milliseconds(21000), milliseconds(100)));
}

class ClientHangs : public ControllerTest {
 protected:
  static constexpr uint64_t kRegion = 0x77;

  struct Program {
    uint64_t id = 0;
    ClientRegions regions;
    uint32_t op = 0;

    void tuning(uint64_t word) { optile_store64(&regions.client().ops[op].tuning, word); }
    void open(uint64_t since_ns, uint32_t width) {
      optile_thread_slot& slot = regions.client().threads[0];
      slot.open.width = width;
      slot.open.since = since_ns;
      optile_store64(&slot.open.key, kRegion);
    }
    void close() { optile_store64(&regions.client().threads[0].open.key, 0); }
  };

  // What the page in force has for the region wherever it is; nullptr: nothing.
  static const optile_plan_entry* entry_of(const Program& program) {
    const optile_plan_region& plan = program.regions.plan();
    for (const optile_plan_entry& entry : plan.pages[plan.generation & 1].slots) {
      if (entry.key == kRegion && entry.context == 0) return &entry;
    }
    return nullptr;
  }
  static bool is_left(const Program& program) {
    const optile_plan_entry* entry = entry_of(program);
    return entry != nullptr && (entry->flags & OPTILE_ENTRY_LEAVE) != 0 && entry->width == 0;
  }

  Program attach_region() {
    ClientMemory memory = ClientMemory::make().value();
    const ClientMemory::Descriptors fds = memory.take_descriptors();
    Program program;
    program.regions = ClientRegions(fds.plan.get(), fds.client.get());
    program.regions.begin(now_ns_, 4);
    program.op = program.regions.register_op(kRegion, "region sweeps+0x10", "");
    optile_op_record& record = program.regions.client().ops[program.op];
    record.flags = OPTILE_OP_REGION;
    record.tuning = OPTILE_REGION_TUNED;
    optile_thread_slot& slot = program.regions.client().threads[0];
    optile_store32(&slot.tid, 100);
    slot.aggregates[program.op].count = 1000;
    slot.aggregates[program.op].ticks = UINT64_C(1000) * 1000000;  // a millisecond each
    program.id = controller_->arrive(attach_request("sweeps"), std::move(memory)).value();
    controller_->drain();
    return program;
  }

  // While the daemon looks several times a second.
  void pass(milliseconds time) {
    constexpr milliseconds kLook{100};
    for (; time > kLook; time -= kLook) pass_unwatched(kLook);
    pass_unwatched(time);
  }
  void pass_unwatched(milliseconds time) {
    now_ns_ += static_cast<uint64_t>(time.count()) * 1000000;
    controller_->drain();
  }
  bool known_to_hang(const Program& program) const {
    return controller_->view(program.id)->hangs.contains(kRegion);
  }
};

// fault: F46
TEST_F(ClientHangs, HungRegionIsLeftAloneUntilRevoked) {
  Program first = attach_region();
  first.open(now_ns_, 2);
  pass(milliseconds(2000));
  EXPECT_FALSE(known_to_hang(first));
  pass(milliseconds(1500));
  ASSERT_TRUE(known_to_hang(first));
  EXPECT_EQ(controller_->view(first.id)->hangs.at(kRegion).width, 2);
  EXPECT_TRUE(is_left(first)) << "at once";
  controller_->depart(first.id);
  const Program later = attach_region();
  EXPECT_TRUE(known_to_hang(later)) << "also in later runs";
  EXPECT_TRUE(is_left(later)) << "from the first page on";
  UndoRequest take_back;
  take_back.program = "train.py";
  take_back.revoke = true;
  ASSERT_TRUE(controller_->undo(take_back).ok());
  const Program forgiven = attach_region();
  EXPECT_FALSE(is_left(forgiven));
  EXPECT_FALSE(known_to_hang(forgiven)) << "until somebody takes it back";
}

// One width for everything is no entry: the region must have its own all the same.
TEST_F(ClientHangs, HungRegionKeepsDefaultWidthOnFewerCores) {
  Program first = attach_region();
  first.open(now_ns_, 2);
  pass(milliseconds(3500));
  ASSERT_TRUE(known_to_hang(first));
  controller_->depart(first.id);
  const Program later = attach_region();
  budget_.cores = 2;
  budget_.units.resize(2);
  controller_->lease_manager().refresh_budgets();
  pass(milliseconds(10));
  const optile_plan_region& plan = later.regions.plan();
  ASSERT_EQ(plan.pages[plan.generation & 1].default_width_cap, 2U);
  EXPECT_TRUE(is_left(later));
}

// A client whose sampling is paused looks nothing up, and whatever it opens has the lease's width.
TEST_F(ClientHangs, ProgramWithHungRegionDoesNotRest) {
  for (const bool hung : {false, true}) {
    StoreBatch batch;
    if (hung) {
      batch.hangs = {{controller_->machine().fingerprint, "train.py", kRegion, "region", 2, 1}};
    }
    ASSERT_TRUE(store_->write(batch).ok());
    const std::vector<SimulatedProgram::Op> scaling(1, training_step().front());
    Attached attached =
        attach(attach_request(hung ? "with" : "without"), OPTILE_WIDTH_LAUNCHER, scaling);
    budget_.cores = 2;
    budget_.units = {0, 1};
    controller_->lease_manager().refresh_budgets();
    ASSERT_TRUE(run_until_tuned(attached, 3000));
    run(attached, 60);
    const optile_plan_region& plan = attached.program->regions().plan();
    const optile_plan_page& page = plan.pages[plan.generation & 1];
    ASSERT_EQ(page.default_width_cap, 2U);
    EXPECT_EQ((page.flags & OPTILE_PAGE_MAY_PAUSE_SAMPLING) != 0, !hung);
    controller_->depart(attached.id);
    budget_ = whole_budget(four_cores());
    controller_->lease_manager().refresh_budgets();
  }
}

// fault: F46
TEST_F(ClientHangs, TimeWhileProgramIsStoppedDoesNotCount) {
  Program program = attach_region();
  program.open(now_ns_, 2);
  pass(milliseconds(100));
  stopped_ = true;
  controller_->lease_manager().refresh_budgets();
  pass(milliseconds(100000));
  stopped_ = false;
  controller_->lease_manager().refresh_budgets();
  pass(milliseconds(2900));
  EXPECT_FALSE(known_to_hang(program));
  pass(milliseconds(200));
  EXPECT_TRUE(known_to_hang(program));
}

// Among many clients it may be a while until all have been looked at.
TEST_F(ClientHangs, StopBetweenBudgetRefreshesDoesNotCount) {
  Program program = attach_region();
  controller_->lease_manager().refresh_budgets();
  program.open(now_ns_, 2);
  pass(milliseconds(500));
  stopped_ = true;
  pass(milliseconds(100000));
  stopped_ = false;
  pass(milliseconds(2900));
  EXPECT_FALSE(known_to_hang(program));
  pass(milliseconds(200));
  EXPECT_TRUE(known_to_hang(program));
}

// Both are frozen, or the machine is.
// fault: F46
TEST_F(ClientHangs, TimeBetweenDistantDrainsDoesNotCount) {
  Program program = attach_region();
  program.open(now_ns_, 2);
  pass(milliseconds(500));
  pass_unwatched(milliseconds(60000));
  pass(milliseconds(2900));
  EXPECT_FALSE(known_to_hang(program));
  pass(milliseconds(200));
  EXPECT_TRUE(known_to_hang(program));
}

TEST_F(ClientHangs, RegionThatReturnsInTimeIsNoHang) {
  Program program = attach_region();
  program.open(now_ns_, 2);
  pass(milliseconds(2900));
  program.close();
  pass(milliseconds(2000));
  EXPECT_FALSE(known_to_hang(program));
  program.open(now_ns_, 2);
  pass(milliseconds(2900));
  EXPECT_FALSE(known_to_hang(program)) << "it began anew";
}

TEST_F(ClientHangs, RegionIsTunedUntilReasonForbids) {
  Program program = attach_region();
  const auto tuned = [&] {
    const ClientView view = *controller_->view(program.id);
    return !view.ops.at(kRegion).observed_only();
  };
  EXPECT_TRUE(tuned());
  program.tuning(OPTILE_REGION_PROGRAM);
  pass(milliseconds(10));
  EXPECT_FALSE(tuned());
  program.tuning(OPTILE_REGION_TUNED | OPTILE_REGION_NESTED);
  pass(milliseconds(10));
  EXPECT_FALSE(tuned()) << "a reason counts for more";
  program.tuning(0);
  pass(milliseconds(10));
  EXPECT_FALSE(tuned()) << "nothing is known";
}

}  // namespace
}  // namespace optile::daemon
