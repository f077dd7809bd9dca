#include "bindings/cli/place/place_command.h"

#include <filesystem>
#include <iostream>
#include <utility>

#include "bindings/cli/place/place_inputs.h"
#include "bindings/cli/place/place_output.h"
#include "bindings/cli/place/placement_dot.h"
#include "bindings/cli/place/placement_trace.h"
#include "bindings/cli/place/refusal.h"
#include "bindings/cli/support/output_file.h"
#include "placement/import/importer.h"
#include "placement/place.h"
#include "placement/timeline.h"

namespace optile::cli {
namespace {

// Whether the files for drawings may be written, before the search.
base::Status check_drawings(const PlaceOptions& options) {
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

base::Status keep_earlier(const PlaceOptions& options, const placement::Graph& graph,
                          const placement::Cluster& cluster, placement::Request& request) {
  if (options.from.empty()) return {};
  const base::Result<std::string> text = placement::read_whole_file(options.from);
  if (!text.ok()) return text.error();
  base::Result<std::vector<placement::DeviceId>> kept =
      placement::read_earlier_answer(text.value(), graph, cluster);
  if (!kept.ok()) return base::Error{kept.error().kind, options.from + ": " + kept.message()};
  request.kept = std::move(kept).value();
  request.most_moved = static_cast<std::uint64_t>(parse_moves(options.moves, graph.size()));
  return {};
}

base::Result<placement::Request> request_of(const PlaceOptions& options,
                                            const placement::Model& model,
                                            const placement::Cluster& cluster) {
  placement::Request request = request_of(options, options.method);
  request.expert = model.assignment;
  request.fine_tune = options.fine_tune;
  if (!options.policy.empty()) {
    auto policy = read_policy_file(options.policy);
    if (!policy.ok()) return policy.error();
    request.policy = std::move(policy).value();
  }
  const base::Status kept = keep_earlier(options, model.graph, cluster, request);
  if (!kept.ok()) return kept.error();
  return request;
}

}  // namespace

int place_graph(const PlaceOptions& options) {
  if (const base::Status may = check_drawings(options); !may.ok()) return refuse(may.message());
  const base::Result<placement::Model> model = read_graph(options.graph);
  if (!model.ok()) return refuse(model.message());
  const base::Result<placement::Cluster> cluster =
      cluster_of(options.cluster, options.graph, model.value());
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
  const auto printed = options.json ? answer_json : answer_table;
  std::cout << printed(answer.value(), model.value(), cluster.value(), options.objective);
  const base::Status written =
      write_drawings(options, model.value(), cluster.value(), request.value(), answer.value());
  if (!written.ok()) return refuse(written.message());
  return answer.value().feasible ? 0 : kNotFeasible;
}

}  // namespace optile::cli
