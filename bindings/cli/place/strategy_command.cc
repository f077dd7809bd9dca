#include "bindings/cli/place/strategy_command.h"

#include <cmath>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "bindings/cli/place/place_inputs.h"
#include "bindings/cli/place/place_output.h"
#include "bindings/cli/place/refusal.h"
#include "bindings/cli/place/search_limits.h"
#include "placement/answer.h"
#include "placement/budget.h"
#include "placement/import/importer.h"
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

int place_strategies(const StrategyOptions& options) {
  const base::Result<std::string> text = placement::read_whole_file(options.graph);
  if (!text.ok()) return refuse(text.message());
  if (!placement::looks_like_iopddl(text.value())) {
    return refuse(options.graph +
                  " is no problem of strategies: it needs optile place load, latency or step");
  }
  const base::Result<StrategyProblem> problem = placement::read_iopddl(text.value());
  if (!problem.ok()) return refuse(options.graph + ": " + problem.message());
  placement::Budget budget(search_limits(options.search, interruption()));
  const base::Result<Answer> answer = placement::solve_strategy(
      problem.value(), {.method = options.method, .seed = options.search.seed}, budget);
  if (!answer.ok()) return refuse(options.graph + ": " + answer.message());
  if (was_interrupted()) std::cerr << "optile: interrupted; this is the best so far\n";
  if (options.json) {
    std::cout << json_of(answer.value(), problem.value());
  } else {
    print_table(answer.value(), problem.value());
  }
  return answer.value().feasible ? 0 : kNotFeasible;
}

}  // namespace optile::cli
