// `optile-place`: what `optile` becomes for place, compare, parallelism and split.
#include <exception>
#include <iostream>
#include <new>

#include "bindings/cli/options.h"
#include "bindings/cli/place/compare_command.h"
#include "bindings/cli/place/parallelism_command.h"
#include "bindings/cli/place/place_command.h"
#include "bindings/cli/place/refusal.h"
#include "bindings/cli/place/split_command.h"
#include "bindings/cli/support/printed.h"

namespace optile::cli {
namespace {

int answer(const Options& options) {
  if (options.verb == Verb::kPlace) return place_graph(options.place);
  if (options.verb == Verb::kCompare) return compare_methods(options.compare);
  if (options.verb == Verb::kParallelism) return advise_parallelism(options.parallelism);
  if (options.verb == Verb::kSplit) return split_operators(options.split);
  return refuse("that is a command of optile, not of optile-place");
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
