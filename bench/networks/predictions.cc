// Simulates what the paper printed beside the tables that the laws were fitted to, and prints it as
// JSON for bench/paper_figures.py: strategies, uniform settings and the manual optimum of the four
// networks on `knl`, and the pair of ops of its Table III; then the same once more for each of a
// few assumptions that no fitted table settles, changed one at a time. Names of networks as
// arguments limit it to those.
#include <algorithm>
#include <cstdio>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "perfmodel/machine/built_in_machines.h"
#include "perfmodel/networks/networks.h"
#include "perfmodel/synthetic/op_law.h"
#include "sched/simulation/manual_search.h"
#include "sched/simulation/step_simulator.h"
#include "sched/strategies/strategies.h"

namespace {

using namespace optile;

constexpr int kWarmUp = 3;                   // steps that a strategy learns from
constexpr std::size_t kMiddleEvents = 6000;  // of a step, as the paper's Figure 4 shows them

int failed(const std::string& message) {
  std::fprintf(stderr, "predictions: %s\n", message.c_str());
  return 1;
}

// What is simulated otherwise than it is in `optile simulate`.
struct World {
  const char* name;
  sched::StepConditions conditions;
  bool limited_cores = false;  // no width is faster than its cores, see limit_cores()
};

std::vector<World> worlds() {
  std::vector<World> all{{"standard", {}}};
  const auto changed = [&all](const char* name, double perfmodel::Interference::*number,
                              double value) {
    World world{name, {}};
    world.conditions.interference.*number = value;
    all.push_back(world);
  };
  const perfmodel::Interference usual;
  changed("memory", &perfmodel::Interference::contention, 4 * usual.contention);
  changed("tiles", &perfmodel::Interference::tile_sharing, 4 * usual.tile_sharing);
  changed("siblings", &perfmodel::Interference::two_threads_gain, 1);
  changed("crowding", &perfmodel::Interference::crowding, 2 * usual.crowding);
  all.push_back({"cores", {}, true});
  return all;
}

// A core of `knl` can do no more than this, however narrow the team: its peak, and twice an even
// share of the memory.
constexpr double kCoreFlops = 89.6e9;
constexpr double kCoreBytes = 10e9;

base::Status limit_cores(const std::string& network, perfmodel::StepGraph* graph) {
  const auto ops = perfmodel::network_ops(network);
  if (!ops.ok()) return ops.error();
  for (std::size_t i = 0; i < graph->nodes.size(); ++i) {
    const auto& op = ops.value()[i];
    const double one_core = std::max(op.flops / kCoreFlops, op.bytes / kCoreBytes);
    auto& times = graph->instances[static_cast<std::size_t>(graph->nodes[i].instance)].times;
    for (auto* list : {&times.spread, &times.compact, &times.mixed}) {
      for (std::size_t width = 1; width <= list->size(); ++width) {
        double& seconds = (*list)[width - 1];
        seconds = std::max(seconds, one_core / static_cast<double>(width));
      }
    }
  }
  return {};
}

// Serial share and time at 68 threads of Table II's largest Conv2DBackpropFilter and
// Conv2DBackpropInput: shares as bench/fit_op_laws.py finds them for the two smaller shapes, mean.
struct PairOp {
  const char* op;
  double seconds;
  double serial_share;
};
constexpr PairOp kPair[] = {{"Conv2DBackpropFilter", 20.3e-3, 0.341},
                            {"Conv2DBackpropInput", 19.6e-3, 0.242}};

// The two ops side by side, without an edge between them. Both are best on all 68 cores.
perfmodel::StepGraph pair_graph(const perfmodel::Machine& machine) {
  constexpr double kCores = 68;
  perfmodel::StepGraph graph;
  graph.name = "pair";
  for (const PairOp& one : kPair) {
    perfmodel::OpLaw law;
    law.serial = one.seconds * one.serial_share;
    law.per_thread = (one.seconds - law.serial) / (2 * kCores);
    law.parallel = law.per_thread * kCores * kCores;
    perfmodel::OpInstance instance;
    instance.op = one.op;
    instance.shape = "(32,8,8,2048)";
    instance.times = perfmodel::law_times(law, machine);
    graph.nodes.push_back({static_cast<int>(graph.instances.size()), {}});
    graph.instances.push_back(instance);
  }
  return graph;
}

// Ops that run, the one that begins or ends included, over the launches and finishes in the middle
// of a step: StepOutcome::corunning_mean of those alone.
double corunning_in_the_middle(const sched::StepOutcome& step) {
  std::vector<std::pair<double, bool>> events;  // at one moment, ends come before launches
  for (const sched::StepSpan& span : step.spans) {
    events.emplace_back(span.start, true);
    events.emplace_back(span.end, false);
  }
  std::sort(events.begin(), events.end());
  std::vector<int> counts;
  int running = 0;
  for (const auto& [when, launched] : events) {
    counts.push_back(launched ? running + 1 : running);
    running += launched ? 1 : -1;
  }
  const std::size_t few = std::min(counts.size(), kMiddleEvents);
  const auto first = counts.begin() + static_cast<std::ptrdiff_t>((counts.size() - few) / 2);
  const int sum = std::accumulate(first, first + static_cast<std::ptrdiff_t>(few), 0);
  return static_cast<double>(sum) / static_cast<double>(few);
}

base::Status print_uniform(const sched::StepOutline& outline,
                           const sched::StepConditions& conditions,
                           const std::vector<sched::UniformSetting>& settings) {
  const char* separator = "";
  std::printf("\"uniform\": {");
  for (const sched::UniformSetting& setting : settings) {
    const auto seconds = sched::uniform_seconds(outline, conditions, setting, perfmodel::kInfinity);
    if (!seconds.ok()) return seconds.error();
    std::printf("%s\"%d,%d\": %.9g", separator, setting.inter, setting.intra, seconds.value());
    separator = ", ";
  }
  std::printf("}");
  return {};
}

// What the ops of each kind take alone with all cores, and how many of them want all by plan.
void print_ops(const sched::StepOutline& outline) {
  std::map<std::string, double> seconds;
  int widest = 0;
  for (std::size_t node = 0; node < outline.graph->nodes.size(); ++node) {
    const auto& instance =
        outline.graph->instances[static_cast<std::size_t>(outline.graph->nodes[node].instance)];
    const int width = instance.tunable || instance.default_width == 0 ? outline.map->cores
                                                                      : instance.default_width;
    seconds[instance.op] += sched::timed_width(instance.times, width, *outline.map).seconds;
    const auto& plan = outline.of_node(static_cast<int>(node)).per_op;
    widest += static_cast<int>(plan.which.width == outline.map->cores);
  }
  std::printf("\"wants_all_cores\": %d, \"alone_on_all_cores\": {", widest);
  const char* separator = "";
  for (const auto& [op, total] : seconds) {
    std::printf("%s\"%s\": %.9g", separator, op.c_str(), total);
    separator = ", ";
  }
  std::printf("}, ");
}

base::Status print_network(const std::string& name, const perfmodel::Machine& machine,
                           const sched::CoreMap& map, const World& world) {
  auto graph = perfmodel::network_graph(name, machine);
  if (!graph.ok()) return graph.error();
  if (world.limited_cores) {
    base::Status limited = limit_cores(name, &graph.value());
    if (!limited.ok()) return limited;
  }
  const sched::StepOutline outline = sched::make_step_outline(graph.value(), map);
  const sched::StepConditions& conditions = world.conditions;
  std::printf("\"%s\": {\"ops\": %zu, ", name.c_str(), graph.value().nodes.size());
  print_ops(outline);
  std::printf("\"strategies\": {");
  const char* separator = "";
  for (const char* strategy : {"recommendation", "s1", "s12", "s123", "s1234"}) {
    const auto chosen = sched::make_fixed_strategy(strategy, outline);
    const auto step = sched::simulate_steps(outline, conditions, kWarmUp, chosen.get());
    if (!step.ok()) return step.error();
    std::printf(
        "%s\"%s\": {\"step_seconds\": %.9g, \"corunning_mean\": %.6g, "
        "\"corunning_in_the_middle\": %.6g}",
        separator, strategy, step.value().seconds, step.value().corunning_mean,
        corunning_in_the_middle(step.value()));
    separator = ", ";
  }
  std::printf("}, ");
  std::vector<sched::UniformSetting> settings;
  for (const int inter : {1, 2, 4}) {
    for (const int intra : {34, 68, 136}) settings.push_back({inter, intra});
  }
  settings.insert(settings.end(), {{4, 16}, {2, 2}});
  base::Status printed = print_uniform(outline, conditions, settings);
  if (!printed.ok()) return printed;
  const auto manual = sched::find_manual_optimum(outline, conditions);
  if (!manual.ok()) return manual.error();
  std::printf(", \"manual\": {\"inter\": %d, \"intra\": %d, \"step_seconds\": %.9g}}",
              manual.value().setting.inter, manual.value().setting.intra, manual.value().seconds);
  return {};
}

base::Status print_world(const std::vector<std::string>& networks,
                         const perfmodel::Machine& machine, const sched::CoreMap& map,
                         const World& world) {
  std::printf("\"%s\": {", world.name);
  for (const std::string& name : networks) {
    base::Status printed = print_network(name, machine, map, world);
    if (!printed.ok()) return printed;
    std::printf(",\n");
  }
  std::printf("\"pair\": {");
  const perfmodel::StepGraph pair = pair_graph(machine);
  const sched::StepOutline outline = sched::make_step_outline(pair, map);
  base::Status printed = print_uniform(outline, world.conditions, {{1, 68}, {2, 68}, {2, 34}});
  if (!printed.ok()) return printed;
  std::printf("}}");
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const auto machine = perfmodel::built_in_machine("knl");
  if (!machine) return failed("there is no machine knl");
  const auto map = sched::make_core_map(*machine);
  if (!map.ok()) return failed(map.message());
  std::vector<std::string> names(argv + 1, argv + argc);
  if (names.empty()) names = perfmodel::network_names();
  const char* separator = "{";
  for (const World& world : worlds()) {
    std::printf("%s", separator);
    const base::Status printed = print_world(names, *machine, map.value(), world);
    if (!printed.ok()) return failed(printed.message());
    separator = ",\n";
  }
  std::printf("}\n");
  return 0;
}
