#include "daemon/support/step_sketch.h"

#include <gtest/gtest.h>

namespace optile::daemon {
namespace {

// A step of that many ops, of the keys first, first + 1, …
StepSketch sketch(int ops, uint64_t first, uint64_t keys) {
  tuner::SessionView session;
  session.marker = tuner::Marker{{first, 0}, ops};
  for (uint64_t i = 0; i < keys; ++i) {
    tuner::OpView op;
    op.place = {first + i, 0};
    session.ops.push_back(op);
  }
  return StepSketch::of(session);
}

TEST(StepSketch, FewExtraOpsAreSameStep) {
  EXPECT_TRUE(may_be_same_step(sketch(200, 1, 40), sketch(200, 1, 40)));
  EXPECT_TRUE(may_be_same_step(sketch(200, 1, 40), sketch(208, 1, 43)));
  EXPECT_TRUE(may_be_same_step(sketch(3, 1, 3), sketch(5, 1, 4)));
}

TEST(StepSketch, InnerLoopIsDifferentStep) {
  EXPECT_FALSE(may_be_same_step(sketch(200, 1, 40), sketch(21, 1, 40)));
}

TEST(StepSketch, DifferentOpsAreDifferentStep) {
  EXPECT_FALSE(may_be_same_step(sketch(200, 1, 40), sketch(200, 1000, 40)));
  EXPECT_FALSE(may_be_same_step(sketch(200, 1, 400), sketch(200, 300, 400)));
  EXPECT_TRUE(may_be_same_step(sketch(200, 1, 400), sketch(200, 11, 400)));
}

TEST(StepSketch, UnknownSketchMatchesAnyStep) {
  EXPECT_TRUE(may_be_same_step({}, sketch(21, 1, 5)));
  EXPECT_TRUE(may_be_same_step(StepSketch::of({}), sketch(21, 1, 5)));
}

TEST(StepSketch, KeysSurviveTextRoundTrip) {
  const StepSketch step = sketch(200, 1, 400);
  EXPECT_EQ(step.keys.size(), StepSketch::kMostKeys);
  EXPECT_EQ(StepSketch::keys_from(step.keys_text()), step.keys);
  EXPECT_TRUE(StepSketch::keys_from("12 zz 00000000000000zz").empty());
}

}  // namespace
}  // namespace optile::daemon
