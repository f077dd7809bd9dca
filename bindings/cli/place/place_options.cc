#include "bindings/cli/place/place_options.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace optile::cli {
namespace {

using placement::Method;
using placement::Objective;
using placement::StrategyMethod;

// CLI::Range would let "nan" pass.
auto at_least(double least, double most, const char* what) {
  return [least, most, what](const std::string& text) -> std::string {
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    const bool good = !text.empty() && *end == '\0' && number >= least && number <= most;
    return good ? "" : what;
  };
}

std::string duration_problem(const std::string& text) {
  return parse_duration(text) >= 0 ? "" : "a time such as 5s, 250ms or 2m is expected";
}

template <typename Choice>
std::vector<std::string> choice_names(std::span<const Choice> choices) {
  std::vector<std::string> names;
  for (const Choice choice : choices) names.push_back(placement::name_of(choice));
  return names;
}

template <typename Choice>
std::vector<Choice> all_choices() {
  std::vector<Choice> all;
  for (const placement::Named<Choice>& one : placement::named(Choice())) all.push_back(one.choice);
  return all;
}

// One of `choices`, by its name.
template <typename Choice>
CLI::Option* add_choice(CLI::App* app, const std::string& option, Choice& value,
                        const std::vector<Choice>& choices, const std::string& description) {
  return app
      ->add_option_function<std::string>(
          option,
          [&value](const std::string& name) {
            value = placement::choice_of<Choice>(name).value_or(value);
          },
          description)
      ->check(CLI::IsMember(choice_names(std::span<const Choice>(choices))))
      ->default_str(placement::name_of(value));
}

CLI::Option* add_duration(CLI::App* app, const std::string& option,
                          const std::function<void(double)>& take, const std::string& description) {
  return app
      ->add_option_function<std::string>(
          option, [take](const std::string& text) { take(parse_duration(text)); }, description)
      ->check(duration_problem)
      ->type_name("TIME");
}

void add_cluster_options(CLI::App* app, ClusterOptions& options) {
  app->add_option("--cluster", options.file, "Devices and links, as JSON")->type_name("FILE");
  app->add_option("--devices", options.devices, "Number of accelerators")
      ->check(CLI::Range(1, 4096))
      ->type_name("K");
  app->add_option("--cpus", options.cpus, "Number of CPUs that nodes may be placed on")
      ->check(CLI::Range(0, 4096))
      ->type_name("N");
  app->add_option("--memory", options.memory_gb, "Memory of each accelerator, in GB (10^9 bytes)")
      ->check(at_least(1e-9, 1e9, "has to be above 0"))
      ->type_name("GB");
  app->add_option("--bandwidth", options.bandwidth_gb, "Between devices, in GB a second")
      ->check(at_least(1e-9, 1e9, "has to be above 0"))
      ->type_name("GB/S");
  app->add_option("--latency", options.latency_us, "Of a transfer, in microseconds")
      ->check(at_least(0, 1e9, "has to be at least 0"))
      ->type_name("US");
}

void add_search_options(CLI::App* app, SearchOptions& options) {
  add_duration(
      app, "--time-limit", [&options](double seconds) { options.seconds = seconds; },
      "Such as 5s; Ctrl-C ends the search too");
  app->add_option("--evaluations", options.evaluations,
                  "Candidates that may be looked at; the answer then depends on the seed alone")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 62))
      ->type_name("N");
  app->add_option("--seed", options.seed, "Of all random choices")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

void add_step_options(CLI::App* app, StepOptions& options) {
  add_choice(app, "--links", options.links, all_choices<placement::StepLinks>(),
             "Transfers all at once, one by one on a bus of each device, or over the cluster's "
             "links, whose bandwidth they share");
  app->add_option("--op-time", options.op_us, "Added to each node, in microseconds")
      ->check(at_least(0, 1e9, "has to be at least 0"))
      ->type_name("US");
  app->add_option("--micro-batches", options.micro_batches,
                  "Equal parts of a batch, which go through the devices in a pipeline")
      ->check(CLI::Range(1, 1024))
      ->type_name("N")
      ->capture_default_str();
}

