#include "bindings/cli/place/split_command.h"

#include <chrono>
#include <cstdio>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/at.h"
#include "bindings/cli/place/refusal.h"
#include "placement/tofu/networks.h"
#include "placement/tofu/partition.h"

namespace optile::cli {
namespace {

using base::at;

namespace tofu = placement::tofu;
using Json = nlohmann::json;

constexpr double kGigabyte = 1e9;

// "n, n, c": along what something was halved; "-" where both halves have the same.
std::string halvings(const tofu::History& history, const tofu::Operator& op) {
  std::string text;
  for (const int way : history) {
    text += (text.empty() ? "" : ", ") + (way < 0 ? std::string("-") : op.indices[at(way)].name);
  }
  return text;
}

Json network_json(const tofu::OperatorGraph& graph, const tofu::Partition& found,
                  const SplitOptions& options, double seconds) {
  Json tensors = Json::array();
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const tofu::GraphTensor& tensor = graph.tensors[i];
    tensors.push_back({{"name", tensor.name},
                       {"shape", tensor.shape},
                       {"parameter", tensor.parameter},
                       {"halved_along", found.tensors[i]}});
  }
  Json operators = Json::array();
  for (std::size_t i = 0; i < graph.operators.size(); ++i) {
    const tofu::GraphOperator& op = graph.operators[i];
    const tofu::Operator& description = graph.descriptions[at(op.description)];
    Json along = Json::array();
    for (const int way : found.operators[i]) {
      along.push_back(way < 0 ? Json() : Json(description.indices[at(way)].name));
    }
    operators.push_back({{"name", description.name},
                         {"inputs", op.inputs},
                         {"output", op.output},
                         {"halved_along", along}});
  }
  return {{"network", options.network},
          {"workers", options.workers},
          {"coarse_tensors", found.coarse_tensors},
          {"coarse_nodes", found.coarse_nodes},
          {"bytes_moved", found.bytes_moved},
          {"bytes_moved_by_level", found.by_level},
          {"data_parallel_bytes", tofu::data_parallel_bytes(graph, options.workers)},
          {"parameter_bytes", tofu::parameter_bytes(graph)},
          {"parameter_bytes_per_worker", found.parameter_bytes_per_worker},
          {"exact_levels", found.exact},
          {"seconds", seconds},
          {"tensors", tensors},
          {"operators", operators}};
}

void print_network(const tofu::OperatorGraph& graph, const tofu::Partition& found,
                   const SplitOptions& options, double seconds) {
  const double replicas = tofu::data_parallel_bytes(graph, options.workers);
  std::printf("%s: %zu operators on %zu tensors, over %d workers\n", options.network.c_str(),
              graph.operators.size(), graph.tensors.size(), options.workers);
  std::printf("  coarse graph      %d nodes on %d classes of tensors\n", found.coarse_nodes,
              found.coarse_tensors);
  std::printf("  bytes moved       %.3f GB a step, by all workers together\n",
              found.bytes_moved / kGigabyte);
  std::printf("  replicas' bytes   %.3f GB a step, for gradients of the parameters\n",
              replicas / kGigabyte);
  std::printf("  parameters        %.3f GB on each worker, %.3f GB on each replica\n",
              found.parameter_bytes_per_worker / kGigabyte,
              tofu::parameter_bytes(graph) / kGigabyte);
  std::printf("  each halving      %s\n",
              found.exact ? "the best after those before it"
                          : "good: the coarse graph was too tangled for the best");
  std::printf("  searched          %.3f s\n\n", seconds);
  std::map<std::pair<std::string, std::string>, int> ways;
  for (std::size_t i = 0; i < graph.operators.size(); ++i) {
    const tofu::Operator& op = graph.descriptions[at(graph.operators[i].description)];
    ++ways[{op.name, halvings(found.operators[i], op)}];
  }
  std::printf("  %-22s %-20s %s\n", "operators", "halved along", "how many");
  for (const auto& [way, count] : ways) {
    std::printf("  %-22s %-20s %8d\n", way.first.c_str(), way.second.c_str(), count);
  }
}

}  // namespace

int split_operators(const SplitOptions& options) {
  const bool resnet = options.network == "wresnet-152";
  tofu::WideResnet wide;
  tofu::UnrolledLstm unrolled;
  if (options.batch != 0) wide.batch = unrolled.batch = options.batch;
  const tofu::OperatorGraph graph =
      resnet ? tofu::wide_resnet(wide) : tofu::unrolled_lstm(unrolled);
  const auto begin = std::chrono::steady_clock::now();
  const auto found = tofu::partition(graph, options.workers);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (!found.ok()) return refuse(found.message());
  if (options.json) {
    std::cout << network_json(graph, found.value(), options, took.count()).dump() << "\n";
  } else {
    print_network(graph, found.value(), options, took.count());
  }
  return 0;
}

}  // namespace optile::cli
