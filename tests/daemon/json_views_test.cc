#include "daemon/json_views.h"

#include <gtest/gtest.h>

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;

tuner::OpView op_at(int width) {
  tuner::OpView op;
  op.width = width;
  return op;
}

TEST(ClientSummary, SaysHowItRunsNow) {
  ClientView client;
  client.session = tuner::SessionView();
  client.session->phase = tuner::Phase::kTuned;
  client.session->own_width = 4;
  client.session->ops = {op_at(0), op_at(2)};
  for (const int ms : {20, 30, 40}) client.session->tuned_steps.add(milliseconds(ms));
  Json json = client_summary(client);
  EXPECT_EQ(json["widths"], Json({{"least", 2}, {"most", 4}}));
  EXPECT_DOUBLE_EQ(json["step_seconds"]["tuned"].get<double>(), 0.03);
  EXPECT_TRUE(json["step_seconds"]["own"].is_null());
  EXPECT_TRUE(json["trials"].is_null());
  // Under a lease the program's own width is no wider than its cores.
  client.own_width_cap = 3;
  client.trials = {5, {1, 2}};
  json = client_summary(client);
  EXPECT_EQ(json["widths"], Json({{"least", 2}, {"most", 3}}));
  EXPECT_EQ(json["trials"], Json({{"ops", 5}, {"widths", {1, 2}}}));
}

TEST(ClientSummary, SaysNothingOfWhatIsNotKnown) {
  const Json json = client_summary(ClientView());
  EXPECT_EQ(json["phase"], "attaching");
  EXPECT_TRUE(json["widths"].is_null());
  EXPECT_TRUE(json["step_seconds"]["tuned"].is_null());
}

}  // namespace
}  // namespace optile::daemon
