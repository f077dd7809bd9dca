#include "bindings/cli/place/place_inputs.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "bindings/cli/place/search_limits.h"
#include "placement/import/importer.h"
#include "placement/policy/policy_file.h"

namespace optile::cli {
namespace {

using placement::Cluster;
using placement::Model;

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler writes it");

void interrupt(int) {
  interrupted = true;
}

}  // namespace

void listen_to_interrupts() {
  struct sigaction action = {};
  action.sa_handler = interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool was_interrupted() {
  return interrupted;
}

const std::atomic<bool>& interruption() {
  return interrupted;
}

base::Result<std::vector<std::string>> files_of(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  std::filesystem::recursive_directory_iterator at(folder, error);
  if (error) return base::errno_error("cannot open the folder " + folder, error.value());
  for (const std::filesystem::recursive_directory_iterator end; at != end;) {
    std::error_code gone;  // a file, meanwhile, or what a link leads to
    if (at->is_regular_file(gone)) files.push_back(at->path().string());
    const std::string here = at->path().string();
    at.increment(error);
    if (error) return base::errno_error("cannot open the folder " + here, error.value());
  }
  std::sort(files.begin(), files.end());
  return files;
}

base::Result<Model> model_of(const PlaceOptions& options, const std::string& text) {
  base::Result<Model> model = placement::read_model(text);
  if (!model.ok()) {
    return base::Error{model.error().kind, options.graph + ": " + model.message()};
  }
  return model;
}

base::Result<Cluster> cluster_of(const PlaceOptions& options, const Model& model) {
  Cluster cluster;
  if (!options.cluster.empty()) {
    const base::Result<std::string> text = placement::read_whole_file(options.cluster);
    if (!text.ok()) return text.error();
    base::Result<Cluster> read = placement::read_cluster(text.value());
    if (!read.ok()) {
      return base::Error{read.error().kind, options.cluster + ": " + read.message()};
    }
    cluster = std::move(read).value();
  } else if (model.cluster) {
    cluster = *model.cluster;
  } else if (options.devices == 0) {
    return base::Error{base::ErrorKind::kInvalid,
                       options.graph + " names no devices: --devices K or --cluster FILE"};
  }
  if (options.devices > 0 || options.cpus >= 0) {
    int accelerators = 0;
    int cpus = 0;
    double memory = std::numeric_limits<double>::infinity();
    for (const placement::Device& device : cluster.devices) {
      const bool cpu = device.kind == placement::DeviceKind::kCpu;
      ++(cpu ? cpus : accelerators);
      if (!cpu) memory = device.memory_bytes;
    }
    if (options.devices > 0) accelerators = options.devices;
    if (options.cpus >= 0) cpus = options.cpus;
    Cluster made = Cluster::uniform(accelerators, cpus, memory);
    made.bytes_per_ms = cluster.bytes_per_ms;
    made.latency_ms = cluster.latency_ms;
    cluster = std::move(made);
  }
  for (placement::Device& device : cluster.devices) {
    const bool cpu = device.kind == placement::DeviceKind::kCpu;
    if (options.memory_gb > 0 && !cpu) device.memory_bytes = options.memory_gb * 1e9;
  }
  if (options.bandwidth_gb > 0) cluster.bytes_per_ms = options.bandwidth_gb * 1e6;
  if (options.latency_us >= 0) cluster.latency_ms = options.latency_us / 1e3;
  return cluster;
}

placement::Objective objective_of(const PlaceOptions& options) {
  if (options.objective == "load") return placement::Objective::kLoad;
  if (options.objective == "latency") return placement::Objective::kLatency;
  return placement::Objective::kStep;
}

placement::StepLinks links_of(const PlaceOptions& options) {
  if (options.links == "bus") return placement::StepLinks::kBus;
  return options.links == "routed" ? placement::StepLinks::kRouted : placement::StepLinks::kEdge;
}

namespace {

base::Status keep_earlier(const PlaceOptions& options, const Model& model, const Cluster& cluster,
                          placement::Request& request) {
  if (options.from.empty()) return {};
  const base::Result<std::string> text = placement::read_whole_file(options.from);
  if (!text.ok()) return text.error();
  base::Result<std::vector<placement::DeviceId>> kept =
      placement::read_earlier_answer(text.value(), model.graph, cluster);
  if (!kept.ok()) return base::Error{kept.error().kind, options.from + ": " + kept.message()};
  request.kept = std::move(kept).value();
  request.most_moved = static_cast<std::uint64_t>(parse_moves(options.moves, model.graph.size()));
  return {};
}

}  // namespace

base::Result<std::shared_ptr<const placement::policy::SavedPolicy>> policy_of(
    const PlaceOptions& options) {
  const base::Result<std::string> text = placement::read_whole_file(options.policy);
  if (!text.ok()) return text.error();
  base::Result<placement::policy::SavedPolicy> policy =
      placement::policy::read_policy(text.value());
  if (!policy.ok()) {
    return base::Error{policy.error().kind, options.policy + ": " + policy.message()};
  }
  return std::make_shared<const placement::policy::SavedPolicy>(std::move(policy).value());
}

base::Result<placement::Request> request_of(const PlaceOptions& options, const Model& model,
                                            const Cluster& cluster) {
  placement::Request request;
  request.objective = objective_of(options);
  request.links = links_of(options);
  request.micro_batches = options.micro_batches;
  request.op_ms = options.op_us / 1e3;
  request.method = options.method;
  request.seed = options.seed;
  request.limits = search_limits(options, interrupted);
  if (!options.bound_time.empty()) request.bound_seconds = parse_duration(options.bound_time);
  request.fine_tune = options.fine_tune;
  if (!options.policy.empty()) {
    base::Result<std::shared_ptr<const placement::policy::SavedPolicy>> policy = policy_of(options);
    if (!policy.ok()) return policy.error();
    request.policy = std::move(policy).value();
  }
  if (!options.expert.empty()) {
    const base::Result<std::string> text = placement::read_whole_file(options.expert);
    if (!text.ok()) return text.error();
    base::Result<std::vector<placement::DeviceId>> split =
        placement::read_assignment(text.value(), model, cluster);
    if (!split.ok()) {
      return base::Error{split.error().kind, options.expert + ": " + split.message()};
    }
    request.expert = std::move(split).value();
  } else {
    request.expert = model.assignment;
  }
  const base::Status kept = keep_earlier(options, model, cluster, request);
  if (!kept.ok()) return kept.error();
  return request;
}

}  // namespace optile::cli
