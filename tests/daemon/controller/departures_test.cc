// What clients leave behind: written together, and found by whoever comes next.
#include <gtest/gtest.h>

#include "tests/daemon/fixtures/controller_fixture.h"

namespace optile::daemon {
namespace {

constexpr int kStepsOfARun = 200;  // enough to be known by their time

class DeparturesTest : public ControllerTest {
 protected:
  Attached that_ran(const std::string& program) {
    AttachRequest who = attach_request(program);
    who.program = program;
    who.baseline = true;
    who.launch_plan = "";
    Attached attached = attach(who);
    run(attached, kStepsOfARun);
    return attached;
  }
  uint64_t writes() const { return controller_->history().batches().writes(); }
  std::size_t runs_in_store(const std::string& program) {
    Conditions asked;
    asked.machine = controller_->machine().fingerprint;
    asked.program = {"/usr/bin/python3", program, "python3 train.py"};
    return store_->find_runs(asked).size();
  }
  bool is_undone(const std::string& program) {
    Conditions asked;
    asked.machine = controller_->machine().fingerprint;
    asked.program.program = program;
    return store_->is_undone(asked);
  }
  void pass(std::chrono::milliseconds time) {
    now_ns_ += static_cast<uint64_t>(time.count()) * 1000000;
  }
};

TEST_F(DeparturesTest, WritesSimultaneousDeparturesInOneBatch) {
  constexpr std::size_t kRanks = 16;
  std::vector<Attached> ranks;
  for (std::size_t i = 0; i < kRanks; ++i) ranks.push_back(that_ran("rank"));
  controller_->history().batches().flush(true);
  const uint64_t before = writes();
  for (const Attached& rank : ranks) controller_->depart(rank.id);
  EXPECT_LE(writes(), before + 1);
  const std::optional<std::chrono::milliseconds> soon =
      controller_->history().batches().next_write();
  ASSERT_TRUE(soon.has_value());
  EXPECT_LE(*soon, StoreBatches::kTogether + std::chrono::milliseconds(1));
  pass(*soon);
  controller_->history().batches().flush(false);
  EXPECT_LE(writes(), before + 2);
  EXPECT_EQ(runs_in_store("rank"), kRanks);
  EXPECT_EQ(controller_->history().batches().pending(), 0u);
  EXPECT_FALSE(controller_->history().batches().next_write().has_value());
}

TEST_F(DeparturesTest, ArrivalWritesPendingRunOfSameProgram) {
  Attached left = that_ran("train.py");
  controller_->depart(left.id);
  ASSERT_TRUE(controller_->arrive(attach_request("next"), ClientMemory::make().value()).ok());
  EXPECT_EQ(runs_in_store("train.py"), 1u);
}

TEST_F(DeparturesTest, EarlierRunsIncludeRunThatHasJustEnded) {
  Attached left = that_ran("train.py");
  controller_->depart(left.id);
  EXPECT_EQ(daemon::earlier_runs(controller_->history(), *controller_->find_run("train.py").client)
                .size(),
            1u);
}

// The store has not heard of it until then.
TEST_F(DeparturesTest, UndoCoversProgramThatHasJustDeparted) {
  Attached left = that_ran("train.py");
  controller_->depart(left.id);
  ASSERT_TRUE(controller_->undo({}).ok());
  EXPECT_TRUE(is_undone("train.py"));
}

}  // namespace
}  // namespace optile::daemon
