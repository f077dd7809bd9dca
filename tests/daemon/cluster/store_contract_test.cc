// What every ClusterStore promises, asked of each: the one in memory, and a real etcd.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/cluster/job_plan_publisher.h"
#include "daemon/cluster/job_plans.h"
#include "daemon/cluster/membership.h"
#include "daemon/cluster/rank_claim.h"
#include "tests/daemon/cluster/plan_samples.h"
#include "tests/daemon/cluster/store_harness.h"

namespace optile::daemon {
namespace {

using std::chrono::seconds;

enum class Kind { kMemory, kEtcd };

class ClusterStoreContract : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    if (GetParam() == Kind::kMemory) {
      harness_ = std::make_unique<MemoryHarness>();
    } else {
      if (!EtcdProcess::installed()) GTEST_SKIP() << "no etcd here: install Debian's etcd-server";
      auto etcd = std::make_unique<EtcdHarness>();
      ASSERT_TRUE(etcd->answers());
      harness_ = std::move(etcd);
    }
    store_ = &harness_->add_store();
  }

  KeyRange get(const std::string& prefix) {
    const auto range = harness_->answer<KeyRange>([&](auto done) { store_->get(prefix, done); });
    EXPECT_TRUE(range.ok());
    return range.ok() ? range.value() : KeyRange();
  }
  base::Result<Committed> commit(const Transaction& transaction) {
    return harness_->answer<Committed>([&](auto done) { store_->commit(transaction, done); });
  }
  bool succeeds(const Transaction& transaction) {
    const auto committed = commit(transaction);
    EXPECT_TRUE(committed.ok());
    return committed.ok() && committed.value().succeeded;
  }
  ClusterLease lease_of(seconds ttl) {
    const auto granted =
        harness_->answer<GrantedClusterLease>([&](auto done) { store_->grant_lease(ttl, done); });
    EXPECT_TRUE(granted.ok());
    return granted.ok() ? granted.value().id : 0;
  }

  std::unique_ptr<StoreHarness> harness_;
  ClusterStore* store_ = nullptr;
};

TEST_P(ClusterStoreContract, KeysOfPrefixComeInOrderWithRevisions) {
  const std::string bytes("a/\0\xff", 4);
  EXPECT_TRUE(succeeds({{}, {put_key("a/2", "two"), put_key(bytes, std::string("\0\xfe", 2))}}));
  EXPECT_TRUE(succeeds({{}, {put_key("a/2", "2"), put_key("b", "")}}));
  const KeyRange range = get("a/");
  ASSERT_EQ(range.entries.size(), 2u);
  EXPECT_EQ(range.entries[0].key, bytes);
  EXPECT_EQ(range.entries[0].value, std::string("\0\xfe", 2));
  const KeyValue& two = range.entries[1];
  EXPECT_EQ(two.value, "2");
  EXPECT_GT(two.mod_revision, two.create_revision);
  EXPECT_EQ(two.create_revision, range.entries[0].mod_revision);
  EXPECT_EQ(range.revision, two.mod_revision);
  EXPECT_EQ(get("b").entries.size(), 1u);
  EXPECT_TRUE(get("c").entries.empty());
}

TEST_P(ClusterStoreContract, TransactionHappensWholeOrNotAtAll) {
  EXPECT_TRUE(succeeds({{key_is_absent("k")}, {put_key("k", "1")}}));
  EXPECT_FALSE(succeeds({{key_is_absent("k")}, {put_key("k", "2"), put_key("other", "2")}}));
  EXPECT_TRUE(get("other").entries.empty());
  const KeyValue first = get("k").entries.at(0);
  EXPECT_TRUE(succeeds(
      {{key_is_unchanged("k", first.mod_revision), key_has_value("k", "1")}, {put_key("k", "3")}}));
  EXPECT_FALSE(succeeds({{key_is_unchanged("k", first.mod_revision)}, {put_key("k", "4")}}));
  EXPECT_FALSE(succeeds({{key_has_value("k", "1")}, {put_key("k", "4")}}));
  EXPECT_FALSE(succeeds({{key_has_value("missing", "1")}, {put_key("k", "4")}}));
  EXPECT_EQ(get("k").entries.at(0).value, "3");
  EXPECT_TRUE(succeeds({{}, {delete_key("k")}}));
  EXPECT_TRUE(succeeds({{key_is_unchanged("k", 0)}, {delete_key("k")}}));
  EXPECT_TRUE(get("k").entries.empty());
}

TEST_P(ClusterStoreContract, SecondChangeOfKeyIsInvalid) {
  const auto twice = commit({{}, {put_key("k", "1"), put_key("k", "2")}});
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(twice.error().kind, base::ErrorKind::kInvalid);
}

