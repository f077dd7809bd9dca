#include "bindings/cli/place/compare_command.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <limits>
#include <utility>
#include <vector>

#include "bindings/cli/place/place_inputs.h"
#include "bindings/cli/place/place_output.h"
#include "bindings/cli/place/refusal.h"
#include "placement/import/importer.h"

namespace optile::cli {
namespace {

namespace fs = std::filesystem;

constexpr double kSame = 1e-9;

std::vector<placement::Method> methods_of(const CompareOptions& options) {
  if (!options.methods.empty()) return options.methods;
  const auto all = placement::methods_of(options.objective);
  return {all.begin(), all.end()};
}

std::string expert_of(const CompareOptions& options, const std::string& graph) {
  if (options.experts.empty()) return "";
  const fs::path file =
      fs::path(options.experts) / (fs::path(graph).stem().string() + "_expert.json");
  std::error_code error;
  return fs::exists(file, error) ? file.string() : "";
}

// One row; an error where devices or a split cannot be read.
base::Result<std::string> row_of(const CompareOptions& options, const std::string& file,
                                 const std::vector<placement::Method>& methods,
                                 const placement::Model& model) {
  const base::Result<placement::Cluster> cluster = cluster_of(options.cluster, file, model);
  if (!cluster.ok()) return cluster.error();
  std::vector<placement::DeviceId> expert = model.assignment;
  if (const std::string split = expert_of(options, file); !split.empty()) {
    auto read = read_split(split, model, cluster.value());
    if (!read.ok()) return read.error();
    expert = std::move(read).value();
  }
  std::vector<placement::Answer> answers;
  double best = std::numeric_limits<double>::infinity();
  double bound = 0;
  for (const placement::Method method : methods) {
    placement::Request request = request_of(options, method);
    request.expert = expert;
    const base::Result<placement::Answer> answer =
        placement::place(model.graph, cluster.value(), request);
    if (!answer.ok()) std::cerr << "optile: " << file << ": " << answer.message() << "\n";
    answers.push_back(answer.ok() ? answer.value() : placement::Answer());
    if (answers.back().feasible) best = std::min(best, answers.back().cost);
    bound = std::max(bound, answers.back().lower_bound);
  }
  std::string row = "| " + fs::path(file).parent_path().filename().string() + "/" +
                    fs::path(file).stem().string() + " | " + std::to_string(model.graph.size()) +
                    " | " + std::to_string(cluster.value().size()) + " |";
  for (const placement::Answer& answer : answers) {
    const bool is_best = answer.cost <= best * (1 + kSame);
    const std::string cost = answer.feasible ? format("%.6g", answer.cost) : "–";
    row += answer.feasible && is_best ? " **" + cost + "** |" : " " + cost + " |";
  }
  if (bound <= best * (1 + kSame)) bound = std::min(bound, best);
  row += " " + format("%.6g", bound) + " |";
  return row + (bound > 0 && std::isfinite(best)
                    ? " " + format("%.2f %%", (best - bound) / bound * 100) + " |"
                    : " – |");
}

}  // namespace

int compare_methods(const CompareOptions& options) {
  const std::vector<placement::Method> methods = methods_of(options);
  std::string head = "| graph | nodes | devices |";
  std::string line = "|---|---|---|";
  for (const placement::Method method : methods) {
    head += " " + placement::name_of(method) + " |";
    line += "---|";
  }
  int rows = 0;
  const base::Result<std::vector<std::string>> files = files_of(options.graphs);
  if (!files.ok()) return refuse(files.message());
  for (const std::string& file : files.value()) {
    if (was_interrupted()) break;
    const base::Result<placement::Model> model = read_graph(file);
    if (!model.ok()) {
      std::cerr << "optile: left out: " << model.message() << "\n";
      continue;
    }
    const base::Result<std::string> row = row_of(options, file, methods, model.value());
    if (!row.ok()) {
      std::cerr << "optile: left out: " << file << ": " << row.message() << "\n";
      continue;
    }
    if (rows++ == 0) std::cout << head << " bound | gap of the best |\n" << line << "---|---|\n";
    std::cout << row.value() << "\n" << std::flush;
  }
  if (rows > 0) return 0;
  return refuse("no graph that can be placed in " + options.graphs);
}

}  // namespace optile::cli