void add_problem_options(CLI::App* app, Objective objective, ProblemOptions& options) {
  add_cluster_options(app, options.cluster);
  if (objective == Objective::kStep) add_step_options(app, options.step);
  add_search_options(app, options.search);
  add_duration(
      app, "--bound-time", [&options](double seconds) { options.bound_seconds = seconds; },
      objective == Objective::kStep
          ? "Afterwards, such as 60s, to prove a higher lower bound, for one batch and links that "
            "are not routed; Ctrl-C ends that too"
          : "Afterwards, such as 60s, to prove a higher lower bound; Ctrl-C ends that too");
  app->callback([&options, objective] { options.objective = objective; });
}

const char* description_of(Objective objective) {
  if (objective == Objective::kLoad) return "The largest load of a device, for pipelines";
  return objective == Objective::kLatency ? "The time of one sample"
                                          : "The end of a step, by simulation";
}

CLI::Option* add_graph(CLI::App* app, std::string& graph, const std::string& description) {
  return app->add_option("--graph", graph, description)->type_name("FILE")->required();
}

CLI::Option* add_policy(CLI::App* app, std::string& policy, const std::string& description) {
  return app->add_option("--policy", policy, description)->type_name("FILE");
}

void add_json(CLI::App* app, bool& json) {
  app->add_flag("--json", json, "Print the whole answer as JSON");
}

void add_drawing_options(CLI::App* app, Objective objective, PlaceOptions& options) {
  app->add_option("--dot", options.dot, "Write the graph, coloured by device, for Graphviz")
      ->type_name("FILE");
  if (objective == Objective::kLoad) return;
  app->add_option("--trace", options.trace, "Write what happens when as Chrome JSON")
      ->type_name("FILE");
}

CLI::App* add_objective(CLI::App* place, Objective objective, PlaceOptions& options) {
  CLI::App* app = place->add_subcommand(placement::name_of(objective), description_of(objective));
  add_graph(app, options.graph, "The model, in any known format, .gz too");
  add_problem_options(app, objective, options);
  const std::span<const Method> methods = placement::methods_of(objective);
  add_choice(app, "--method", options.method, {methods.begin(), methods.end()},
             "Which method searches");
  if (objective == Objective::kStep) {
    CLI::Option* policy = add_policy(
        app, options.policy, "Of placeto, gdp, hdp and rnn: a trained policy to place with");
    app->add_flag("--fine-tune", options.fine_tune, "Let the policy learn on from this graph")
        ->needs(policy);
  }
  CLI::Option* from =
      app->add_option("--from", options.from,
                      "An earlier answer (of --json) for a graph that has changed since: start "
                      "there and move few nodes")
          ->type_name("FILE");
  app->add_option("--moves", options.moves,
                  "With --from: nodes that may end on another device, a number or of all nodes")
      ->check([](const std::string& text) -> std::string {
        return parse_moves(text, 1) >= 0 ? ""
                                         : "a number of nodes or a part such as 5% is expected";
      })
      ->type_name("N|P%")
      ->capture_default_str()
      ->needs(from);
  add_drawing_options(app, objective, options);
  add_json(app, options.json);
  return app;
}

CLI::App* add_strategy(CLI::App* place, StrategyOptions& options) {
  CLI::App* app =
      place->add_subcommand("strategy", "The sum of what nodes' strategies and pairs of them cost");
  add_graph(app, options.graph, "A problem of the IOPDDL contest, .gz too");
  add_search_options(app, options.search);
  add_choice(app, "--method", options.method, all_choices<StrategyMethod>(),
             "Which method searches");
  add_json(app, options.json);
  return app;
}

CLI::App* add_network(CLI::App* place, NetworkOptions& options) {
  CLI::App* app = place->add_subcommand(
      "network", "How each layer of a published network is split over devices");
  app->add_option("--network", options.network, "lenet5, alexnet, vgg16 or inception_v3")
      ->type_name("NAME")
      ->required();
  app->add_option("--devices", options.devices, "Number of devices, 4 a host")
      ->check(CLI::Range(1, 4096))
      ->type_name("K")
      ->capture_default_str();
  app->add_option("--batch", options.batch, "Samples for each device")
      ->check(CLI::Range(1, 1 << 16))
      ->type_name("N")
      ->capture_default_str();
  add_search_options(app, options.search);
  add_choice(app, "--method", options.method, all_choices<StrategyMethod>(),
             "Which method searches");
  add_json(app, options.json);
  return app;
}

