// Two clients that both may use a core: who is told what, in which order, and what ends it.
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "sched/core_assignment.h"
#include "sched/lease_table.h"
#include "tests/sched/machines.h"

namespace optile::sched {
namespace {

using Cores = std::vector<int>;

class LeaseOverlapTest : public ::testing::Test {
 protected:
  LeaseOverlapTest() {
    const perfmodel::Machine m = machines::machine(machines::kOneTile);
    table_ = std::make_unique<LeaseTable>(m, machines::whole(m), LeaseSettings{});
    for (const ClientId id : {ClientId{1}, ClientId{2}}) {
      EXPECT_TRUE(table_->arrive(id, 1.0, Priority::kNormal).ok());
      EXPECT_TRUE(table_->demand(id, {0.25, 0.5, 0.75, 1.0}, 1, kNoLimit).ok());
    }
    settle();
    first_ = view(1).granted.cores;
    second_ = view(2).granted.cores;
  }

  std::vector<LeaseChange> decide() { return table_->decide(++tick_); }
  void settle() {
    for (auto sent = decide(); !sent.empty(); sent = decide()) {
      for (const LeaseChange& change : sent) {
        EXPECT_TRUE(table_->confirm(change.id, change.sequence).ok());
      }
    }
  }
  LeaseView view(ClientId id) const { return table_->view(id).value(); }
  void share_second() { ASSERT_TRUE(table_->overlap({1, 2, second_}, "a test").ok()); }

  std::unique_ptr<LeaseTable> table_;
  uint64_t tick_ = 0;
  Cores first_;
  Cores second_;
};

TEST_F(LeaseOverlapTest, TheHostIsToldFirstAndTheGuestComesOnceItKnows) {
  share_second();
  const auto told = decide();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].id, 2u);
  EXPECT_EQ(told[0].lease.cores, second_);
  EXPECT_EQ(told[0].lease.shared, second_);
  EXPECT_EQ(told[0].lease.partner, 1u);
  EXPECT_TRUE(decide().empty()) << "not before the host has confirmed";
  ASSERT_TRUE(table_->confirm(2, told[0].sequence).ok());
  const auto let_in = decide();
  ASSERT_EQ(let_in.size(), 1u);
  EXPECT_EQ(let_in[0].id, 1u);
  EXPECT_EQ(let_in[0].lease.cores.size(), 4u);
  EXPECT_EQ(let_in[0].lease.shared, second_);
  EXPECT_EQ(let_in[0].lease.partner, 2u);
  EXPECT_NE(let_in[0].reason.find("sharing 2 with client 2: a test"), std::string::npos)
      << let_in[0].reason;
  ASSERT_TRUE(table_->confirm(1, let_in[0].sequence).ok());
  EXPECT_EQ(view(1).guest, second_);
  EXPECT_TRUE(view(2).guest.empty());
  EXPECT_EQ(table_->held_cores(), 4.0) << "a shared core is one core";
}

TEST_F(LeaseOverlapTest, AtTheEndTheGuestGoesFirst) {
  share_second();
  settle();
  table_->end_overlap("enough");
  const auto sent = decide();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].id, 1u);
  EXPECT_EQ(sent[0].lease.cores, first_);
  EXPECT_TRUE(decide().empty()) << "the host has it to itself only when the guest has gone";
  EXPECT_FALSE(table_->overlap({1, 2, second_}, "again").ok()) << "the last one is not over";
  ASSERT_TRUE(table_->confirm(1, sent[0].sequence).ok());
  settle();
  EXPECT_TRUE(view(2).granted.shared.empty());
  EXPECT_TRUE(table_->overlap({1, 2, second_}, "again").ok());
}

TEST_F(LeaseOverlapTest, BothMayBeGuests) {
  ASSERT_TRUE(table_->overlap({1, 2, {0, 1, 2, 3}}, "a test").ok());
  settle();
  EXPECT_EQ(view(1).granted.cores.size(), 4u);
  EXPECT_EQ(view(2).granted.cores.size(), 4u);
  EXPECT_EQ(view(1).guest, second_);
  EXPECT_EQ(view(2).guest, first_);
}

