#include <CLI/CLI.hpp>

#include "bindings/cli/place/split_command.h"

namespace optile::cli {

CLI::App* add_split(CLI::App& app, SplitOptions& options) {
  CLI::App* command = app.add_subcommand(
      "split",
      "How operators are split over workers: optile split --network NAME | --describe TEXT");
  CLI::Option* network =
      command
          ->add_option("--network", options.network,
                       "Split every operator and tensor of a training step: wresnet-152, rnn-10")
          ->check(CLI::IsMember({"wresnet-152", "rnn-10"}));
  CLI::Option* describe = command->add_option(
      "--describe", options.describe,
      "Show along what one operator can be split: 'f(a)[i, j] = Sum(k: a[i, k + j])'");
  network->excludes(describe);
  const auto of_network = [&](const char* name, int& value, const char* what, int most) {
    command->add_option(name, value, what)->check(CLI::Range(1, most))->needs(network);
  };
  of_network("--workers", options.workers, "A power of two; 8 unless said", 64);
  of_network("--batch", options.batch, "Samples in a step; 8 (wresnet-152) or 512", 1 << 16);
  of_network("--width", options.width, "Of wresnet-152, times a ResNet's channels; 10", 64);
  of_network("--hidden", options.hidden, "Of rnn-10, units of a layer; 6144", 1 << 16);
  command->add_flag("--json", options.json, "Print the answer as JSON");
  return command;
}

}  // namespace optile::cli
