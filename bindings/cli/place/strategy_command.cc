#include "bindings/cli/place/strategy_command.h"

#include <cmath>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "bindings/cli/place/place_output.h"
#include "bindings/cli/place/refusal.h"
#include "bindings/cli/place/search_limits.h"
#include "placement/answer.h"
#include "placement/budget.h"
#include "placement/strategy/iopddl_reader.h"
#include "placement/strategy/solver.h"

namespace optile::cli {
namespace {

using placement::Answer;
using placement::StrategyProblem;
using Json = nlohmann::json;

std::string json_of(const Answer& answer, const StrategyProblem& problem) {
  Json json = answer_fields(answer, "strategy");
  json["memory"] = answer.memory;
  json["assignment"] = answer.assignment;
  if (problem.usage_limit) json["memory_limit"] = *problem.usage_limit;
  return json.dump() + "\n";
}

void print_table(const Answer& answer, const StrategyProblem& problem) {
  std::printf("optile place: %zu nodes, %zu edges (iopddl%s%s)\n", problem.nodes.size(),
              problem.edges.size(), problem.name.empty() ? "" : ", ", problem.name.c_str());
  if (answer.feasible) {
    std::printf("  cost           %18.0f  (sum of node and edge costs)\n", answer.cost);
  }
  std::printf("  lower bound    %18.0f", answer.lower_bound);
  if (answer.feasible && answer.gap() == 0) {
    std::printf("  proven optimal");
  } else if (answer.feasible && std::isfinite(answer.gap())) {
    std::printf("  gap %.2f %%", answer.gap() * 100);
  }
  if (answer.feasible && problem.usage_limit) {
    std::printf("\n  largest memory %18.0f  of %lld", answer.memory[0],
                static_cast<long long>(*problem.usage_limit));
  }
  std::printf("\n  by %s, seed %llu, %llu evaluations in %.2f s\n", answer.method.c_str(),
              static_cast<unsigned long long>(answer.seed),
              static_cast<unsigned long long>(answer.evaluations), answer.seconds);
  if (!answer.feasible) std::printf("  NOT FEASIBLE: %s\n", answer.violation.c_str());
}

}  // namespace

int place_strategies(const PlaceOptions& options, const std::string& text,
                     const std::atomic<bool>& interrupted) {
  const base::Result<StrategyProblem> problem = placement::read_iopddl(text);
  if (!problem.ok()) return refuse(options.graph + ": " + problem.message());
  placement::StrategyRequest request;
  request.method = options.method;
  request.seed = options.seed;
  placement::Budget budget(search_limits(options, interrupted));
  const base::Result<Answer> answer = placement::solve_strategy(problem.value(), request, budget);
  if (!answer.ok()) return refuse(options.graph + ": " + answer.message());
  if (interrupted) std::cerr << "optile: interrupted; this is the best so far\n";
  if (options.json) {
    std::cout << json_of(answer.value(), problem.value());
  } else {
    print_table(answer.value(), problem.value());
  }
  return answer.value().feasible ? 0 : kNotFeasible;
}

}  // namespace optile::cli
