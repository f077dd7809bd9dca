#include <cstdio>
#include <iostream>

#include "bindings/cli/child_process.h"
#include "bindings/cli/doctor.h"
#include "bindings/cli/launcher.h"
#include "bindings/cli/place/compare_command.h"
#include "bindings/cli/place/parallelism_command.h"
#include "bindings/cli/place/place_command.h"
#include "bindings/cli/place/split_command.h"
#include "bindings/cli/queries.h"
#include "bindings/cli/simulation.h"
#include "bindings/cli/top/top.h"

int main(int argc, char** argv) {
  using namespace optile::cli;
  const auto parsed = parse_options({argv + 1, argv + argc});
  if (!parsed.ok()) {
    std::cerr << "optile: " << parsed.message() << "\n";
    return kOwnFailure;
  }
  if (parsed.value().exit_code >= 0) {
    std::cout << parsed.value().text;
    return parsed.value().exit_code;
  }
  const Options& options = parsed.value().options;
  if (options.verb == Verb::kDoctor) return examine(options);
  if (options.verb == Verb::kTop) return watch(options);
  if (options.verb == Verb::kSimulate) return simulate(options);
  if (options.verb == Verb::kPlace) return place_graph(options.place);
  if (options.verb == Verb::kParallelism) return advise_parallelism(options.parallelism);
  if (options.verb == Verb::kSplit) return split_operators(options.split);
  if (options.verb == Verb::kCompare) return compare_methods(options.compare);
  const bool starts_a_program = options.verb == Verb::kRun || options.verb == Verb::kBaseline;
  return starts_a_program ? launch(options) : answer_query(options);
}
