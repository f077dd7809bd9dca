#include "daemon/client/main_issuer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>

#include "daemon/api/report.h"
#include "tests/daemon/fixtures/controller_fixture.h"

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;

TEST(MainIssuer, FollowsFirstThreadUntilAnotherLeadsClearly) {
  MainIssuer issuer;
  EXPECT_FALSE(issuer.choose());
  EXPECT_FALSE(issuer.slot());
  issuer.add(3, milliseconds(10));
  EXPECT_FALSE(issuer.choose()) << "the first is no change";
  EXPECT_EQ(issuer.slot(), 3u);
  issuer.add(1, milliseconds(40));
  EXPECT_FALSE(issuer.choose()) << "too little time to judge by";
  issuer.add(1, milliseconds(40));
  EXPECT_TRUE(issuer.choose());
  EXPECT_EQ(issuer.slot(), 1u);
  EXPECT_FALSE(issuer.choose());
}

TEST(MainIssuer, KeepsThreadAmongEqualIssuers) {
  MainIssuer issuer;
  for (int i = 0; i < 10000; ++i) {
    issuer.add(static_cast<uint32_t>(i % 4), milliseconds(1 + i % 7));
    EXPECT_FALSE(issuer.choose());
  }
  EXPECT_EQ(issuer.slot(), 0u);
}

TEST(MainIssuer, OldTimesAreDiscounted) {
  MainIssuer issuer;
  for (int i = 0; i < 1000; ++i) issuer.add(0, milliseconds(100));
  issuer.choose();
  int batches = 0;
  for (bool changed = false; !changed && batches < 100; ++batches) {
    issuer.add(2, milliseconds(100));
    changed = issuer.choose();
  }
  EXPECT_LT(batches, 40);
}

TEST(MainIssuer, OpCountIsScaledByIssuerShare) {
  MainIssuer alone;
  alone.add(0, milliseconds(1));
  EXPECT_EQ(alone.ops_of_it(1000), 1000u);
  EXPECT_EQ(alone.ops_of_it(1500), 1500u) << "also while no events come";
  MainIssuer one_of_four;
  for (uint32_t slot = 0; slot < 4; ++slot) one_of_four.add(slot, milliseconds(1));
  EXPECT_EQ(one_of_four.ops_of_it(1000), 250u);
  EXPECT_EQ(one_of_four.ops_of_it(2000), 500u);
}

// ---- in a client -------------------------------------------------------------------------------

using MainIssuerClientTest = ControllerTest;

TEST_F(MainIssuerClientTest, StepsExcludeOpsOfOtherThreads) {
  Attached attached = attach(attach_request("r"));
  ClientRegions& regions = attached.program->regions();
  const uint32_t foreign = regions.register_op(0x77, "aten::copy", "");
  uint64_t mixture = 1;
  bool tuned = false;
  for (int step = 0; step < 3000 && !tuned; ++step) {
    const uint64_t begin = now_ns_;
    attached.program->run_step();
    // Now here, now there in the step, as another thread's ops come.
    mixture = mixture * UINT64_C(6364136223846793005) + 1;
    optile_event event{};
    event.kind = OPTILE_EVENT_OP;
    event.op_id = foreign;
    event.context = mixture >> 32;
    event.begin_ticks = begin + (mixture >> 33) % ((now_ns_ - begin) / 2);
    event.ticks = 50000;
    event.width = 4;
    ASSERT_TRUE(regions.write(event, 1));
    controller_->drain();
    tuned = controller_->view(attached.id)->session->phase == tuner::Phase::kTuned;
  }
  ASSERT_TRUE(tuned);
  const ClientView view = *controller_->view(attached.id);
  EXPECT_EQ(view.counters.rejected, 0u);
  EXPECT_EQ(view.session->marker->ops, 3);
  EXPECT_EQ(view.session->ops.size(), 3u);
  EXPECT_EQ(regions.plan().main_issuer, 1u);
}

TEST_F(MainIssuerClientTest, ThreadsShareCoresOnlyInTuneMode) {
  for (const optile_mode mode :
       {OPTILE_MODE_TUNE, OPTILE_MODE_OBSERVE, OPTILE_MODE_ADVISE, OPTILE_MODE_FREEZE}) {
    AttachRequest who = attach_request("r");
    who.mode = mode;
    Attached attached = attach(who);
    run(attached, 1);
    EXPECT_EQ(attached.program->regions().plan().shared_cores, mode == OPTILE_MODE_TUNE ? 4u : 0u);
    controller_->depart(attached.id);
  }
  Attached undone = attach(attach_request("undone"));
  run(undone, 1);
  ASSERT_EQ(undone.program->regions().plan().shared_cores, 4u);
  ASSERT_TRUE(controller_->undo({}).ok());
  EXPECT_EQ(undone.program->regions().plan().shared_cores, 0u);
}

TEST_F(MainIssuerClientTest, ReportShowsCoreSharing) {
  Attached attached = attach(attach_request("r"));
  run(attached, 1);
  optile_client_header& header = attached.program->regions().client().header;
  header.issuing_threads = 4;
  header.most_in_ops = 3;
  header.narrowed_ops = 17;
  header.progress = 20;
  const ClientView view = *controller_->view(attached.id);
  const Json sharing = run_report(view, {}, store_->state())["sharing"];
  EXPECT_EQ(sharing["issuing_threads"], 4);
  EXPECT_EQ(sharing["most_in_ops"], 3);
  EXPECT_EQ(sharing["narrowed_ops"], 17);
  EXPECT_EQ(sharing["shared_cores"], 4);
}

}  // namespace
}  // namespace optile::daemon
