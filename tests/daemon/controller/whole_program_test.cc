// Clients that attached without an op: what is known of them, and when they are forgotten.
#include <gtest/gtest.h>

#include "tests/daemon/fixtures/controller_fixture.h"

namespace optile::daemon {
namespace {

class WholeProgramTest : public ControllerTest {
 protected:
  WholeProgramTest() {
    leases_ = true;
    make_controller();
  }
  AttachRequest whole(const std::string& run_id) {
    AttachRequest who = attach_request(run_id);
    who.whole_program = true;
    return who;
  }
  AttachRequest about_to_size(const std::string& run_id) {
    AttachRequest who = whole(run_id);
    who.sizes_pools = true;
    return who;
  }
  std::size_t cores_of(uint64_t id) {
    return controller_->lease_manager().leases()->table().view(id)->granted.cores.size();
  }
  void refresh() {
    now_ns_ += 1000000000;
    controller_->drain();
    controller_->lease_manager().refresh_budgets();
  }
  bool has_lease(uint64_t id) {
    return controller_->lease_manager().leases()->table().view(id).has_value();
  }
  bool is_known(uint64_t id) { return controller_->view(id).has_value(); }
};

TEST_F(WholeProgramTest, HasNoLeaseAndNoMask) {
  const Attached other = attach(attach_request("other"));
  const Attached one = attach(whole("one"));
  EXPECT_TRUE(has_lease(other.id));
  EXPECT_FALSE(has_lease(one.id));
  EXPECT_TRUE(masks_[one.id].empty());
}

// The ring of who issues no op need not be read soon.
TEST_F(WholeProgramTest, IsReadForItsFiguresOnly) {
  const Attached one = attach(whole("one"));
  EXPECT_EQ(controller_->client(one.id)->wanted_events(), DrainPace::Want::kFigures);
  const Attached other = attach(attach_request("other"));
  EXPECT_NE(controller_->client(other.id)->wanted_events(), DrainPace::Want::kFigures);
}

TEST_F(WholeProgramTest, AloneSizesItsPoolsByAllCores) {
  const Attached one = attach(about_to_size("one"));
  EXPECT_FALSE(has_lease(one.id));
  EXPECT_TRUE(masks_[one.id].empty());
  EXPECT_EQ(one.program->regions().plan().mask_follows, 0U);
}

TEST_F(WholeProgramTest, BesideALeaseSizesItsPoolsByItsPart) {
  const Attached other = attach(attach_request("other"));
  const Attached one = attach(about_to_size("one"));
  EXPECT_EQ(one.program->regions().plan().mask_follows, 1U);
  EXPECT_EQ(masks_[one.id].size(), 2U);
  EXPECT_EQ(cores_of(one.id), 2U);
  EXPECT_EQ(cores_of(other.id), 2U);
  controller_->depart(one.id);
  EXPECT_EQ(cores_of(other.id), 4U);
}

// Threads that spin are never to be more than the cores that they have.
TEST_F(WholeProgramTest, KeepsCoresOfItsPoolsWhenOthersComeAndGo) {
  const Attached other = attach(attach_request("other"));
  const Attached one = attach(about_to_size("one"));
  one.program->regions().client().header.sized_units = 2;
  const Attached third = attach(attach_request("third"));
  refresh();
  EXPECT_EQ(cores_of(one.id), 2U);
  EXPECT_EQ(masks_[one.id].size(), 2U);
  controller_->depart(third.id);
  controller_->depart(other.id);
  refresh();
  EXPECT_EQ(cores_of(one.id), 2U);
  EXPECT_TRUE(masks_[one.id].empty());  // nobody else is there
}

TEST_F(WholeProgramTest, HasNoLeaseOnceItsPoolsAreWider) {
  const Attached other = attach(attach_request("other"));
  const Attached one = attach(about_to_size("one"));
  ASSERT_EQ(masks_[one.id].size(), 2U);
  one.program->regions().client().header.sized_units = 4;  // it was told too late
  refresh();
  EXPECT_FALSE(has_lease(one.id));
  EXPECT_TRUE(masks_[one.id].empty());
  EXPECT_EQ(cores_of(other.id), 4U);
}

TEST_F(WholeProgramTest, IsListedOnceEndedUnlessItGoesOnWithOps) {
  const Attached one = attach(whole("one"));
  controller_->depart(one.id);
  EXPECT_TRUE(is_known(one.id));
  Attached left = attach(whole("left"));
  left.program->run_step();
  controller_->depart(left.id);
  EXPECT_FALSE(is_known(left.id));
}

TEST_F(WholeProgramTest, RunIsThatOfItsProcessWithOps) {
  const Attached one = attach(whole("run"));
  EXPECT_TRUE(controller_->find_run("run", {}).client->attach_request.whole_program);
  const Attached worker = attach(attach_request("run"));
  EXPECT_EQ(controller_->find_run("run", {}).client->id, worker.id);
  controller_->depart(worker.id);
  EXPECT_EQ(controller_->find_run("run", {}).client->id, worker.id);
}

}  // namespace
}  // namespace optile::daemon
