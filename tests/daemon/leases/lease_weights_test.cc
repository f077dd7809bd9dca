#include "daemon/leases/lease_weights.h"

#include <gtest/gtest.h>

#include "tests/daemon/fixtures/accounts.h"

namespace optile::daemon {
namespace {

LeaseParty party(uint64_t client, unsigned uid, const std::string& job = "", double share = 1) {
  LeaseParty made;
  made.client = client;
  made.uid = uid;
  made.job = job;
  made.share = share;
  return made;
}

TEST(LeaseWeights, ShareIsWeightForSingleUser) {
  const auto weights = lease_weights({party(1, kAnna), party(2, kAnna, "", 3)}, false);
  EXPECT_EQ(weights.at(1).weight, 1);
  EXPECT_EQ(weights.at(2).weight, 3);
  EXPECT_EQ(weights.at(2).part, 0.75);
  EXPECT_EQ(weights.at(1).ranks, 1);
}

TEST(LeaseWeights, RanksDivideWeightOfTheirJob) {
  const auto weights =
      lease_weights({party(1, kAnna, "mpi"), party(2, kAnna, "mpi"), party(3, kAnna, "mpi"),
                     party(4, kAnna, "mpi"), party(5, kAnna)},
                    false);
  for (uint64_t rank = 1; rank <= 4; ++rank) {
    EXPECT_EQ(weights.at(rank).weight, 0.25);
    EXPECT_EQ(weights.at(rank).ranks, 4);
    EXPECT_EQ(weights.at(rank).part, 0.125);
  }
  EXPECT_EQ(weights.at(5).weight, 1);
}

TEST(LeaseWeights, EqualJobIdsOfTwoUsersAreSeparateJobs) {
  const auto weights = lease_weights({party(1, kAnna, "1"), party(2, kBert, "1")}, false);
  EXPECT_EQ(weights.at(1).ranks, 1);
  EXPECT_EQ(weights.at(2).weight, 1);
}

// fault: F40
TEST(LeaseWeights, UsersHaveEqualTotalWeight) {
  const auto weights = lease_weights({party(1, kAnna, "", 1000), party(2, kAnna, "", 1000),
                                      party(3, kAnna, "", 2000), party(4, kBert)},
                                     true);
  EXPECT_DOUBLE_EQ(weights.at(1).weight, 0.25);
  EXPECT_DOUBLE_EQ(weights.at(3).weight, 0.5);
  EXPECT_DOUBLE_EQ(weights.at(4).weight, 1);
  EXPECT_DOUBLE_EQ(weights.at(4).part, 0.5);
}

// What runs in the background takes nothing from its user's other programs.
TEST(LeaseWeights, BatchProgramsAreWeightedSeparately) {
  LeaseParty batch = party(2, kAnna);
  batch.priority = sched::Priority::kBatch;
  const auto weights = lease_weights({party(1, kAnna), batch, party(3, kBert)}, true);
  EXPECT_EQ(weights.at(1).weight, 1);
  EXPECT_EQ(weights.at(2).weight, 1);
  EXPECT_EQ(weights.at(1).part, 0.5);
}

TEST(LeaseWeights, StaysAtOrAboveLeaseTableMinimum) {
  std::vector<LeaseParty> many;
  for (uint64_t i = 1; i <= 200; ++i) many.push_back(party(i, kAnna, "job", 0.001));
  for (const auto& [client, weight] : lease_weights(many, false)) EXPECT_EQ(weight.weight, 0.001);
  EXPECT_TRUE(lease_weights({}, true).empty());
}

}  // namespace
}  // namespace optile::daemon
