// Who has a lease, and who shares the cores by time instead.
#include "daemon/leases/time_sharing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;
using Reason = TimeSharing::Reason;
using testing::HasSubstr;

// Programs of so much demand that make so many steps a second, on `cores`, looked at as the
// controller does.
class TimeSharingTest : public testing::Test {
 protected:
  struct Program {
    TimeSharing::Party party;
    double demand = 1;
    double pace = 100;
    double runnable_ms = 0;
    double work = 0;
  };

  Program& come(uint64_t client, int team, double demand, double pace = 100) {
    Program& program = programs_[client];
    program.party.client = client;
    program.party.team = team;
    program.demand = demand;
    program.pace = pace;
    return program;
  }

  // What changed last, by client.
  std::map<uint64_t, std::string> pass(milliseconds time) {
    std::map<uint64_t, std::string> texts;
    for (milliseconds passed{0}; passed < time; passed += every_) {
      now_ += every_;
      std::vector<TimeSharing::Party> parties;
      for (auto& [id, program] : programs_) {
        const double passed_ms = std::chrono::duration<double, std::milli>(every_).count();
        program.runnable_ms += program.demand * passed_ms;
        program.work += program.pace * passed_ms / 1000;
        program.party.runnable =
            std::chrono::nanoseconds(static_cast<int64_t>(1e6 * program.runnable_ms));
        program.party.work = {static_cast<uint64_t>(program.work), 0};
        parties.push_back(program.party);
      }
      for (const TimeSharing::Change& change : sharing_.look(now_, cores_, parties)) {
        texts[change.client] = change.text;
      }
    }
    return texts;
  }

  TimeSharing sharing_;
  std::map<uint64_t, Program> programs_;
  milliseconds now_{1000000};
  milliseconds every_ = TimeSharing::kEvery;
  int cores_ = 2;
};

TEST_F(TimeSharingTest, LooksLessOftenAtMorePrograms) {
  EXPECT_TRUE(sharing_.is_due(now_, 1));
  pass(TimeSharing::kEvery);
  EXPECT_FALSE(sharing_.is_due(now_ + milliseconds(249), 16));
  EXPECT_TRUE(sharing_.is_due(now_ + milliseconds(250), 16));
  EXPECT_FALSE(sharing_.is_due(now_ + milliseconds(499), 17));
  EXPECT_TRUE(sharing_.is_due(now_ + milliseconds(500), 17));
  EXPECT_FALSE(sharing_.is_due(now_ + TimeSharing::kRarely - milliseconds(1), 100000));
  EXPECT_TRUE(sharing_.is_due(now_ + TimeSharing::kRarely, 100000));
  sharing_.ask_for_look();
  EXPECT_TRUE(sharing_.is_due(now_, 16));
  EXPECT_FALSE(sharing_.is_due(now_, 17)) << "a thousand arrivals are not a thousand looks";
}

TEST_F(TimeSharingTest, SeparatesThousandProgramsByDemandAtRareLooks) {
  every_ = TimeSharing::kRarely;
  cores_ = 600;
  for (uint64_t id = 1; id <= 1000; ++id) come(id, 0, id % 2 == 0 ? 1 : 0.01);
  pass(4 * every_);
  for (uint64_t id = 1; id <= 1000; ++id) {
    EXPECT_EQ(sharing_.reason(id).has_value(), id % 2 == 1) << id;
  }
}

TEST_F(TimeSharingTest, SingleProgramMayHaveLeaseDespiteLowDemand) {
  come(1, 2, 0.01);
  pass(milliseconds(5000));
  EXPECT_FALSE(sharing_.reason(1));
}

TEST_F(TimeSharingTest, LowDemandProgramHoldsNoCore) {
  come(1, 0, 1);
  come(2, 0, 0.01, 3);
  const auto texts = pass(milliseconds(2500));
  EXPECT_FALSE(sharing_.reason(1));
  EXPECT_EQ(sharing_.reason(2), Reason::kLittleDemand);
  EXPECT_THAT(texts.at(2), HasSubstr("1.0 % of the time"));
  programs_[2].demand = 0.9;
  pass(milliseconds(1000));
  EXPECT_FALSE(sharing_.reason(2)) << "it works by now";
}

TEST_F(TimeSharingTest, IdleProgramKeepsLeaseToLend) {
  come(1, 0, 1);
  come(2, 0, 0, 0);
  pass(milliseconds(5000));
  EXPECT_FALSE(sharing_.reason(2));
}

