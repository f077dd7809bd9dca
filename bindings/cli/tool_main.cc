// `optile-tool`: what `optile` becomes for everything but starting a program.
#include <cstdio>
#include <exception>
#include <iostream>

#include "bindings/cli/bridge/bridge_command.h"
#include "bindings/cli/cluster/cluster_command.h"
#include "bindings/cli/cluster/node_launch.h"
#include "bindings/cli/doctor/doctor.h"
#include "bindings/cli/graph/graph_command.h"
#include "bindings/cli/query/queries.h"
#include "bindings/cli/run/launcher.h"
#include "bindings/cli/simulate/simulation.h"
#include "bindings/cli/support/child_process.h"
#include "bindings/cli/support/printed.h"
#include "bindings/cli/support/sibling_program.h"
#include "bindings/cli/top/top.h"

namespace optile::cli {
namespace {

int answer(int argc, char** argv) {
  const auto parsed = parse_options({argv + 1, argv + argc});
  if (!parsed.ok()) {
    std::cerr << "optile: " << parsed.message() << "\n";
    return kOwnFailure;
  }
  if (parsed.value().exit_code >= 0) {
    std::cout << parsed.value().text;
    return printed(parsed.value().exit_code);
  }
  const Options& options = parsed.value().options;
  if (options.verb == Verb::kDoctor) return printed(examine(options));
  if (options.verb == Verb::kTop) return watch(options);
  if (options.verb == Verb::kGraph) return printed(write_graph(options));
  if (options.verb == Verb::kSimulate) return printed(simulate(options));
  if (options.verb == Verb::kBridgeBuild || options.verb == Verb::kBridgeCheck) {
    return printed(bridge(options));
  }
  if (is_about_cluster(options.verb)) return printed(answer_about_cluster(options));
  if (options.verb == Verb::kLaunchNodes) return launch_on_nodes(options);
  if (is_about_placement(options.verb)) return become_sibling(kPlacementTool, argv);
  const bool starts_a_program = options.verb == Verb::kRun || options.verb == Verb::kBaseline;
  return starts_a_program ? launch(options) : printed(answer_query(options));
}

}  // namespace
}  // namespace optile::cli

int main(int argc, char** argv) {
  try {
    return optile::cli::answer(argc, argv);
  } catch (const std::exception& error) {  // a library's surprise, memory
    std::fprintf(stderr, "optile: %s; nothing more can be done\n", error.what());
    return optile::cli::kOwnFailure;
  }
}