TEST_F(LeaseOverlapTest, WordsArrivalsAndDeparturesEndIt) {
  const std::vector<std::function<base::Status()>> events = {
      [this] { return table_->arrive(3, 1.0, Priority::kNormal); },
      [this] { return table_->leave(3); },
      [this] { return table_->wait(1); },
      [this] { return table_->wake(1); },
      [this] { return table_->share(2, 1.5); },
      [this] { return table_->pin(2, {3}); },
      [this] { return table_->unpin(2); },
      [this] { return table_->pause(1); },
      [this] { return table_->resume(1); },
      [this] { return table_->set_budget({}); },
      [this] { return table_->revoke(2); },
  };
  for (const auto& event : events) {
    if (table_->overlap({1, 2, view(2).granted.cores}, "a test").ok()) settle();
    ASSERT_TRUE(event().ok());
    EXPECT_FALSE(table_->overlap());
    settle();
    for (const LeaseView& one : table_->view()) EXPECT_TRUE(one.granted.shared.empty()) << one.id;
  }
}

TEST_F(LeaseOverlapTest, WhoIsPausedMeanwhileKeepsItsOwnCoresAndSoDoesTheOther) {
  share_second();
  settle();
  ASSERT_TRUE(table_->pause(1).ok());
  settle();
  EXPECT_EQ(view(1).granted.cores, first_);
  EXPECT_EQ(view(2).granted.cores, second_);
}

TEST_F(LeaseOverlapTest, NewMeasurementsThatMoveNothingLeaveItAlone) {
  share_second();
  settle();
  ASSERT_TRUE(table_->demand(1, {0.26, 0.51, 0.76, 1.0}, 1, kNoLimit).ok());
  EXPECT_TRUE(decide().empty());
  EXPECT_TRUE(table_->overlap());
  ASSERT_TRUE(table_->demand(1, {1.0, 1.0, 1.0, 1.0}, 1, kNoLimit).ok());
  settle();
  EXPECT_FALSE(table_->overlap());
  EXPECT_EQ(view(2).granted.cores.size(), 3u);
}

TEST_F(LeaseOverlapTest, OnlyWhatIsTheirsAndOnlyInCalmPossession) {
  EXPECT_FALSE(table_->overlap({1, 1, first_}, "").ok());
  EXPECT_FALSE(table_->overlap({1, 2, {}}, "").ok());
  EXPECT_FALSE(table_->overlap({1, 2, {7}}, "").ok());
  EXPECT_FALSE(table_->overlap({1, 9, first_}, "").ok());
  ASSERT_TRUE(table_->pause(1).ok());
  settle();
  EXPECT_FALSE(table_->overlap({1, 2, second_}, "").ok());
  ASSERT_TRUE(table_->resume(1).ok());
  ASSERT_TRUE(table_->pin(2, {second_.front()}).ok());
  settle();
  EXPECT_FALSE(table_->overlap({1, 2, {second_.front()}}, "").ok());
}

TEST(OverlappingLeases, OfSharedCoresEachHasItsOwnHardwareThreads) {
  const perfmodel::Machine m = machines::machine(machines::kChiplets);  // two to a core
  const perfmodel::Budget budget = machines::whole(m);
  Lease host{{0, 1}};
  host.shared = {1};
  host.partner = 2;
  Lease guest{{1, 2}};
  guest.shared = {1};
  guest.partner = 1;
  guest.upper = true;
  EXPECT_EQ(units_of(m, budget, host).size(), 3u);
  EXPECT_EQ(units_of(m, budget, guest).size(), 3u);
  for (int unit : units_of(m, budget, host)) {
    for (int other : units_of(m, budget, guest)) EXPECT_NE(unit, other);
  }
  // One hardware thread to a core: it is shared as it is.
  const perfmodel::Machine plain = machines::machine(machines::kOneTile);
  EXPECT_EQ(units_of(plain, machines::whole(plain), host),
            units_of(plain, machines::whole(plain), std::vector<int>{0, 1}));
}

}  // namespace
}  // namespace optile::sched