TEST_F(TimeSharingTest, WideTeamSharesTimeUntilBothAreBusy) {
  come(1, 2, 1);
  pass(milliseconds(1500));
  come(2, 2, 0.5);
  pass(TimeSharing::kEvery);
  EXPECT_EQ(sharing_.reason(1), Reason::kFixedTeam) << "at once: nothing is known of the newcomer";
  pass(milliseconds(3000));
  EXPECT_EQ(sharing_.reason(1), Reason::kFixedTeam);
  EXPECT_EQ(sharing_.reason(2), Reason::kFixedTeam);
  programs_[2].demand = 1;
  pass(milliseconds(1000));
  EXPECT_FALSE(sharing_.reason(1)) << "both are busy: each is better off on cores of its own";
  EXPECT_FALSE(sharing_.reason(2));
}

TEST_F(TimeSharingTest, IdleFixedTeamHasLeaseToLend) {
  come(1, 2, 0, 0);
  come(2, 2, 0, 0);
  pass(milliseconds(500));
  EXPECT_FALSE(sharing_.reason(1));
  EXPECT_FALSE(sharing_.reason(2));
  programs_[1].demand = 0.5;
  programs_[1].pace = 100;
  pass(milliseconds(500));
  EXPECT_EQ(sharing_.reason(1), Reason::kFixedTeam);
  EXPECT_FALSE(sharing_.reason(2));
}

TEST_F(TimeSharingTest, TeamThatFitsItsPartHasLease) {
  cores_ = 64;
  come(1, 16, 1);
  come(2, 64, 0.5);
  pass(milliseconds(3000));
  EXPECT_FALSE(sharing_.reason(1));
  EXPECT_EQ(sharing_.reason(2), Reason::kFixedTeam);
}

TEST_F(TimeSharingTest, ProgramHeldByUserKeepsItsLease) {
  come(1, 2, 1).party.held = true;
  come(2, 2, 0.5);
  pass(milliseconds(3000));
  EXPECT_FALSE(sharing_.reason(1));
}

class SlowLeaseTest : public TimeSharingTest {
 protected:
  // Alone 1000 steps a second; then on one core of two beside a busy one.
  void begin(double pace_on_lease) {
    come(1, 0, 1, 1000);
    pass(milliseconds(2000));
    come(2, 0, 1);
    programs_[1].party.leased = 1;
    programs_[1].party.predicted = 0.5;
    programs_[1].pace = pace_on_lease;
  }
};

TEST_F(SlowLeaseTest, LeaseIsTakenBackWithinOneSecond) {
  begin(20);
  const auto texts = pass(milliseconds(1000));
  EXPECT_EQ(sharing_.reason(1), Reason::kSlowOnLease);
  EXPECT_THAT(texts.at(1), HasSubstr("2.0 % of its speed alone"));
  EXPECT_THAT(texts.at(1), HasSubstr("50 % was predicted"));
  programs_[1].party.leased = 0;
  programs_[1].pace = 400;
  pass(milliseconds(20000));
  EXPECT_EQ(sharing_.reason(1), Reason::kSlowOnLease) << "it is better off";
  come(3, 0, 1);
  pass(TimeSharing::kEvery);
  EXPECT_FALSE(sharing_.reason(1)) << "others are beside it: that is another matter";
}

TEST_F(SlowLeaseTest, LeaseIsKeptNearPredictedSpeed) {
  begin(450);
  pass(milliseconds(10000));
  EXPECT_FALSE(sharing_.reason(1));
}

TEST_F(SlowLeaseTest, LeaseReturnsForGoodWhereSharingIsNoFaster) {
  begin(20);
  pass(milliseconds(1000));
  ASSERT_EQ(sharing_.reason(1), Reason::kSlowOnLease);
  programs_[1].party.leased = 0;
  pass(milliseconds(1500));
  EXPECT_FALSE(sharing_.reason(1));
  programs_[1].party.leased = 1;
  pass(milliseconds(10000));
  EXPECT_FALSE(sharing_.reason(1)) << "that is known by now";
}

TEST_F(SlowLeaseTest, LeaseIsRetriedAfterFirstRetryInterval) {
  begin(20);
  pass(milliseconds(1000));
  programs_[1].party.leased = 0;
  programs_[1].pace = 400;
  pass(TimeSharing::kFirstRetry);
  EXPECT_FALSE(sharing_.reason(1));
}

// Two programs on 64 cores, by a model of what the kernel and the leases give: threads that want
// a processor share what there is, a spinning team on fewer cores than threads gets a tenth of its
// part, and where busy spinning teams lie over each other all get 0.03. What each gets done has to
// be 0.95 of what it does where nobody has a lease.
class FairShareModel {
 public:
  struct Program {
    int team = 0;  // fixed and spinning; 0 = follows its lease
    double demand = 1;
  };
  static constexpr int kCores = 64;

  explicit FairShareModel(std::vector<Program> programs) : programs_(std::move(programs)) {}

