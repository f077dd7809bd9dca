// Two simulated programs that run at the same time, under a controller that may try them on shared
// cores: what they get then, what is said, and what the next run knows.
#include "daemon/overlaps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "daemon/explain.h"
#include "daemon/lease_json.h"
#include "tests/daemon/controller_fixture.h"

namespace optile::daemon {
namespace {

constexpr uint64_t kLookNs = 10000000;
constexpr uint64_t kSecondNs = UINT64_C(1000000000);

class OverlapsTest : public ControllerTest {
 protected:
  OverlapsTest() {
    leases_ = true;
    start();
  }

  void start() {
    Clocks clocks;
    clocks.monotonic_ns = [this] { return now_ns_; };
    clocks.unix_seconds = [this] { return static_cast<int64_t>(now_ns_ / kSecondNs); };
    clocks.counter = clocks.monotonic_ns;
    clocks.counter_hz = []() -> std::optional<uint64_t> { return std::nullopt; };
    Controller::Dependencies dependencies;
    dependencies.machine = four_cores();
    dependencies.store = store_.get();
    dependencies.clocks = clocks;
    dependencies.read_budget = [this](int) { return budget_; };
    dependencies.confine = [this](uint64_t client, int, const std::vector<int>& units) {
      masks_[client] = units;
    };
    dependencies.say = [this](const std::string& line) { said_ += line + "\n"; };
    dependencies.busy_time = [](int) { return std::nullopt; };
    dependencies.overlaps = true;
    controller_ = std::make_unique<Controller>(std::move(dependencies));
    programs_.clear();
    masks_.clear();
  }

  bool shared() const {
    return masks_.size() == 2 && masks_.begin()->second.size() + masks_.rbegin()->second.size() > 4;
  }

  // A program whose one op scales; while cores are shared it takes `factor` times as long.
  struct Program {
    Attached attached;
    uint64_t clock_ns = 0;
  };
  void add(const std::string& name, double factor) {
    auto program = std::make_unique<Program>();
    program->clock_ns = now_ns_;
    ClientMemory memory = ClientMemory::make().value();
    const ClientMemory::Descriptors fds = memory.take_descriptors();
    const auto scales = [this, factor](int width) {
      const double alone = 40e6 / width;
      return static_cast<uint64_t>(shared() ? alone * factor : alone);
    };
    program->attached.program = std::make_unique<SimulatedProgram>(
        ClientRegions(fds.plan.get(), fds.client.get()),
        std::vector<SimulatedProgram::Op>{{0x9, "aten::rand", [](int) { return 1000u; }}},
        std::vector<SimulatedProgram::Op>{{kMatmul, "aten::mm", scales},
                                          {kAdd, "aten::add", [](int) { return 1000u; }}},
        4, &program->clock_ns);
    Hello who = hello(name);
    who.program = name;
    who.pid = static_cast<int>(programs_.size()) + 100;
    program->attached.id = controller_->arrive(who, std::move(memory)).value();
    programs_.push_back(std::move(program));
  }

  // Both at once: whoever is behind makes the next step.
  void run(
      uint64_t duration_s, const std::function<bool()>& until = [] { return false; }) {
    const uint64_t end = now_ns_ + duration_s * kSecondNs;
    while (now_ns_ < end && !until()) {
      Program& next = **std::min_element(
          programs_.begin(), programs_.end(),
          [](const auto& a, const auto& b) { return a->clock_ns < b->clock_ns; });
      next.clock_ns = std::max(next.clock_ns, now_ns_);
      next.attached.program->run_step();
      now_ns_ = std::max(now_ns_, next.clock_ns);
      if (now_ns_ >= look_at_) {
        controller_->drain();
        controller_->look_for_waiting();
        look_at_ = now_ns_ + kLookNs;
      }
      if (now_ns_ >= refresh_at_) {
        controller_->refresh_budgets();
        refresh_at_ = now_ns_ + kSecondNs;
      }
    }
  }
  uint64_t id(std::size_t place) const { return programs_[place]->attached.id; }
  const sched::OverlapCounters& counters() const { return controller_->overlaps().counters(); }
  // What is said again and again, where each word is written once.
  std::size_t lines_with(const std::string& text) const {
    std::size_t count = 0;
    for (std::size_t at = said_.find(text); at != std::string::npos; at = said_.find(text, at + 1))
      ++count;
    return count;
  }

