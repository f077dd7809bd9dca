#include "daemon/views/json_views.h"

#include <gtest/gtest.h>

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;

tuner::OpView op_at(int width) {
  tuner::OpView op;
  op.width = width;
  return op;
}

TEST(ClientSummary, ReportsWidthsStepTimesAndTrials) {
  ClientView client;
  client.session = tuner::SessionView();
  client.session->phase = tuner::Phase::kTuned;
  client.session->default_width = 4;
  client.session->ops = {op_at(0), op_at(2)};
  for (const int ms : {20, 30, 40}) client.session->tuned_steps.add(milliseconds(ms));
  Json json = client_summary(client);
  EXPECT_EQ(json["widths"], Json({{"least", 2}, {"most", 4}}));
  EXPECT_DOUBLE_EQ(json["step_seconds"]["tuned"].get<double>(), 0.03);
  EXPECT_TRUE(json["step_seconds"]["own"].is_null());
  EXPECT_TRUE(json["trials"].is_null());
  // Under a lease the program's default width is no wider than its cores.
  client.default_width_cap = 3;
  client.trials = {5, {1, 2}};
  json = client_summary(client);
  EXPECT_EQ(json["widths"], Json({{"least", 2}, {"most", 3}}));
  EXPECT_EQ(json["trials"], Json({{"ops", 5}, {"widths", {1, 2}}}));
}

TEST(ClientSummary, UnknownValuesAreNull) {
  const Json json = client_summary(ClientView());
  EXPECT_EQ(json["phase"], "attaching");
  EXPECT_TRUE(json["widths"].is_null());
  EXPECT_TRUE(json["step_seconds"]["tuned"].is_null());
}

// A program of regions that are only watched: nobody asked for its width, and nothing was sampled.
TEST(OpRow, ObservedOpsHaveRegionWidthAndTime) {
  ClientView client;
  client.session = tuner::SessionView();
  tuner::OpView op = op_at(0);
  op.place.key = 7;
  op.per_step = 2;
  Json row = op_row(client, op);
  EXPECT_TRUE(row["width"].is_null()) << row;
  EXPECT_TRUE(row["default_width"].is_null());
  EXPECT_EQ(row["seconds"], 0);
  client.header = ClientHeader();
  client.header->region_width = 2;
  client.totals[7].count = 10;
  client.totals[7].time = milliseconds(50);
  client.session->ops = {op};
  row = op_row(client, op);
  EXPECT_EQ(row["width"], 2);
  EXPECT_EQ(row["default_width"], 2);
  EXPECT_DOUBLE_EQ(row["seconds"].get<double>(), 0.01);
  EXPECT_DOUBLE_EQ(row["own_seconds"].get<double>(), 0.01);
  EXPECT_EQ(client_summary(client)["widths"], Json({{"least", 2}, {"most", 2}}));
}

TEST(ClientSummary, ReportsMeasuredStepRate) {
  ClientView client;
  EXPECT_TRUE(client_summary(client)["steps_per_second"].is_null());
  client.session = tuner::SessionView();
  client.session->tuned_steps.add(std::chrono::microseconds(97));
  client.steps_per_second = 6.6;
  EXPECT_DOUBLE_EQ(client_summary(client)["steps_per_second"].get<double>(), 6.6);
}

TEST(OpReason, PrimitiveInsideAnotherLibraryIsObservedOnly) {
  ClientView client;
  client.session = tuner::SessionView();
  client.session->default_width = 4;
  tuner::OpView op = op_at(0);
  op.place.key = 7;
  client.ops[7].probe = OPTILE_PROBE_ITT;
  EXPECT_NE(op_reason(client, op).find("observed only: oneDNN"), std::string::npos);
  client.ops[7].probe = OPTILE_PROBE_ONEDNN;
  EXPECT_EQ(op_reason(client, op).find("oneDNN"), std::string::npos);
}

// An op that runs at the program's default width because nobody may change it was compared with
// nothing.
TEST(OpReason, ExplainsWhyNothingIsChanged) {
  ClientView client;
  client.session = tuner::SessionView();
  client.session->default_width = 4;
  const std::string untried = op_reason(client, op_at(0));
  EXPECT_EQ(untried, "no other width has been tried");
  tuner::OpView two = op_at(0);
  two.profile.record({4, perfmodel::Binding::kNone}, std::chrono::nanoseconds(100));
  EXPECT_EQ(op_reason(client, two), untried);
  two.profile.record({2, perfmodel::Binding::kNone}, std::chrono::nanoseconds(100));
  EXPECT_EQ(op_reason(client, two), tuner::reason_text(tuner::Rule::kDefaultWidth));
  client.session->plan_replayed = true;
  const std::string compared = op_reason(client, op_at(0));
  EXPECT_EQ(compared, tuner::reason_text(tuner::Rule::kDefaultWidth));
  client.attach_request.mode = OPTILE_MODE_OBSERVE;
  EXPECT_TRUE(op_reason(client, op_at(0)).ends_with("(--mode observe)"));
  client.attach_request.mode = OPTILE_MODE_ADVISE;
  EXPECT_TRUE(op_reason(client, op_at(0)).ends_with("(--mode advise)"));
  client.attach_request.baseline = true;
  EXPECT_EQ(op_reason(client, op_at(0)), "an untouched run: nothing is changed in it");
  client.attach_request = AttachRequest();
  client.left_alone = true;
  EXPECT_NE(op_reason(client, op_at(0)).find("--revoke"), std::string::npos);
  client.left_alone = false;
  client.header = ClientHeader();
  client.header->fallbacks = OPTILE_FALLBACK_OTHER_MANAGER;
  EXPECT_NE(op_reason(client, op_at(0)).find("another library"), std::string::npos);
  client.header->fallbacks = 0;
  client.attach_request.mode = OPTILE_MODE_FREEZE;
  EXPECT_NE(op_reason(client, op_at(0)).find("nothing is stored"), std::string::npos);
  client.stored = FoundPlan();
  EXPECT_EQ(op_reason(client, op_at(0)), compared);
}

// The user did ask for tuned regions, so that is not why they are left alone.
TEST(OpReason, ObserveModeOverridesRegionReason) {
  ClientView client;
  client.session = tuner::SessionView();
  tuner::OpView op = op_at(0);
  op.place.key = 7;
  client.ops[7].region = true;
  client.ops[7].tuning = OPTILE_REGION_NOT_ASKED;
  EXPECT_NE(op_reason(client, op).find("--regions=tune"), std::string::npos);
  client.attach_request.mode = OPTILE_MODE_OBSERVE;
  EXPECT_TRUE(op_reason(client, op).ends_with("(--mode observe)"));
}

}  // namespace
}  // namespace optile::daemon
