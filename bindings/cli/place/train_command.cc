#include "bindings/cli/place/train_command.h"

#include <cstdio>
#include <deque>
#include <iostream>

#include "bindings/cli/place/place_inputs.h"
#include "bindings/cli/place/refusal.h"
#include "bindings/cli/place/search_limits.h"
#include "bindings/cli/support/output_file.h"
#include "placement/import/importer.h"
#include "placement/policy/training.h"

namespace optile::cli {
namespace {

using placement::policy::Example;

placement::StepSetting setting_of(const StepOptions& options) {
  return {options.links, options.op_us / 1e3, options.micro_batches};
}

struct Graphs {
  std::deque<placement::Model> models;  // which the examples refer to
  std::deque<placement::Cluster> clusters;
  std::vector<Example> examples;
};

// Whatever in the folder can be placed; of the rest it says why not.
Graphs graphs_of(const TrainOptions& options, const std::vector<std::string>& files) {
  Graphs graphs;
  const auto leave_out = [](const std::string& why) {
    std::cerr << "optile: left out: " << why << "\n";
  };
  for (const std::string& file : files) {
    base::Result<placement::Model> model = read_graph(file);
    if (!model.ok()) {
      leave_out(model.message());
      continue;
    }
    base::Result<placement::Cluster> cluster = cluster_of(options.cluster, file, model.value());
    base::Status good = cluster.ok() ? cluster.value().check() : base::Status();
    if (cluster.ok() && good.ok()) {
      good = placement::checked_step(model.value().graph, cluster.value(), setting_of(options.step))
                 .status();
    }
    if (!cluster.ok() || !good.ok()) {
      leave_out(cluster.ok() ? file + ": " + good.message() : cluster.message());
      continue;
    }
    graphs.models.push_back(std::move(model).value());
    graphs.clusters.push_back(std::move(cluster).value());
    graphs.examples.push_back({file, graphs.models.back().graph, graphs.clusters.back()});
  }
  return graphs;
}

}  // namespace

int train_policy(const TrainOptions& options) {
  if (const base::Status may = may_be_written(options.save); !may.ok())
    return refuse(may.message());
  const base::Result<std::vector<std::string>> files = files_of(options.graphs);
  if (!files.ok()) return refuse(files.message());
  const Graphs graphs = graphs_of(options, files.value());
  if (graphs.examples.empty()) return refuse("no graph that can be placed in " + options.graphs);
  placement::policy::TrainingRequest request;
  request.method = options.method;
  request.setting = setting_of(options.step);
  request.limits = search_limits(options.search, interruption());
  request.seed = options.search.seed;
  if (!options.policy.empty()) {
    auto policy = read_policy_file(options.policy);
    if (!policy.ok()) return refuse(policy.message());
    request.policy = std::move(policy).value();
  }
  const base::Result<placement::policy::Trained> trained =
      placement::policy::train(graphs.examples, request);
  if (!trained.ok()) return refuse(trained.message());
  if (was_interrupted()) std::cerr << "optile: interrupted; this is what it has learned so far\n";
  const base::Status written =
      write_output(options.save, placement::policy::policy_text(trained.value().policy));
  if (!written.ok()) return refuse(written.message());
  std::printf(
      "optile place: %s learned from %zu graphs on %d devices, %llu evaluations in %.2f s\n"
      "  best placements met take %.4f of one device's time, on average\n",
      placement::name_of(options.method).c_str(), graphs.examples.size(),
      trained.value().policy.devices, static_cast<unsigned long long>(trained.value().evaluations),
      trained.value().seconds, trained.value().mean_cost);
  return 0;
}

}  // namespace optile::cli
