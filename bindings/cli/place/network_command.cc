#include "bindings/cli/place/network_command.h"

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bindings/cli/place/place_inputs.h"
#include "bindings/cli/place/place_output.h"
#include "bindings/cli/place/refusal.h"
#include "bindings/cli/place/search_limits.h"
#include "placement/answer.h"
#include "placement/layers/layer_strategies.h"
#include "placement/strategy/solver.h"

namespace optile::cli {
namespace {

using placement::Answer;
using placement::LayerStrategies;
using placement::StepEstimate;
using placement::StrategyChoice;
using placement::UsualParallelism;
using Json = nlohmann::json;

constexpr double kNanosecondsOfMs = 1e6;

struct Rival {
  const char* key;
  const char* name;
  UsualParallelism parallelism;
};
constexpr Rival kRivals[] = {
    {"none", "one device", UsualParallelism::kNone},
    {"data", "data parallelism", UsualParallelism::kData},
    {"model", "model parallelism", UsualParallelism::kModel},
    {"one_weird_trick", "one weird trick", UsualParallelism::kOneWeirdTrick}};

struct Outcome {
  const LayerStrategies& strategies;
  const Answer& answer;
  StrategyChoice choice;
  StepEstimate estimate;
};

double ms(double seconds) {
  return seconds * 1e3;
}

double ratio(double of, double to) {
  return to > 0 ? of / to : 0;
}

Json json_of(const StepEstimate& estimate) {
  return {{"step_ms", ms(estimate.seconds())},
          {"compute_ms", ms(estimate.compute)},
          {"synchronise_ms", ms(estimate.synchronise)},
          {"transfer_ms", ms(estimate.transfer)},
          {"moved_bytes", estimate.moved.bytes()},
          {"moved_between_hosts_bytes", estimate.moved.between_hosts}};
}

Json layers_json(const Outcome& outcome) {
  Json layers = Json::array();
  for (std::size_t i = 0; i < outcome.choice.size(); ++i) {
    const placement::Layer& layer = outcome.strategies.graph.layers[i];
    const placement::Degrees& degrees = outcome.strategies.ways[i][outcome.choice[i]];
    Json each = {{"name", layer.name},
                 {"kind", placement::name_of(layer.kind)},
                 {"devices", placement::parts_of(degrees)}};
    for (std::size_t d = 0; d < placement::dimensions_of(layer); ++d) {
      each["degrees"][std::string(placement::letter_of(layer, d))] = degrees[d];
    }
    layers.push_back(std::move(each));
  }
  return layers;
}

void print_json(const Outcome& outcome) {
  const Answer& answer = outcome.answer;
  Answer in_ms = answer;
  in_ms.cost /= kNanosecondsOfMs;
  in_ms.lower_bound /= kNanosecondsOfMs;
  Json json = answer_fields(in_ms, "strategy");
  json["network"] = outcome.strategies.graph.name;
  json["devices"] = outcome.strategies.setting.devices;
  json["samples"] = outcome.strategies.setting.samples();
  json["estimate"] = json_of(outcome.estimate);
  json["layers"] = layers_json(outcome);
  for (const Rival& rival : kRivals) {
    json["rivals"][rival.key] =
        json_of(estimate(outcome.strategies, usual(outcome.strategies, rival.parallelism)));
  }
  std::cout << json.dump() << "\n";
}

void print_layers(const Outcome& outcome) {
  std::printf("  %-20s %-14s %-20s %s\n", "layer", "kind", "degrees", "devices");
  for (std::size_t i = 0; i < outcome.choice.size(); ++i) {
    const placement::Layer& layer = outcome.strategies.graph.layers[i];
    const placement::Degrees& degrees = outcome.strategies.ways[i][outcome.choice[i]];
    std::printf("  %-20s %-14s %-20s %lld\n", layer.name.c_str(), placement::name_of(layer.kind),
                placement::text_of(layer, degrees).c_str(),
                static_cast<long long>(placement::parts_of(degrees)));
  }
}

void print_row(const char* name, const StepEstimate& of, const StepEstimate& ours) {
  const auto moved = static_cast<double>(of.moved.bytes());
  const auto our_moved = static_cast<double>(ours.moved.bytes());
  std::printf("  %-18s %10.3f %10.3f %10.3f %10.3f %8.2f %12.3f %8.2f\n", name, ms(of.seconds()),
              ms(of.compute), ms(of.synchronise), ms(of.transfer),
              ratio(of.seconds(), ours.seconds()), moved / 1e6, ratio(moved, our_moved));
}

void print_table(const Outcome& outcome) {
  const Answer& answer = outcome.answer;
  const placement::TrainingSetting& setting = outcome.strategies.setting;
  std::printf("optile place: %s, %zu layers, on %d devices, %d a host, %lld samples a step\n",
              outcome.strategies.graph.name.c_str(), outcome.strategies.graph.layers.size(),
              setting.devices, setting.devices_per_host, static_cast<long long>(setting.samples()));
  std::printf("  cost           %12.6g ms  (a training step, by formulas and not by measurement)\n",
              answer.cost / kNanosecondsOfMs);
  std::printf("  lower bound    %12.6g ms", answer.lower_bound / kNanosecondsOfMs);
  if (answer.gap() == 0) {
    std::printf("  proven optimal");
  } else {
    std::printf("  gap %.2f %%", answer.gap() * 100);
  }
  std::printf("\n  by %s, seed %llu, in %.1f ms\n\n", answer.method.c_str(),
              static_cast<unsigned long long>(answer.seed), ms(answer.seconds));
  print_layers(outcome);
  std::printf("\n  %-18s %10s %10s %10s %10s %8s %12s %8s\n", "", "step ms", "compute", "sync",
              "transfer", "times", "moved MB", "times");
  print_row("layer by layer", outcome.estimate, outcome.estimate);
  for (const Rival& rival : kRivals) {
    print_row(rival.name,
              estimate(outcome.strategies, usual(outcome.strategies, rival.parallelism)),
              outcome.estimate);
  }
}

base::Result<LayerStrategies> strategies_for(const NetworkOptions& options) {
  placement::TrainingSetting setting;
  setting.devices = options.devices;
  setting.samples_per_device = options.batch;
  base::Result<placement::LayerGraph> graph =
      placement::published_network(options.network, setting.samples());
  if (!graph.ok()) return graph.error();
  return placement::strategies_of(std::move(graph).value(), setting);
}

}  // namespace

int split_network(const NetworkOptions& options) {
  const base::Result<LayerStrategies> strategies = strategies_for(options);
  if (!strategies.ok()) return refuse(strategies.message());
  placement::Budget budget(search_limits(options.search, interruption()));
  const base::Result<Answer> answer = placement::solve_strategy(
      strategies.value().problem, {.method = options.method, .seed = options.search.seed}, budget);
  if (!answer.ok()) return refuse(answer.message());
  if (!answer.value().feasible) {
    refuse(answer.value().violation);
    return kNotFeasible;
  }
  if (was_interrupted()) std::cerr << "optile: interrupted; this is the best so far\n";
  StrategyChoice choice(answer.value().assignment.begin(), answer.value().assignment.end());
  const StepEstimate of = estimate(strategies.value(), choice);
  const Outcome outcome{strategies.value(), answer.value(), std::move(choice), of};
  if (options.json) {
    print_json(outcome);
  } else {
    print_table(outcome);
  }
  return 0;
}

}  // namespace optile::cli
