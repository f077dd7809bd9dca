#include "bindings/cli/place/place_inputs.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "bindings/cli/place/search_limits.h"
#include "placement/import/importer.h"
#include "placement/policy/policy_file.h"
#include "placement/strategy/iopddl_reader.h"

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

namespace {

// With the file's name before it.
base::Error error_of(const std::string& file, const base::Error& error) {
  return {error.kind, file + ": " + error.message};
}

}  // namespace

base::Result<Model> read_graph(const std::string& file) {
  const base::Result<std::string> text = placement::read_whole_file(file);
  if (!text.ok()) return text.error();
  if (placement::looks_like_iopddl(text.value())) {
    return base::invalid(file + " is a problem of strategies: it needs optile place strategy");
  }
  base::Result<Model> model = placement::read_model(text.value());
  if (!model.ok()) return error_of(file, model.error());
  return model;
}

base::Result<Cluster> cluster_of(const ClusterOptions& options, const std::string& graph,
                                 const Model& model) {
  Cluster cluster;
  if (!options.file.empty()) {
    const base::Result<std::string> text = placement::read_whole_file(options.file);
    if (!text.ok()) return text.error();
    base::Result<Cluster> read = placement::read_cluster(text.value());
    if (!read.ok()) return error_of(options.file, read.error());
    cluster = std::move(read).value();
  } else if (model.cluster) {
    cluster = *model.cluster;
  } else if (options.devices == 0) {
    return base::invalid(graph + " names no devices: --devices K or --cluster FILE");
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

base::Result<std::shared_ptr<const placement::policy::SavedPolicy>> read_policy_file(
    const std::string& file) {
  const base::Result<std::string> text = placement::read_whole_file(file);
  if (!text.ok()) return text.error();
  base::Result<placement::policy::SavedPolicy> policy =
      placement::policy::read_policy(text.value());
  if (!policy.ok()) return error_of(file, policy.error());
  return std::make_shared<const placement::policy::SavedPolicy>(std::move(policy).value());
}

base::Result<std::vector<placement::DeviceId>> read_split(const std::string& file,
                                                          const Model& model,
                                                          const Cluster& cluster) {
  const base::Result<std::string> text = placement::read_whole_file(file);
  if (!text.ok()) return text.error();
  base::Result<std::vector<placement::DeviceId>> split =
      placement::read_assignment(text.value(), model, cluster);
  if (!split.ok()) return error_of(file, split.error());
  return split;
}

placement::Request request_of(const ProblemOptions& options, placement::Method method) {
  placement::Request request;
  request.objective = options.objective;
  request.links = options.step.links;
  request.micro_batches = options.step.micro_batches;
  request.op_ms = options.step.op_us / 1e3;
  request.method = method;
  request.seed = options.search.seed;
  request.limits = search_limits(options.search, interrupted);
  request.bound_seconds = options.bound_seconds;
  return request;
}

}  // namespace optile::cli