  std::vector<std::unique_ptr<Program>> programs_;
  std::string said_;
  uint64_t look_at_ = 0;
  uint64_t refresh_at_ = 0;
};

TEST_F(OverlapsTest, WhatPaysIsKeptSaidShownAndStored) {
  add("one", 1.05);
  add("other", 1.05);
  run(300, [this] { return counters().kept > 0; });
  ASSERT_EQ(counters().kept, 1u) << said_;
  run(2);
  EXPECT_TRUE(shared());
  EXPECT_EQ(lines_with("try whether sharing"), 1u) << said_;
  EXPECT_EQ(lines_with("go on sharing"), 1u) << said_;
  const Json told = leases_json(*controller_);
  EXPECT_EQ(told["overlaps"]["now"]["state"], "kept");
  EXPECT_GT(told["overlaps"]["now"]["low"], 0.02);
  EXPECT_FALSE(told["clients"][0]["shared"].empty());
  EXPECT_EQ(told["clients"][0]["partner"], id(1));
  const Explained asked{"aten::mm", id(0), controller_->views(), store_.get()};
  const std::optional<Json> explained = explain_op(*controller_, asked);
  ASSERT_TRUE(explained);
  EXPECT_NE((*explained)["explanations"][0]["overlap"].dump().find("which pays"),
            std::string::npos);

  // The next run knows, and tries that first.
  controller_->flush(true);
  start();
  add("one", 1.05);
  add("other", 1.05);
  said_.clear();
  run(60, [this] { return counters().kept > 0; });
  EXPECT_EQ(counters().trials, 1u);
  EXPECT_EQ(counters().kept, 1u) << said_;
}

TEST_F(OverlapsTest, WhatHurtsEndsAtOnceAndIsNotTriedInTheNextRun) {
  add("one", 6.0);
  add("other", 6.0);
  run(900);
  EXPECT_EQ(counters().kept, 0u);
  EXPECT_GT(counters().aborted, 0u) << said_;
  EXPECT_FALSE(shared());
  EXPECT_LT(counters().trial_ticks, 5000u) << "of 900 seconds";
  const uint64_t trials = counters().trials;
  EXPECT_LE(trials, 5u) << "each shape once";
  controller_->flush(true);
  start();
  add("one", 6.0);
  add("other", 6.0);
  run(300);
  EXPECT_EQ(counters().trials, 0u) << said_;
}

TEST_F(OverlapsTest, UndoEndsItForTheRestOfTheRun) {
  add("one", 1.05);
  add("other", 1.05);
  run(300, [this] { return counters().kept > 0; });
  ASSERT_EQ(counters().kept, 1u) << said_;
  UndoRequest request;
  request.client = id(0);
  ASSERT_TRUE(controller_->undo(request).ok());
  EXPECT_FALSE(shared());
  const uint64_t trials = counters().trials;
  run(300);
  EXPECT_FALSE(shared());
  EXPECT_EQ(counters().trials, trials) << said_;
}

TEST_F(OverlapsTest, AWordOrAnArrivalEndsItAtOnce) {
  add("one", 1.05);
  add("other", 1.05);
  run(300, [this] { return counters().kept > 0; });
  ASSERT_EQ(counters().kept, 1u) << said_;
  run(1);
  ASSERT_TRUE(shared());
  LeaseWord word;
  word.client = id(1);
  word.kind = LeaseWord::Kind::kPause;
  ASSERT_TRUE(controller_->change_lease(word).ok());
  EXPECT_FALSE(shared());
  word.kind = LeaseWord::Kind::kResume;
  ASSERT_TRUE(controller_->change_lease(word).ok());
  run(10);
  EXPECT_TRUE(shared()) << "taken up again: " << said_;
  controller_->depart(id(1));
  masks_.erase(id(1));
  programs_.pop_back();
  EXPECT_TRUE(masks_[id(0)].empty()) << "alone: all cores, without a mask";
  EXPECT_FALSE(controller_->overlaps().view());
}

TEST_F(OverlapsTest, CurvesHearNothingOfWhatWasShared) {
  add("one", 1.05);
  add("other", 1.05);
  run(300, [this] { return counters().kept > 0; });
  ASSERT_EQ(counters().kept, 1u) << said_;
  const std::vector<double> before = controller_->leases()->curve(id(0));
  run(100);
  EXPECT_EQ(controller_->leases()->curve(id(0)), before);
}

}  // namespace
}  // namespace optile::daemon
