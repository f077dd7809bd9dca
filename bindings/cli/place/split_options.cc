#include <CLI/CLI.hpp>

#include "bindings/cli/place/split_command.h"

namespace optile::cli {

CLI::App* add_split(CLI::App& app, SplitOptions& options) {
  CLI::App* command = app.add_subcommand(
      "split", "How operators are split over workers: optile split --network NAME");
  command
      ->add_option("--network", options.network,
                   "Split every operator and tensor of a training step: wresnet-152, rnn-10")
      ->required()
      ->check(CLI::IsMember({"wresnet-152", "rnn-10"}));
  command->add_option("--workers", options.workers, "A power of two; 8 unless said")
      ->check(CLI::Range(1, 64));
  command->add_option("--batch", options.batch, "Samples in a step; the network's own unless said")
      ->check(CLI::Range(1, 1 << 16))
      ->type_name("N");
  command->add_flag("--json", options.json, "Print the answer as JSON");
  return command;
}

}  // namespace optile::cli