  // Cores of each of those in `leased`: an even part, or as many as its team has, if those are
  // fewer.
  std::vector<int> cores(const std::vector<bool>& leased) const {
    std::vector<int> cores(programs_.size(), 0);
    int left = kCores;
    auto takers = static_cast<int>(std::count(leased.begin(), leased.end(), true));
    for (const bool small : {true, false}) {
      for (std::size_t i = 0; i < programs_.size(); ++i) {
        const int team = programs_[i].team > 0 ? programs_[i].team : kCores;
        if (!leased[i] || cores[i] > 0 || (small && team > left / takers)) continue;
        cores[i] = std::min(team, left / takers);
        left -= cores[i];
        --takers;
      }
    }
    return cores;
  }

  // Each one's speed over that alone.
  std::vector<double> speeds(const std::vector<bool>& leased) const {
    const std::vector<int> part = cores(leased);
    const auto holders = std::count(leased.begin(), leased.end(), true);
    double wanted = 0, wanted_by_others = 0;
    int busy_teams = 0;
    for (std::size_t i = 0; i < programs_.size(); ++i) {
      const Program& one = programs_[i];
      const double load = one.demand * (one.team > 0 ? one.team : (leased[i] ? part[i] : kCores));
      wanted += load;
      if (!leased[i]) wanted_by_others += load;
      if (!leased[i] && one.team == kCores && one.demand > 0.8) ++busy_teams;
    }
    const double shared = std::min(1.0, kCores / wanted) * (busy_teams > 1 ? 0.03 : 1);
    // The kernel puts others where nobody is first.
    const int taken = holders > 1 ? std::accumulate(part.begin(), part.end(), 0) : 0;
    const double beside = std::max(0.0, wanted_by_others - (kCores - taken));
    const double left = taken == 0 ? 1 : 1 / (1 + beside / taken);
    std::vector<double> speeds;
    for (std::size_t i = 0; i < programs_.size(); ++i) {
      const int threads = programs_[i].team > 0 ? programs_[i].team : kCores;
      const bool narrow = programs_[i].team > part[i];
      const double on_lease = left * std::min(1.0, static_cast<double>(part[i]) / threads);
      const bool alone = leased[i] && holders == 1;  // confined to nothing
      speeds.push_back(!leased[i] || alone ? shared : on_lease * (narrow ? 0.1 : 1));
    }
    return speeds;
  }
  const std::vector<Program>& programs() const { return programs_; }

 private:
  std::vector<Program> programs_;
};

using Pair = std::tuple<int, int, double>;  // the program's team, the neighbour's and its demand

class FairShareTest : public testing::TestWithParam<Pair> {};

TEST_P(FairShareTest, EachOfTwoKeepsItsUnleasedThroughput) {
  const auto& [team, neighbours_team, demand] = GetParam();
  const FairShareModel model({{team, 1}, {neighbours_team, demand}});
  const std::size_t count = model.programs().size();
  TimeSharing sharing;
  std::vector<double> done(count), wanted(count);
  std::vector<bool> leased(count, true);
  constexpr int kLooks = 240;  // a minute
  for (int look = 0; look < kLooks; ++look) {
    const std::vector<double> speeds = model.speeds(leased);
    const std::vector<int> cores = model.cores(leased);
    std::vector<TimeSharing::Party> parties;
    for (std::size_t i = 0; i < count; ++i) {
      const FairShareModel::Program& program = model.programs()[i];
      done[i] += 1000 * speeds[i];
      // What takes longer is wanted for longer.
      wanted[i] += std::min(1.0, program.demand / speeds[i]) * TimeSharing::kEvery.count();
      TimeSharing::Party party;
      party.client = i + 1;
      party.team = program.team;
      party.runnable = std::chrono::nanoseconds(static_cast<int64_t>(1e6 * wanted[i]));
      party.work = {static_cast<uint64_t>(done[i]), 0};
      if (cores[i] < FairShareModel::kCores) party.leased = cores[i];
      const int threads = program.team > 0 ? program.team : FairShareModel::kCores;
      party.predicted = std::min(1.0, static_cast<double>(party.leased) / threads);
      parties.push_back(party);
    }
    const milliseconds now = milliseconds(1000) + look * TimeSharing::kEvery;
    sharing.look(now, FairShareModel::kCores, parties);
    for (std::size_t i = 0; i < count; ++i) leased[i] = !sharing.reason(i + 1);
  }
  const std::vector<double> bare = model.speeds(std::vector<bool>(count, false));
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_GE(done[i], 0.95 * kLooks * 1000 * bare[i]) << "program " << i;
  }
}

// A neighbour whose widths follow its lease, and that pauses, lends its cores: lending_test.
INSTANTIATE_TEST_SUITE_P(Teams, FairShareTest,
                         testing::Combine(testing::Values(0, 8, 64), testing::Values(8, 64),
                                          testing::Values(0.01, 0.1, 0.5, 1)));
INSTANTIATE_TEST_SUITE_P(LittleDemand, FairShareTest,
                         testing::Combine(testing::Values(0, 8, 64), testing::Values(0),
                                          testing::Values(0.01, 0.1)));

}  // namespace
}  // namespace optile::daemon
