// `optile-place`: what `optile` becomes for place, compare, parallelism and split.
#include <exception>
#include <iostream>
#include <new>

#include "bindings/cli/options.h"
#include "bindings/cli/place/assistants_command.h"
#include "bindings/cli/place/compare_command.h"
#include "bindings/cli/place/network_command.h"
#include "bindings/cli/place/parallelism_command.h"
#include "bindings/cli/place/place_command.h"
#include "bindings/cli/place/place_inputs.h"
#include "bindings/cli/place/refusal.h"
#include "bindings/cli/place/split_command.h"
#include "bindings/cli/place/strategy_command.h"
#include "bindings/cli/place/train_command.h"
#include "bindings/cli/support/printed.h"

namespace optile::cli {
namespace {

int answer(const Options& options) {
  const PlacingOptions& placing = options.placing;
  if (options.verb == Verb::kParallelism) return advise_parallelism(options.parallelism);
  if (options.verb == Verb::kAssistDevices) return assist_devices(std::cin, std::cout);
  if (options.verb == Verb::kSplit) return split_operators(options.split);
  listen_to_interrupts();
  switch (options.verb) {
    case Verb::kPlace:
      return place_graph(placing.place);
    case Verb::kPlaceStrategy:
      return place_strategies(placing.strategy);
    case Verb::kPlaceNetwork:
      return split_network(placing.network);
    case Verb::kTrainPolicy:
      return train_policy(placing.train);
    case Verb::kCompare:
      return compare_methods(placing.compare);
    default:
      return refuse("that is a command of optile, not of optile-place");
  }
}

int answer(int argc, char** argv) {
  const auto parsed = parse_options({argv + 1, argv + argc});
  if (!parsed.ok()) return refuse(parsed.message());
  if (parsed.value().exit_code >= 0) {
    std::cout << parsed.value().text;
    return printed(parsed.value().exit_code);
  }
  return printed(answer(parsed.value().options));
}

}  // namespace
}  // namespace optile::cli

int main(int argc, char** argv) {
  try {
    return optile::cli::answer(argc, argv);
  } catch (const std::bad_alloc&) {
    return optile::cli::refuse("memory ran out; a smaller graph or fewer devices need less");
  } catch (const std::exception& error) {  // a library's surprise
    return optile::cli::refuse(error.what());
  }
}
