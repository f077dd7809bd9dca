// Many clients that want counters at once get them a few at a time.
#include "daemon/controller/counting_turns.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <set>
#include <vector>

#include "tests/daemon/fixtures/controller_fixture.h"

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Time = CountingTurns::Time;

std::vector<uint64_t> all_of(CountingTurns& turns, Time now) {
  std::vector<uint64_t> begun;
  while (const auto client = turns.next(now)) begun.push_back(*client);
  return begun;
}

TEST(CountingTurns, SingleClientBeginsAtOnce) {
  CountingTurns turns;
  EXPECT_EQ(turns.next(Time(0)), std::nullopt);
  turns.ask(7);
  EXPECT_EQ(turns.next(Time(0)), 7u);
  EXPECT_EQ(turns.next(seconds(9)), std::nullopt);
}

// fault: F13
TEST(CountingTurns, ThousandClientsBeginInOrderAtLimitedRate) {
  CountingTurns turns;
  for (int again = 0; again < 3; ++again) {
    for (uint64_t client = 1; client <= 1000; ++client) turns.ask(client);
  }
  const Time begin = seconds(100);
  uint64_t latest = CountingTurns::kAtOnce;
  EXPECT_EQ(all_of(turns, begin).size(), latest);
  // Looked at more often than anybody begins, they begin one every 125 ms.
  for (Time now = begin; now < begin + seconds(10); now += milliseconds(5)) {
    for (const uint64_t client : all_of(turns, now)) EXPECT_EQ(client, ++latest);
    EXPECT_LE(latest,
              CountingTurns::kAtOnce + static_cast<uint64_t>((now - begin) / milliseconds(125)));
  }
  EXPECT_EQ(latest, CountingTurns::kAtOnce + 79u);
  // Looked at rarely, no more begin together than at the start.
  EXPECT_EQ(all_of(turns, begin + seconds(60)).size(), std::size_t{CountingTurns::kAtOnce});
}

TEST(CountingTurns, ForgottenClientsAreSkipped) {
  CountingTurns turns;
  for (uint64_t client = 1; client <= 20; ++client) turns.ask(client);
  all_of(turns, seconds(1));
  for (uint64_t client = 9; client <= 19; ++client) turns.forget(client);
  turns.forget(77);
  EXPECT_EQ(turns.next(seconds(1) + CountingTurns::kEvery), 20u);
  turns.ask(9);
  EXPECT_EQ(all_of(turns, seconds(9)), std::vector<uint64_t>{9});
}

using ControllerCountersTest = ControllerTest;

// fault: F13
TEST_F(ControllerCountersTest, ManyClientsCountAtLimitedRate) {
  constexpr std::size_t kMany = 24;
  AttachRequest who = attach_request("crowd");
  who.mode = OPTILE_MODE_OBSERVE;
  std::vector<Attached> crowd;
  for (std::size_t i = 0; i < kMany; ++i) crowd.push_back(attach(who));
  const auto counts = [](const Attached& one) {
    const optile_plan_region& plan = one.program->regions().plan();
    return (plan.pages[plan.generation & 1].flags & OPTILE_PAGE_COUNT) != 0;
  };
  std::set<uint64_t> begun;
  uint64_t first_ns = 0;
  bool all_would = false;  // while not all have begun
  for (int step = 0; step < 400 && begun.size() < crowd.size(); ++step) {
    bool all_observe = true;
    for (Attached& one : crowd) {
      run(one, 1);
      if (!counts(one)) continue;
      if (begun.empty()) first_ns = now_ns_;
      begun.insert(one.id);
      const auto passed = static_cast<int64_t>(now_ns_ - first_ns);
      ASSERT_LE(begun.size(), static_cast<std::size_t>(CountingTurns::kAtOnce + 1 +
                                                       passed / CountingTurns::kEvery.count()));
    }
    for (const Attached& one : crowd) {
      all_observe =
          all_observe && controller_->view(one.id)->session->phase == tuner::Phase::kObserving;
    }
    all_would = all_would || (all_observe && begun.size() < crowd.size());
  }
  EXPECT_TRUE(all_would);
  EXPECT_EQ(begun.size(), crowd.size());
  // And each has its counts, whenever it began.
  for (int step = 0; step < 30; ++step) {
    for (Attached& one : crowd) run(one, 1);
  }
  for (const Attached& one : crowd) EXPECT_FALSE(counts(one));
}

}  // namespace
}  // namespace optile::daemon
