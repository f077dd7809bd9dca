// Simulates what the paper printed beside the tables that the laws were fitted to, and prints it as
// JSON for bench/paper_figures.py: strategies, uniform settings and the manual optimum of the four
// networks on `knl`, and the pair of ops of its Table III. Names of networks as arguments limit it
// to those.
#include <cstdio>
#include <string>
#include <vector>

#include "perfmodel/built_in_machines.h"
#include "perfmodel/networks/networks.h"
#include "perfmodel/op_law.h"
#include "sched/simulation/manual_search.h"
#include "sched/simulation/step_simulator.h"
#include "sched/strategies/strategies.h"

namespace {

using namespace optile;

constexpr int kWarmUp = 3;  // steps that a strategy learns from

int failed(const std::string& message) {
  std::fprintf(stderr, "predictions: %s\n", message.c_str());
  return 1;
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

base::Status print_uniform(const sched::StepOutline& outline,
                           const sched::StepConditions& conditions,
                           const std::vector<sched::UniformSetting>& settings) {
  const char* separator = "";
  std::printf("\"uniform\": {");
  for (const sched::UniformSetting& setting : settings) {
    const auto seconds = sched::uniform_seconds(outline, conditions, setting, perfmodel::kNever);
    if (!seconds.ok()) return seconds.error();
    std::printf("%s\"%d,%d\": %.9g", separator, setting.inter, setting.intra, seconds.value());
    separator = ", ";
  }
  std::printf("}");
  return {};
}

base::Status print_network(const std::string& name, const perfmodel::Machine& machine,
                           const sched::CoreMap& map) {
  const auto graph = perfmodel::network_graph(name, machine);
  if (!graph.ok()) return graph.error();
  const sched::StepOutline outline = sched::make_step_outline(graph.value(), map);
  const sched::StepConditions conditions;
  std::printf("\"%s\": {\"ops\": %zu, \"strategies\": {", name.c_str(), graph.value().nodes.size());
  const char* separator = "";
  for (const char* strategy : {"recommendation", "s1", "s12", "s123", "s1234"}) {
    const auto chosen = sched::make_fixed_strategy(strategy, outline);
    const auto step = sched::simulate_steps(outline, conditions, kWarmUp, chosen.get());
    if (!step.ok()) return step.error();
    std::printf("%s\"%s\": {\"step_seconds\": %.9g, \"corunning_mean\": %.6g}", separator, strategy,
                step.value().seconds, step.value().corunning_mean);
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

}  // namespace

int main(int argc, char** argv) {
  const auto machine = perfmodel::built_in_machine("knl");
  if (!machine) return failed("there is no machine knl");
  const auto map = sched::make_core_map(*machine);
  if (!map.ok()) return failed(map.message());
  std::vector<std::string> names(argv + 1, argv + argc);
  if (names.empty()) names = perfmodel::network_names();
  std::printf("{");
  for (const std::string& name : names) {
    const base::Status printed = print_network(name, *machine, map.value());
    if (!printed.ok()) return failed(printed.message());
    std::printf(",\n");
  }
  std::printf("\"pair\": {");
  const perfmodel::StepGraph pair = pair_graph(*machine);
  const sched::StepOutline outline = sched::make_step_outline(pair, map.value());
  const base::Status printed =
      print_uniform(outline, sched::StepConditions(), {{1, 68}, {2, 68}, {2, 34}});
  if (!printed.ok()) return failed(printed.message());
  std::printf("}}\n");
  return 0;
}
