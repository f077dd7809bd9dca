#include "bindings/cli/place/parallelism_command.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>

#include "bindings/cli/place/refusal.h"
#include "placement/parallelism/hybrid.h"

namespace optile::cli {
namespace {

using placement::ParallelismAdvice;
using placement::ParallelismChoice;
using placement::ParallelismProblem;
using Json = nlohmann::json;

// "32:3.2" as a pair; "64:none" without a number where that is allowed.
base::Result<std::pair<int, std::optional<double>>> pair_of(const std::string& text, bool none) {
  const base::Error error{base::ErrorKind::kInvalid, "\"" + text + "\" is no pair such as 32:3.2" +
                                                         (none ? " or 64:none" : "")};
  char* end = nullptr;
  const long count = std::strtol(text.c_str(), &end, 10);
  if (end == text.c_str() || *end != ':' || count < 1 || count > 1 << 20) return error;
  const std::string value = end + 1;
  if (none && value == "none") return std::pair(static_cast<int>(count), std::optional<double>());
  const double number = std::strtod(value.c_str(), &end);
  if (value.empty() || *end != '\0' || !std::isfinite(number)) return error;
  return std::pair(static_cast<int>(count), std::optional<double>(number));
}

template <typename Map>
base::Status fill(const std::vector<std::string>& texts, bool none, Map& map) {
  for (const std::string& text : texts) {
    const auto pair = pair_of(text, none);
    if (!pair.ok()) return pair.error();
    const auto& [count, value] = pair.value();
    if (map.contains(count)) {
      return base::Error{base::ErrorKind::kInvalid,
                         "\"" + text + "\" is the second number for " + std::to_string(count)};
    }
    if constexpr (std::is_same_v<typename Map::mapped_type, double>) {
      map[count] = *value;
    } else {
      map[count] = value;
    }
  }
  return {};
}

base::Result<ParallelismProblem> problem_of(const ParallelismOptions& options) {
  ParallelismProblem problem;
  if (auto status = fill(options.epochs, true, problem.epochs); !status.ok()) {
    return status.error();
  }
  if (auto status = fill(options.speedups, false, problem.model_speedup); !status.ok()) {
    return status.error();
  }
  if (auto status = fill(options.efficiencies, false, problem.scaling_efficiency); !status.ok()) {
    return status.error();
  }
  return problem;
}

Json number(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

Json json_of(const ParallelismAdvice& advice) {
  Json choices = Json::array();
  for (const ParallelismChoice& choice : advice.choices) {
    choices.push_back({{"model_devices", choice.model_devices},
                       {"replicas", choice.replicas},
                       {"converges", choice.converges},
                       {"over_data_parallel", number(choice.over_data_parallel)},
                       {"over_same_replicas", choice.over_same_replicas},
                       {"needed_speedup", number(choice.needed_speedup)}});
  }
  return {{"devices", advice.devices},
          {"choices", choices},
          {"best", advice.best ? Json(*advice.best) : Json()}};
}

void print_choice(const ParallelismChoice& choice, bool best) {
  std::printf("  %5d replicas x %3d devices  ", choice.replicas, choice.model_devices);
  if (!choice.converges) {
    std::printf("does not converge");
  } else if (choice.model_devices == 1) {
    std::printf("data parallelism alone");
  } else if (choice.over_data_parallel) {
    std::printf("%.3f times data parallelism (the split runs %.3f times as fast, needs %.3f)",
                *choice.over_data_parallel, choice.over_same_replicas, *choice.needed_speedup);
  } else {
    std::printf("data parallelism alone does not converge; %.3f times the same replicas",
                choice.over_same_replicas);
  }
  std::printf("%s\n", best ? "  <- best" : "");
}

}  // namespace

int advise_parallelism(const ParallelismOptions& options) {
  const base::Result<ParallelismProblem> problem = problem_of(options);
  if (!problem.ok()) return refuse(problem.message());
  Json all = Json::array();
  for (const int devices : options.devices) {
    const base::Result<ParallelismAdvice> advice = placement::advise(problem.value(), devices);
    if (!advice.ok()) return refuse(std::to_string(devices) + " devices: " + advice.message());
    if (options.json) {
      all.push_back(json_of(advice.value()));
      continue;
    }
    std::printf("%d devices\n", devices);
    for (std::size_t i = 0; i < advice.value().choices.size(); ++i) {
      print_choice(advice.value().choices[i], advice.value().best == i);
    }
  }
  if (options.json) std::cout << all.dump() << "\n";
  return 0;
}

}  // namespace optile::cli