TEST_P(ClusterStoreContract, KeysGoWhenTheirLeaseEnds) {
  const ClusterLease lease = lease_of(seconds(2));
  EXPECT_TRUE(succeeds({{}, {put_key("leased", "1", lease), put_key("kept", "1")}}));
  EXPECT_EQ(get("leased").entries.at(0).lease, lease);
  EXPECT_TRUE(harness_->serve_until([&] { return get("leased").entries.empty(); }));
  EXPECT_EQ(get("kept").entries.size(), 1u);
  const auto late =
      harness_->answer<GrantedClusterLease>([&](auto done) { store_->keep_alive(lease, done); });
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().kind, base::ErrorKind::kNotFound);
  const auto orphan = commit({{}, {put_key("leased", "1", lease)}});
  ASSERT_FALSE(orphan.ok());
  EXPECT_EQ(orphan.error().kind, base::ErrorKind::kNotFound);
}

TEST_P(ClusterStoreContract, LeaseThatIsKeptAliveOutlivesItsTime) {
  const ClusterLease kept = lease_of(seconds(2));
  const ClusterLease other = lease_of(seconds(2));
  EXPECT_TRUE(succeeds({{}, {put_key("kept", "", kept), put_key("other", "", other)}}));
  EXPECT_TRUE(harness_->serve_until([&] {
    const auto alive =
        harness_->answer<GrantedClusterLease>([&](auto done) { store_->keep_alive(kept, done); });
    EXPECT_TRUE(alive.ok());
    EXPECT_EQ(alive.value().ttl, seconds(2));
    return get("other").entries.empty();
  }));
  EXPECT_EQ(get("kept").entries.size(), 1u);
}

TEST_P(ClusterStoreContract, RevokedLeaseTakesItsKeysAlong) {
  const ClusterLease lease = lease_of(seconds(60));
  EXPECT_TRUE(succeeds({{}, {put_key("leased", "1", lease)}}));
  const auto revoke = [&] {
    return harness_->answer<ClusterLease>([&](auto done) { store_->revoke_lease(lease, done); });
  };
  EXPECT_TRUE(revoke().ok());
  EXPECT_TRUE(get("leased").entries.empty());
  const auto again = revoke();
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().kind, base::ErrorKind::kNotFound);
}

TEST_P(ClusterStoreContract, MembersSeeEachOtherAndOneLeads) {
  std::vector<std::unique_ptr<Membership>> members;
  for (const char* name : {"a", "b"}) {
    Membership::Settings settings;
    settings.keys.user = "u";
    settings.node.name = name;
    settings.node.instance = std::string("i-") + name;
    members.push_back(std::make_unique<Membership>(harness_->add_store(), std::move(settings)));
  }
  const auto leaders = [&] {
    return members[0]->is_leader(harness_->now()) + members[1]->is_leader(harness_->now());
  };
  EXPECT_TRUE(harness_->serve_until([&] {
    for (const auto& one : members) one->tick(harness_->now());
    EXPECT_LE(leaders(), 1);
    return leaders() == 1 && members[0]->view(harness_->now()).nodes.size() == 2 &&
           members[1]->view(harness_->now()).nodes.size() == 2 && members[0]->epoch() == 1 &&
           members[1]->epoch() == 1;
  }));
}

TEST_P(ClusterStoreContract, RanksAreClaimedAndTheJobBegins) {
  std::vector<std::unique_ptr<RankClaim>> claims;
  for (int i = 0; i < 3; ++i) {
    RankClaim::Settings settings;
    settings.keys.user = "u";
    settings.job = "train";
    settings.nodes = 3;
    settings.address = "10.0.0." + std::to_string(i);
    settings.token = "t" + std::to_string(i);
    claims.push_back(std::make_unique<RankClaim>(harness_->add_store(), std::move(settings)));
  }
  EXPECT_TRUE(harness_->serve_until([&] {
    std::size_t started = 0;
    for (const auto& one : claims) {
      one->tick(harness_->now());
      if (one->view().state == RankClaim::State::kStarted) ++started;
    }
    return started == claims.size();
  }));
  std::vector<int> ranks;
  for (const auto& one : claims) ranks.push_back(one->view().rank);
  EXPECT_THAT(ranks, testing::UnorderedElementsAre(0, 1, 2));
  for (const auto& one : claims) {
    EXPECT_EQ(one->view().master_address, claims[0]->view().master_address);
    const ClusterLease lease = one->lease();
    EXPECT_TRUE(
        harness_->answer<ClusterLease>([&](auto done) { store_->revoke_lease(lease, done); }).ok());
  }
  EXPECT_TRUE(get("").entries.empty());
}

