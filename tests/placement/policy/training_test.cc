// Training on a family, and placing graphs of it that were not among those.
#include "placement/policy/training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "placement/policy/policy.h"
#include "tests/placement/policy/two_chains.h"
#include "tests/sanitized.h"

namespace optile::placement::policy {
namespace {

using testing::HasSubstr;

TrainingRequest request_for(Method method, std::uint64_t evaluations) {
  TrainingRequest request;
  request.method = method;
  request.limits.evaluations = evaluations;
  return request;
}

Answer placed(const Graph& graph, const Cluster& cluster, const Request& request) {
  const auto answer = place(graph, cluster, request);
  EXPECT_TRUE(answer.ok()) << answer.message();
  return answer.ok() ? answer.value() : Answer();
}

TEST(Training, PlacesUnseenGraph) {
  const Cluster cluster = Cluster::uniform(2, 0, 1e9);
  std::deque<Graph> graphs;
  std::vector<Example> examples;
  for (const int length : {5, 6, 8, 9}) {
    graphs.push_back(two_chains(length, 1 + length % 3));
    examples.push_back({"chains", graphs.back(), cluster});
  }
  const std::uint64_t evaluations = test::kSanitized ? 100 : 8000;
  const auto trained = train(examples, request_for(Method::kPlaceto, evaluations));
  ASSERT_TRUE(trained.ok()) << trained.message();
  EXPECT_LE(trained.value().evaluations, evaluations + 1);
  if (test::kSanitized) return;  // it knows too little to be judged
  EXPECT_LT(trained.value().mean_cost, 0.8);
  const Graph unseen = two_chains(7, 2);
  Request request;
  request.objective = Objective::kStep;
  request.method = Method::kPlaceto;
  request.limits.evaluations = 2;  // one device, and the likeliest devices
  request.policy = std::make_shared<const SavedPolicy>(trained.value().policy);
  const double zero_shot = placed(unseen, cluster, request).cost;
  EXPECT_LT(zero_shot, 0.9 * 32) << "32: one device";
  request.limits.evaluations = 500;
  request.fine_tune = true;
  EXPECT_LE(placed(unseen, cluster, request).cost, zero_shot);
  const SavedPolicy untrained =
      saved_policy(Method::kPlaceto, 2, *make_policy(Method::kPlaceto, 2, 1));
  request.limits.evaluations = 2;
  request.fine_tune = false;
  request.policy = std::make_shared<const SavedPolicy>(untrained);
  EXPECT_GT(placed(unseen, cluster, request).cost, zero_shot);
}

TEST(Training, IsDeterministicAndContinuesFromPolicy) {
  const Cluster cluster = Cluster::uniform(2, 0, 1e9);
  const Graph graph = two_chains(5, 2);
  const std::vector<Example> examples = {{"chains", graph, cluster}};
  for (const Method method : kPolicies) {
    const auto first = train(examples, request_for(method, 60));
    const auto again = train(examples, request_for(method, 60));
    ASSERT_TRUE(first.ok() && again.ok());
    const std::string text = policy_text(first.value().policy);
    EXPECT_EQ(text, policy_text(again.value().policy)) << name_of(method);
    TrainingRequest more = request_for(method, 60);
    more.policy = std::make_shared<const SavedPolicy>(first.value().policy);
    const auto further = train(examples, more);
    ASSERT_TRUE(further.ok()) << further.message();
    EXPECT_NE(text, policy_text(further.value().policy)) << name_of(method);
  }
}

TEST(Training, RejectsMismatchedExamplesAndPolicies) {
  const Cluster two = Cluster::uniform(2, 0, 1e9);
  const Cluster three = Cluster::uniform(3, 0, 1e9);
  const Graph graph = two_chains(3, 2);
  const auto refusal = [](const base::Result<Trained>& trained) {
    return trained.ok() ? "" : trained.message();
  };
  EXPECT_THAT(refusal(train({}, request_for(Method::kGdp, 10))), HasSubstr("no graph"));
  EXPECT_THAT(refusal(train({{"a", graph, two}}, request_for(Method::kMetis, 10))),
              HasSubstr("does not learn; there are placeto, gdp"));
  EXPECT_THAT(
      refusal(train({{"a", graph, two}, {"b", graph, three}}, request_for(Method::kGdp, 10))),
      HasSubstr("b has 3 devices and a 2"));
  TrainingRequest request = request_for(Method::kGdp, 10);
  request.policy = std::make_shared<const SavedPolicy>(
      saved_policy(Method::kRnn, 2, *make_policy(Method::kRnn, 2, 1)));
  EXPECT_THAT(refusal(train({{"a", graph, two}}, request)), HasSubstr("saved by --method rnn"));
  request.method = Method::kRnn;
  EXPECT_THAT(refusal(train({{"a", graph, three}}, request)), HasSubstr("for 2 devices"));
}

}  // namespace
}  // namespace optile::placement::policy