CLI::App* add_train(CLI::App* place, TrainOptions& options) {
  CLI::App* app =
      place->add_subcommand("train", "Train a policy of step on all graphs of a folder");
  app->add_option("--graphs", options.graphs, "Folder of graphs")->required()->type_name("DIR");
  app->add_option("--save", options.save, "Where the trained policy goes")
      ->required()
      ->type_name("FILE");
  add_cluster_options(app, options.cluster);
  add_step_options(app, options.step);
  add_search_options(app, options.search);
  add_choice(app, "--method", options.method,
             {placement::kPolicies.begin(), placement::kPolicies.end()}, "Which method learns")
      ->required()
      ->default_str("");
  add_policy(app, options.policy, "A trained policy to go on from");
  options.objective = Objective::kStep;
  return app;
}

// With commas between, none of them empty.
std::string method_list_problem(const std::string& text, std::span<const Method> known) {
  std::istringstream words(text);
  for (std::string name; std::getline(words, name, ',');) {
    const auto method = placement::choice_of<Method>(name);
    if (method && placement::is_method_of(known, *method)) continue;
    return "there is no method " + name + " for this objective; there are " +
           placement::names_of(known);
  }
  return "";
}

void take_methods(const std::string& text, std::vector<Method>& methods) {
  std::istringstream words(text);
  for (std::string name; std::getline(words, name, ',');) {
    if (const auto method = placement::choice_of<Method>(name)) methods.push_back(*method);
  }
}

}  // namespace

double parse_duration(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !std::isfinite(number) || number < 0 || number > 1e9) return -1;
  const std::string unit = end;
  for (const auto& [word, factor] :
       {std::pair<const char*, double>{"", 1}, {"s", 1}, {"ms", 1e-3}, {"m", 60}, {"h", 3600}}) {
    if (unit == word) return number * factor;
  }
  return -1;
}

std::int64_t parse_moves(const std::string& text, int nodes) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  if (end == text.c_str() || !(number >= 0) || (unit != "%" && !unit.empty())) return -1;
  if (unit == "%") return number <= 100 ? static_cast<std::int64_t>(number / 100 * nodes) : -1;
  return number <= 1e9 && number == std::floor(number) ? static_cast<std::int64_t>(number) : -1;
}

PlaceCommands add_place(CLI::App& app, PlacingOptions& options) {
  CLI::App* place = app.add_subcommand(
      "place",
      "Which device runs which part of a model: optile place load|latency|step --graph FILE");
  place->require_subcommand(1);
  PlaceCommands commands;
  for (const Objective objective : all_choices<Objective>()) {
    commands.objectives.push_back(add_objective(place, objective, options.place));
  }
  commands.strategy = add_strategy(place, options.strategy);
  commands.network = add_network(place, options.network);
  commands.train = add_train(place, options.train);
  commands.assistants = place->add_subcommand(
      "assistants", "Hand-overs between the devices of a program that runs, line by line on stdin");
  return commands;
}

std::vector<CLI::App*> add_compare(CLI::App& app, CompareOptions& options) {
  CLI::App* compare = app.add_subcommand(
      "compare",
      "Methods of placement side by side: optile compare load|latency|step --graphs DIR");
  compare->require_subcommand(1);
  std::vector<CLI::App*> commands;
  for (const Objective objective : all_choices<Objective>()) {
    CLI::App* one =
        compare->add_subcommand(placement::name_of(objective), description_of(objective));
    one->add_option("--graphs", options.graphs, "Folder of graphs")->required()->type_name("DIR");
    one->add_option("--experts", options.experts, "Folder of published splits")->type_name("DIR");
    one->add_option_function<std::string>(
           "--methods",
           [&options](const std::string& text) { take_methods(text, options.methods); },
           "Names with commas between; all unless said")
        ->check([objective](const std::string& text) {
          return method_list_problem(text, placement::methods_of(objective));
        })
        ->type_name("NAMES");
    add_problem_options(one, objective, options);
    commands.push_back(one);
  }
  return commands;
}

}  // namespace optile::cli
