#include "bindings/cli/place/place_options.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace optile::cli {
namespace {

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

void add_cluster_options(CLI::App* place, PlaceOptions& options) {
  place->add_option("--cluster", options.cluster, "Devices and links, as JSON")->type_name("FILE");
  place->add_option("--devices", options.devices, "Number of accelerators")
      ->check(CLI::Range(1, 4096))
      ->type_name("K");
  place->add_option("--cpus", options.cpus, "Number of CPUs that nodes may be placed on")
      ->check(CLI::Range(0, 4096))
      ->type_name("N");
  place->add_option("--memory", options.memory_gb, "Memory of each accelerator, in GB (10^9 bytes)")
      ->check(at_least(1e-9, 1e9, "has to be above 0"))
      ->type_name("GB");
  place->add_option("--bandwidth", options.bandwidth_gb, "Between devices, in GB a second")
      ->check(at_least(1e-9, 1e9, "has to be above 0"))
      ->type_name("GB/S");
  place->add_option("--latency", options.latency_us, "Of a transfer, in microseconds")
      ->check(at_least(0, 1e9, "has to be at least 0"))
      ->type_name("US");
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

namespace {

void add_search_options(CLI::App* app, PlaceOptions& options,
                        const std::vector<std::string>& objectives) {
  app->add_option("--objective", options.objective, "What is to be small")
      ->check(CLI::IsMember(objectives))
      ->capture_default_str();
  app->add_option("--links", options.links,
                  "Of step: transfers all at once, one by one on a bus of each device, or over "
                  "the cluster's links, whose bandwidth they share")
      ->check(CLI::IsMember({"edge", "bus", "routed"}))
      ->capture_default_str();
  app->add_option("--op-time", options.op_us, "Of step: added to each node, in microseconds")
      ->check(at_least(0, 1e9, "has to be at least 0"))
      ->type_name("US");
  app->add_option("--micro-batches", options.micro_batches,
                  "Of step: equal parts of a batch, which go through the devices in a pipeline")
      ->check(CLI::Range(1, 1024))
      ->type_name("N")
      ->capture_default_str();
  app->add_option("--time-limit", options.time_limit, "Such as 5s; Ctrl-C ends the search too")
      ->check(duration_problem)
      ->type_name("TIME");
  app->add_option("--evaluations", options.evaluations,
                  "Candidates that may be looked at; the answer then depends on the seed alone")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 62))
      ->type_name("N");
  app->add_option("--bound-time", options.bound_time,
                  "Afterwards, such as 60s, to prove a higher lower bound, of steps for one batch "
                  "and links that are not routed; Ctrl-C ends that too")
      ->check(duration_problem)
      ->type_name("TIME");
  app->add_option("--seed", options.seed, "Of all random choices")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

// A published network comes with devices and links of its own.
void add_network_options(CLI::App* place, CLI::Option* graph, PlaceOptions& options) {
  CLI::Option* network =
      place
          ->add_option("--network", options.network,
                       "Of strategy, in place of a graph: split each layer of lenet5, alexnet, "
                       "vgg16 or inception_v3 over the devices; with --method tofu each operator "
                       "of wresnet-152 or rnn-10")
          ->type_name("NAME")
          ->excludes(graph);
  for (const char* other : {"--cluster", "--cpus", "--memory", "--bandwidth", "--latency"}) {
    network->excludes(place->get_option(other));
  }
  place
      ->add_option("--batch", options.batch,
                   "Of the network: samples for each device, 32 unless said; of tofu in a step")
      ->check(CLI::Range(1, 1 << 16))
      ->type_name("N")
      ->needs(network);
}

void add_policy_options(CLI::App* place, CLI::Option* graph, PlaceOptions& options) {
  CLI::Option* policy =
      place
          ->add_option("--policy", options.policy,
                       "Of placeto, gdp, hdp and rnn: a trained policy to place or train with")
          ->type_name("FILE");
  place->add_flag("--fine-tune", options.fine_tune, "Let the policy learn on from this graph")
      ->needs(policy);
  CLI::Option* train =
      place
          ->add_option("--train", options.train,
                       "In place of a graph: train the policy on all graphs of a folder")
          ->type_name("DIR")
          ->excludes(graph);
  CLI::Option* save = place->add_option("--save", options.save, "Where the trained policy goes")
                          ->type_name("FILE")
                          ->needs(train);
  train->needs(save)->excludes(place->get_option("--network"));
}

void add_drawing_options(CLI::App* place, PlaceOptions& options) {
  place->add_option("--dot", options.dot, "Write the graph, coloured by device, for Graphviz")
      ->type_name("FILE");
  place
      ->add_option("--trace", options.trace,
                   "Of latency and step: write what happens when as Chrome JSON")
      ->type_name("FILE");
  for (const char* file : {"--dot", "--trace"}) {
    place->get_option(file)
        ->excludes(place->get_option("--network"))
        ->excludes(place->get_option("--train"));
  }
}

}  // namespace

CLI::App* add_place(CLI::App& app, PlaceOptions& options) {
  CLI::App* place = app.add_subcommand(
      "place", "Which device runs which part of a model: optile place --graph FILE [OPTIONS]");
  CLI::Option* graph =
      place->add_option("--graph", options.graph, "The model, in any known format, .gz too")
          ->type_name("FILE");
  add_cluster_options(place, options);
  add_network_options(place, graph, options);
  add_policy_options(place, graph, options);
  add_search_options(place, options, {"load", "latency", "step", "strategy"});
  place->get_option("--bound-time")
      ->excludes(place->get_option("--network"))
      ->excludes(place->get_option("--train"));
  place->add_option("--method", options.method, "Which method searches; an unknown one lists all")
      ->capture_default_str();
  CLI::Option* from =
      place
          ->add_option("--from", options.from,
                       "An earlier answer (of --json) for a graph that has changed since: start "
                       "there and move few nodes")
          ->type_name("FILE");
  place
      ->add_option("--moves", options.moves,
                   "With --from: nodes that may end on another device, a number or of all nodes")
      ->check([](const std::string& text) -> std::string {
        return parse_moves(text, 1) >= 0 ? ""
                                         : "a number of nodes or a part such as 5% is expected";
      })
      ->type_name("N|P%")
      ->capture_default_str()
      ->needs(from);
  add_drawing_options(place, options);
  place->add_flag("--json", options.json, "Print the whole answer as JSON");
  place->callback([&options] {
    if (options.graph.empty() && options.network.empty() && options.train.empty()) {
      throw CLI::RequiredError("--graph FILE, --network NAME or --train DIR");
    }
  });
  return place;
}

CLI::App* add_compare(CLI::App& app, CompareOptions& options) {
  CLI::App* compare = app.add_subcommand(
      "compare", "Methods of placement side by side: optile compare --graphs DIR [OPTIONS]");
  compare->add_option("--graphs", options.graphs, "Folder of graphs")->required()->type_name("DIR");
  compare->add_option("--experts", options.experts, "Folder of published splits")->type_name("DIR");
  compare->add_option("--methods", options.methods, "Names with commas between; all unless said")
      ->type_name("NAMES");
  add_cluster_options(compare, options.each);
  add_search_options(compare, options.each, {"load", "latency", "step"});
  return compare;
}

}  // namespace optile::cli