// The later of two plans of one run stays, whoever comes last, and goes with its node's lease.
TEST_P(ClusterStoreContract, LaterPlanStaysAndGoesWithItsLease) {
  const ClusterKeys keys = {"u"};
  JobPlans first(harness_->add_store(), {keys, "a", "ia"});
  JobPlans second(harness_->add_store(), {keys, "b", "ib"});
  const ClusterLease leases[] = {lease_of(seconds(60)), lease_of(seconds(60))};
  const auto epoch_there = [&] {
    const KeyRange range = get(keys.plan(7, "train", "run-of-train"));
    if (range.entries.empty()) return int64_t{0};
    return read_plan_record(range.entries[0].value).value().plan.epoch;
  };
  const auto serve_until = [&](const std::function<bool()>& done) {
    return harness_->serve_until([&] {
      first.tick(harness_->now(), leases[0]);
      second.tick(harness_->now(), leases[1]);
      return done();
    });
  };
  first.set_own({{7, pipeline_plan("train", 2, 20)}});
  EXPECT_TRUE(serve_until([&] { return epoch_there() == 2; }));
  second.set_own({{7, pipeline_plan("train", 1, 90)}, {7, pipeline_plan("marker", 1, 1)}});
  EXPECT_TRUE(
      serve_until([&] { return !get(keys.plan(7, "marker", "run-of-marker")).entries.empty(); }));
  EXPECT_EQ(epoch_there(), 2);
  second.set_own({{7, pipeline_plan("train", 3, 30)}});
  EXPECT_TRUE(serve_until([&] { return epoch_there() == 3; }));
  EXPECT_TRUE(
      harness_->answer<ClusterLease>([&](auto done) { store_->revoke_lease(leases[1], done); })
          .ok());
  EXPECT_EQ(epoch_there(), 0);
}

// A job's owner publishes, a former one does not, and what is published goes with the claim.
TEST_P(ClusterStoreContract, OwnersPlanIsPublished) {
  const ClusterKeys keys = {"u"};
  const std::string rank = keys.job("train") + "ranks/0";
  JobPlanPublisher former(harness_->add_store(), [] {});
  JobPlanPublisher owner(harness_->add_store(), [] {});
  const auto settle = [&](JobPlanPublisher& publisher, const std::string& token, int64_t epoch) {
    auto state = JobPlanPublisher::State::kAsked;
    EXPECT_TRUE(harness_->serve_until([&] {
      const JobPlan plan = pipeline_plan("train", epoch, 1);
      state = publisher.publish({"u", "train", token, 0}, plan, 1).value().state;
      if (publisher.next_tick() <= harness_->now()) publisher.tick();
      return state != JobPlanPublisher::State::kAsked;
    }));
    return state;
  };
  const auto claim = [&](const std::string& token) {
    const ClusterLease lease = lease_of(seconds(60));
    const std::string text = R"({"node": "a", "token": ")" + token + R"("})";
    EXPECT_TRUE(succeeds({{}, {put_key(rank, text, lease)}}));
    return lease;
  };
  EXPECT_EQ(settle(former, "t1", 1), JobPlanPublisher::State::kRefused);
  claim("t1");
  EXPECT_EQ(settle(former, "t1", 2), JobPlanPublisher::State::kAccepted);
  EXPECT_EQ(settle(former, "t1", 3), JobPlanPublisher::State::kAccepted);
  const ClusterLease lease = claim("t2");
  EXPECT_EQ(settle(former, "t1", 4), JobPlanPublisher::State::kRefused);
  EXPECT_EQ(settle(owner, "t2", 1), JobPlanPublisher::State::kAccepted);
  const KeyRange range = get(keys.published("train"));
  ASSERT_EQ(range.entries.size(), 1u);
  EXPECT_EQ(read_published_plan(range.entries[0].value).value().token, "t2");
  EXPECT_EQ(range.entries[0].lease, lease);
  EXPECT_TRUE(
      harness_->answer<ClusterLease>([&](auto done) { store_->revoke_lease(lease, done); }).ok());
  EXPECT_TRUE(get(keys.published("train")).entries.empty());
}

INSTANTIATE_TEST_SUITE_P(Stores, ClusterStoreContract, testing::Values(Kind::kMemory, Kind::kEtcd),
                         [](const auto& one) {
                           return one.param == Kind::kMemory ? "Memory" : "Etcd";
                         });

}  // namespace
}  // namespace optile::daemon
