#include "bindings/cli/place/place_command.h"

#include <filesystem>
#include <iostream>

#include "bindings/cli/place/network_command.h"
#include "bindings/cli/place/place_inputs.h"
#include "bindings/cli/place/place_output.h"
#include "bindings/cli/place/placement_dot.h"
#include "bindings/cli/place/placement_trace.h"
#include "bindings/cli/place/refusal.h"
#include "bindings/cli/place/strategy_command.h"
#include "bindings/cli/place/train_command.h"
#include "bindings/cli/support/output_file.h"
#include "placement/import/importer.h"
#include "placement/place.h"
#include "placement/strategy/iopddl_reader.h"
#include "placement/timeline.h"

namespace optile::cli {
namespace {

// Whether the files for drawings may be written, before the search.
base::Status check_drawings(const PlaceOptions& options) {
  const bool draws = !options.dot.empty() || !options.trace.empty();
  if (draws && options.objective == "strategy") {
    return base::invalid("--dot and --trace show placements, and strategies are none");
  }
  if (!options.trace.empty() && options.objective == "load") {
    return base::invalid("--trace shows what happens when, and the objective load knows no time");
  }
  for (const std::string& file : {options.dot, options.trace}) {
    if (file.empty()) continue;
    if (base::Status may = may_be_written(file); !may.ok()) return may;
  }
  return {};
}

base::Status write_drawings(const PlaceOptions& options, const placement::Model& model,
                            const placement::Cluster& cluster, const placement::Request& request,
                            const placement::Answer& answer) {
  if (!options.dot.empty()) {
    const std::string title = std::filesystem::path(options.graph).filename().string() + " on " +
                              std::to_string(cluster.size()) + " devices";
    base::Status written =
        write_output(options.dot, placement_dot(model, cluster, answer, title, options.objective));
    if (!written.ok()) return written;
  }
  if (options.trace.empty()) return {};
  return write_output(
      options.trace,
      placement_trace(model.graph, cluster,
                      placement::timeline(model.graph, cluster, request, answer.assignment)) +
          "\n");
}

}  // namespace

int place_graph(const PlaceOptions& options) {
  listen_to_interrupts();
  if (!options.network.empty()) return split_network(options, interruption());
  if (options.method == "tofu") {
    return refuse(
        "tofu needs to know what operators compute, and graphs do not say it: "
        "--network wresnet-152 or rnn-10, or optile split --describe");
  }
  if (!options.train.empty()) return train_policy(options);
  const base::Result<std::string> text = placement::read_whole_file(options.graph);
  if (!text.ok()) return refuse(text.message());
  const bool strategies = placement::looks_like_iopddl(text.value());
  if (strategies != (options.objective == "strategy")) {
    return refuse(options.graph +
                  (strategies ? " is a problem of strategies: it needs"
                              : " is no problem of strategies, as is needed for") +
                  " --objective strategy");
  }
  if (strategies && !options.bound_time.empty()) {
    return refuse(
        "--bound-time is for placements; for strategies --method bound spends its time so");
  }
  if (const base::Status may = check_drawings(options); !may.ok()) return refuse(may.message());
  if (strategies) return place_strategies(options, text.value(), interruption());
  const base::Result<placement::Model> model = model_of(options, text.value());
  if (!model.ok()) return refuse(model.message());
  const base::Result<placement::Cluster> cluster = cluster_of(options, model.value());
  if (!cluster.ok()) return refuse(cluster.message());
  const base::Result<placement::Request> request =
      request_of(options, model.value(), cluster.value());
  if (!request.ok()) return refuse(request.message());
  const base::Result<placement::Answer> answer =
      placement::place(model.value().graph, cluster.value(), request.value());
  if (!answer.ok()) return refuse(answer.message());
  if (was_interrupted()) std::cerr << "optile: interrupted; this is the best so far\n";
  if (!answer.value().bound_fault.empty()) {
    std::cerr << "optile: " << answer.value().bound_fault << "\n";
  }
  if (options.json) {
    std::cout << answer_json(answer.value(), model.value(), cluster.value(), options.objective);
  } else {
    std::cout << answer_table(answer.value(), model.value(), cluster.value(), options.objective);
  }
  const base::Status written =
      write_drawings(options, model.value(), cluster.value(), request.value(), answer.value());
  if (!written.ok()) return refuse(written.message());
  return answer.value().feasible ? 0 : kNotFeasible;
}

}  // namespace optile::cli
