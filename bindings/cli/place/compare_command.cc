#include "bindings/cli/place/compare_command.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <vector>

#include "bindings/cli/place/place_inputs.h"
#include "bindings/cli/place/place_output.h"
#include "bindings/cli/place/refusal.h"
#include "placement/import/importer.h"

namespace optile::cli {
namespace {

namespace fs = std::filesystem;

constexpr double kSame = 1e-9;

std::vector<std::string> methods_of(const CompareOptions& options, placement::Objective objective) {
  if (options.methods.empty()) return placement::methods_of(objective);
  std::vector<std::string> names;
  std::istringstream words(options.methods);
  for (std::string name; std::getline(words, name, ',');) names.push_back(name);
  return names;
}

std::string expert_of(const CompareOptions& options, const std::string& graph) {
  if (options.experts.empty()) return "";
  const fs::path file =
      fs::path(options.experts) / (fs::path(graph).stem().string() + "_expert.json");
  std::error_code error;
  return fs::exists(file, error) ? file.string() : "";
}

// One row; an error where devices or a split cannot be read.
base::Result<std::string> row_of(const std::string& file, const PlaceOptions& each,
                                 const std::vector<std::string>& methods,
                                 const placement::Model& model) {
  const base::Result<placement::Cluster> cluster = cluster_of(each, model);
  if (!cluster.ok()) return cluster.error();
  std::vector<placement::Answer> answers;
  double best = std::numeric_limits<double>::infinity();
  double bound = 0;
  for (const std::string& method : methods) {
    PlaceOptions options = each;
    options.method = method;
    const base::Result<placement::Request> request = request_of(options, model, cluster.value());
    if (!request.ok()) return request.error();
    const base::Result<placement::Answer> answer =
        placement::place(model.graph, cluster.value(), request.value());
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
  listen_to_interrupts();
  const placement::Objective objective = objective_of(options.each);
  const std::vector<std::string> methods = methods_of(options, objective);
  for (const std::string& method : methods) {
    const base::Status known = placement::check_method(objective, method);
    if (!known.ok()) return refuse(known.message());
  }
  std::string head = "| graph | nodes | devices |";
  std::string line = "|---|---|---|";
  for (const std::string& method : methods) {
    head += " " + method + " |";
    line += "---|";
  }
  int rows = 0;
  const base::Result<std::vector<std::string>> files = files_of(options.graphs);
  if (!files.ok()) return refuse(files.message());
  for (const std::string& file : files.value()) {
    if (was_interrupted()) break;
    PlaceOptions each = options.each;
    each.graph = file;
    each.expert = expert_of(options, file);
    const base::Result<std::string> text = placement::read_whole_file(file);
    if (!text.ok()) {
      std::cerr << "optile: left out: " << text.message() << "\n";
      continue;
    }
    const base::Result<placement::Model> model = model_of(each, text.value());
    if (!model.ok()) {
      std::cerr << "optile: left out: " << model.message() << "\n";
      continue;
    }
    const base::Result<std::string> row = row_of(file, each, methods, model.value());
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
