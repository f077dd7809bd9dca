#include "bindings/cli/place/place_command.h"

#include <filesystem>
#include <iostream>

#include "bindings/cli/output_file.h"
#include "bindings/cli/place/network_command.h"
#include "bindings/cli/place/picture/placement_picture.h"
#include "bindings/cli/place/place_inputs.h"
#include "bindings/cli/place/place_output.h"
#include "bindings/cli/place/refusal.h"
#include "bindings/cli/place/strategy_command.h"
#include "bindings/cli/place/train_command.h"
#include "placement/import/importer.h"
#include "placement/place.h"
#include "placement/strategy/iopddl_reader.h"
#include "placement/timeline.h"

namespace optile::cli {
namespace {

base::Status draw(const PlaceOptions& options, const placement::Model& model,
                  const placement::Cluster& cluster, const placement::Request& request,
                  const placement::Answer& answer) {
  const std::string name = std::filesystem::path(options.graph).filename().string();
  const std::string picture = placement_picture(
      model, cluster, answer, placement::timeline(model.graph, cluster, request, answer.assignment),
      name + " on " + std::to_string(cluster.size()) + " devices", options.objective);
  return write_output(options.svg, picture);
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
  if (strategies && !options.svg.empty()) {
    return refuse("--svg draws placements, and strategies are none");
  }
  if (strategies && !options.bound_time.empty()) {
    return refuse(
        "--bound-time is for placements; for strategies --method bound spends its time so");
  }
  if (!options.svg.empty()) {
    if (const base::Status may = may_be_written(options.svg); !may.ok()) {
      return refuse(may.message());
    }
  }
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
  if (!options.svg.empty()) {
    const base::Status drawn =
        draw(options, model.value(), cluster.value(), request.value(), answer.value());
    if (!drawn.ok()) return refuse(drawn.message());
  }
  return answer.value().feasible ? 0 : kNotFeasible;
}

}  // namespace optile::cli
