// Programs that have to compute what an untouched run does (--numerics as-untuned).
#include "daemon/client/width_numerics.h"

#include <gtest/gtest.h>

#include "daemon/api/lease_json.h"
#include "daemon/views/json_views.h"
#include "tests/daemon/fixtures/controller_fixture.h"

namespace optile::daemon {
namespace {

perfmodel::OpDescription op_named(const std::string& name, const std::string& shape) {
  perfmodel::OpDescription op;
  op.probe = OPTILE_PROBE_TORCH;
  op.name = name;
  op.shape = shape;
  return op;
}

TEST(WidthNumerics, SameBitsForVerifiedOpsOnly) {
  EXPECT_TRUE(same_bits_at_every_width(op_named("aten::add", "[8,16] [8,16] ")));
  EXPECT_TRUE(same_bits_at_every_width(op_named("aten::where", "[8,16]Bool [8,16] [8,16] ")));
  EXPECT_TRUE(same_bits_at_every_width(op_named("aten::cat", "2 x [8,16] ")));
  EXPECT_TRUE(same_bits_at_every_width(op_named("ReluBackward0", "[8,16] ")));
  // Measured to change, or not measured.
  for (const char* name : {"aten::linear", "aten::conv2d", "ConvolutionBackward0", "aten::sum",
                           "aten::sigmoid", "aten::softmax", "aten::adds", "aten::ad", ""}) {
    EXPECT_FALSE(same_bits_at_every_width(op_named(name, "[8,16] "))) << name;
  }
}

TEST(WidthNumerics, SameBitsForSinglePrecisionOnly) {
  for (const char* shape : {"[8,16]Double ", "[8,16] [8,16]BFloat16 ", "[8,16]not_strided ",
                            "[8,16]ComplexFloat ", "", "?", "[8,16] ?"}) {
    EXPECT_FALSE(same_bits_at_every_width(op_named("aten::add", shape))) << shape;
  }
  const std::string cut(OPTILE_SHAPE_BYTES - 1, '1');
  EXPECT_FALSE(same_bits_at_every_width(op_named("aten::add", "[1] " + cut.substr(4))));
}

TEST(WidthNumerics, SameBitsForTorchProbeOnly) {
  perfmodel::OpDescription op = op_named("aten::add", "[8,16] ");
  op.probe = OPTILE_PROBE_ANNOTATION;
  EXPECT_FALSE(same_bits_at_every_width(op)) << "anybody may call an op of his so";
  op.probe = OPTILE_PROBE_TORCH;
  op.region = true;
  EXPECT_FALSE(same_bits_at_every_width(op));
}

class AsUntunedTest : public ControllerTest {
 protected:
  AttachRequest as_untuned(const std::string& run_id) {
    AttachRequest who = attach_request(run_id);
    who.launch_plan = "openmp=keep wait=keep blas=keep";
    who.as_untuned = true;
    return who;
  }
  AttachRequest any(const std::string& run_id) {
    AttachRequest who = as_untuned(run_id);
    who.as_untuned = false;
    return who;
  }
  const optile_plan_page& page_of(Attached& attached) {
    const optile_plan_region& plan = attached.program->regions().plan();
    return plan.pages[plan.generation & 1];
  }
  std::string reason_of(uint64_t id, uint64_t key) {
    const ClientView view = controller_->view(id).value();
    for (const tuner::OpView& op : view.session->ops) {
      if (op.place.key == key) return op_reason(view, op);
    }
    return "";
  }
};

// aten::mm gains from width 1 to 4, aten::add loses; of the two only the latter may be changed.
TEST_F(AsUntunedTest, TunesOnlyOpsWithSameBits) {
  Attached one = attach(as_untuned("one"), OPTILE_WIDTH_FRAMEWORK);
  for (int step = 0; step < 600; ++step) {
    run(one, 1);
    ASSERT_EQ(one.program->widths().at(kMatmul), 4) << step;
    ASSERT_EQ(one.program->widths().at(kSoftmax), 4) << step;
    ASSERT_EQ(page_of(one).default_width_cap, 0u) << step;
    ASSERT_EQ(one.program->regions().plan().shared_cores, 0u) << step;
  }
  EXPECT_EQ(one.program->widths().at(kAdd), 1);
  EXPECT_NE(reason_of(one.id, kMatmul).find("left alone: numerics"), std::string::npos);
  EXPECT_EQ(reason_of(one.id, kAdd).find("numerics"), std::string::npos);
}

// Also where one width for everything is what the user wants.
TEST_F(AsUntunedTest, UniformStrategySparesOpsLeftAlone) {
  AttachRequest who = as_untuned("uniform");
  who.strategy = OPTILE_STRATEGY_UNIFORM;
  Attached one = attach(who, OPTILE_WIDTH_FRAMEWORK);
  for (int step = 0; step < 600; ++step) {
    run(one, 1);
    ASSERT_EQ(one.program->widths().at(kMatmul), 4) << step;
    ASSERT_EQ(one.program->widths().at(kSoftmax), 4) << step;
    ASSERT_EQ(page_of(one).default_width_cap, 0u) << step;
  }
}

TEST_F(AsUntunedTest, PlansAreNotSharedWithOtherRuns) {
  Attached first = attach(any("first"));
  ASSERT_TRUE(run_until_tuned(first, 3000));
  run(first, 50);
  controller_->depart(first.id);
  Attached second = attach(as_untuned("second"));
  run(second, 5);
  EXPECT_FALSE(controller_->view(second.id)->session->plan_replayed);
  EXPECT_EQ(second.program->widths().at(kAdd), 4) << "not known yet to be better at another";
  ASSERT_TRUE(run_until_tuned(second, 3000));
  run(second, 50);
  controller_->depart(second.id);
  Attached third = attach(as_untuned("third"));
  run(third, 5);
  EXPECT_EQ(third.program->widths().at(kAdd), 1) << "from the start";
  ASSERT_TRUE(run_until_tuned(third, 3000));
  EXPECT_TRUE(controller_->view(third.id)->session->plan_replayed);
  EXPECT_EQ(third.program->widths().at(kAdd), 1);
  EXPECT_EQ(third.program->widths().at(kMatmul), 4);
  controller_->depart(third.id);
  // Nor are their times held against launch plans.
  perfmodel::LaunchFacts facts;
  const AttachRequest who = any("fourth");
  const perfmodel::LaunchPlan plan = controller_->history().launch_plan(
      facts, {who.executable, who.program, who.arguments}, who.uid);
  EXPECT_EQ(plan.text.find("numerics"), std::string::npos) << plan.text;
  EXPECT_EQ(plan.taken_back, "");
}

TEST_F(AsUntunedTest, LeaseLimitsMaskButNotWidths) {
  leases_ = true;
  make_controller();
  Attached one = attach(as_untuned("one"), OPTILE_WIDTH_FRAMEWORK);
  run(one, 200);
  Attached other = attach(attach_request("other"));
  run(one, 200);
  EXPECT_LT(masks_[one.id].size(), 4u) << "its cores are shared like anybody's";
  EXPECT_EQ(one.program->widths().at(kMatmul), 4);
  EXPECT_EQ(one.program->widths().at(kSoftmax), 4);
  EXPECT_EQ(page_of(one).default_width_cap, 0u);
  const ClientView view = controller_->view(one.id).value();
  EXPECT_EQ(view.default_width_cap, 0);
  EXPECT_EQ(view.shared_cores, 0);
  EXPECT_NE(leases_json(*controller_).dump().find("--numerics as-untuned"), std::string::npos);
}

TEST_F(AsUntunedTest, FreezeReplaysStoredPlan) {
  Attached first = attach(as_untuned("first"));
  ASSERT_TRUE(run_until_tuned(first, 3000));
  run(first, 50);
  controller_->depart(first.id);
  AttachRequest who = as_untuned("again");
  who.mode = OPTILE_MODE_FREEZE;
  Attached again = attach(who);
  for (int step = 0; step < 100; ++step) {
    run(again, 1);
    ASSERT_EQ(again.program->widths().at(kMatmul), 4) << step;
  }
  EXPECT_EQ(again.program->widths().at(kAdd), 1);
}

// A launcher around it has set the number of threads, and nobody took that out.
TEST_F(AsUntunedTest, WarnsWhenOuterLauncherSetWidth) {
  const auto told = [this](uint32_t source) {
    Attached one = attach(as_untuned("one"), source);
    run(one, 5);
    std::string all;
    for (const std::string& text : fallback_texts(*controller_->view(one.id))) all += text;
    controller_->depart(one.id);
    return all.find("another optile run around it") != std::string::npos;
  };
  EXPECT_TRUE(told(OPTILE_WIDTH_LAUNCHER));
  EXPECT_FALSE(told(OPTILE_WIDTH_FRAMEWORK));
  EXPECT_FALSE(told(OPTILE_WIDTH_ENVIRONMENT));
}

}  // namespace
}  // namespace optile::daemon
