#include <CLI/CLI.hpp>

#include "bindings/cli/place/parallelism_command.h"

namespace optile::cli {

CLI::App* add_parallelism(CLI::App& app, ParallelismOptions& options) {
  CLI::App* command = app.add_subcommand(
      "parallelism",
      "Whether to split the model or only the data: optile parallelism --devices N [OPTIONS]");
  command->add_option("--devices", options.devices, "Numbers of devices to advise for")
      ->required()
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20))
      ->type_name("N,...");
  command
      ->add_option("--epochs", options.epochs,
                   "Epochs to converge by the number of replicas; none where it does not")
      ->required()
      ->delimiter(',')
      ->type_name("N:E,...");
  command
      ->add_option("--speedup", options.speedups,
                   "How much faster M devices run one replica than one device does")
      ->required()
      ->delimiter(',')
      ->type_name("M:X,...");
  command
      ->add_option("--efficiency", options.efficiencies,
                   "What N replicas do over N times what one does; 1 unless said")
      ->delimiter(',')
      ->type_name("N:S,...");
  command->add_flag("--json", options.json, "Print the answer as JSON");
  return command;
}

}  // namespace optile::cli
