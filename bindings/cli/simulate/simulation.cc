#include "bindings/cli/simulate/simulation.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "bindings/cli/simulate/simulation_trace.h"
#include "bindings/cli/support/child_process.h"
#include "bindings/cli/support/output_file.h"
#include "perfmodel/networks/networks.h"
#include "perfmodel/synthetic/step_graph_json.h"
#include "sched/simulation/step_study.h"

namespace optile::cli {
namespace {

using Json = nlohmann::json;

// What has to outlive a study: each refers to the ones before it.
struct StudyInputs {
  perfmodel::Machine machine;
  sched::CoreMap map;
  perfmodel::StepGraph graph;
};

// A name of a network, or a file.
base::Result<perfmodel::StepGraph> find_graph(const std::string& which,
                                              const perfmodel::Machine& machine) {
  auto network = perfmodel::network_graph(which, machine);
  if (network.ok() || network.error().kind != base::ErrorKind::kNotFound) return network;
  auto graph = perfmodel::read_step_graph(which);
  if (!graph.ok() && graph.error().kind == base::ErrorKind::kNotFound) {
    return base::Error{base::ErrorKind::kNotFound,
                       network.message() + "; and there is no such file"};
  }
  return graph;
}

base::Status prepare(const Options& options, StudyInputs* scene) {
  auto machine = perfmodel::make_machine_source(
                     options.simulation.machine.empty() ? "host" : options.simulation.machine)
                     ->read();
  if (!machine.ok()) return machine.error();
  scene->machine = std::move(machine).value();
  auto map = sched::make_core_map(scene->machine);
  if (!map.ok()) return map.error();
  scene->map = std::move(map).value();
  auto graph = find_graph(options.simulation.graph, scene->machine);
  if (!graph.ok()) return graph.error();
  scene->graph = std::move(graph).value();
  const base::Status checked = perfmodel::check_step_graph(scene->graph, scene->map.space);
  if (checked.ok()) return {};
  std::string where = options.simulation.graph;
  if (!scene->graph.machine.empty() && scene->graph.machine != scene->machine.name) {
    where += " (made for " + scene->graph.machine + ", not for " + scene->machine.name + ")";
  }
  return base::Error{checked.error().kind, where + ": " + checked.message()};
}

Json study_json(const StudyInputs& scene, const Options& options, const sched::StepStudy& study) {
  return {{"machine", scene.machine.name},
          {"cores", scene.map.cores},
          {"graph", scene.graph.name},
          {"ops", scene.graph.nodes.size()},
          {"strategy", study.strategy},
          {"description", study.description},
          {"step_seconds", study.step.seconds},
          {"recommendation_seconds", study.recommendation_seconds},
          {"manual",
           {{"inter", study.manual.setting.inter},
            {"intra", study.manual.setting.intra},
            {"step_seconds", study.manual.seconds},
            {"tried", study.manual.tried}}},
          {"corunning_mean", study.step.corunning_mean},
          {"events", study.step.events},
          {"utilisation", study.step.utilisation},
          {"noise", options.simulation.noise},
          {"seed", options.simulation.seed}};
}

// The machine's name may be a path, which need not be UTF-8.
std::string json_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string seconds_text(double seconds) {
  char text[32];
  if (seconds < 1e-3) {
    std::snprintf(text, sizeof text, "%9.2f us", seconds * 1e6);
  } else if (seconds < 1) {
    std::snprintf(text, sizeof text, "%9.2f ms", seconds * 1e3);
  } else {
    std::snprintf(text, sizeof text, "%9.3f s ", seconds);
  }
  return text;
}

std::string ratio_text(double other, double ours) {
  char text[48];
  std::snprintf(text, sizeof text, "   the step is %.2f times as fast", other / ours);
  return text;
}

std::string study_text(const StudyInputs& scene, const sched::StepStudy& study) {
  const double ours = study.step.seconds;
  char counts[160];
  std::snprintf(counts, sizeof counts,
                "co-running      %9.2f ops on average, over %llu launches and finishes\n"
                "utilisation     %9.0f %% of the cores' time\n",
                study.step.corunning_mean, static_cast<unsigned long long>(study.step.events),
                study.step.utilisation * 100);
  const std::string graph = scene.graph.name.empty() ? "a step" : scene.graph.name;
  return graph + " of " + std::to_string(scene.graph.nodes.size()) + " ops on " +
         scene.machine.name + " (" + std::to_string(scene.map.cores) + " cores, " +
         std::to_string(scene.map.tiles.size()) + " tiles)\n" + study.strategy + ": " +
         study.description + "\n\nstep            " + seconds_text(ours) + "\nrecommendation  " +
         seconds_text(study.recommendation_seconds) +
         ratio_text(study.recommendation_seconds, ours) + "\nmanual optimum  " +
         seconds_text(study.manual.seconds) + ratio_text(study.manual.seconds, ours) +
         " (inter-op " + std::to_string(study.manual.setting.inter) + ", intra-op " +
         std::to_string(study.manual.setting.intra) + ")\n" + counts;
}

base::Status run(const Options& options) {
  const std::string& trace = options.simulation.trace;
  if (!trace.empty()) {
    if (base::Status may = may_be_written(trace); !may.ok()) return may;
  }
  StudyInputs scene;
  base::Status prepared = prepare(options, &scene);
  if (!prepared.ok()) return prepared;
  const sched::StepOutline outline = sched::make_step_outline(scene.graph, scene.map);
  sched::StepConditions conditions;
  conditions.noise.seed = options.simulation.seed;
  conditions.noise.spread = options.simulation.noise;
  const auto study = sched::study_step(outline, conditions, options.simulation.strategy);
  if (!study.ok()) return study.error();
  if (!trace.empty()) {
    const std::string title =
        scene.graph.name + " on " + scene.machine.name + ", " + study.value().strategy;
    base::Status written =
        write_output(trace, simulation_trace(outline, study.value().step, title) + "\n");
    if (!written.ok()) return written;
  }
  std::cout << (options.json ? json_text(study_json(scene, options, study.value()))
                             : study_text(scene, study.value()));
  return {};
}

}  // namespace

int simulate(const Options& options) {
  const base::Status status = run(options);
  if (status.ok()) return 0;
  std::cerr << "optile: " << status.message() << "\n";
  return kOwnFailure;
}

}  // namespace optile::cli
