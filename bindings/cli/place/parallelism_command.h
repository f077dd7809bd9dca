// `optile parallelism`: whether to split the model or only the data.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace optile::cli {

struct ParallelismOptions {
  std::vector<int> devices;
  std::vector<std::string> epochs;        // REPLICAS:EPOCHS, or REPLICAS:none
  std::vector<std::string> speedups;      // DEVICES:TIMES
  std::vector<std::string> efficiencies;  // REPLICAS:EFFICIENCY; none: 1 for all
  bool json = false;
};

CLI::App* add_parallelism(CLI::App& app, ParallelismOptions& options);

// The exit code: 0, or 125 where the options do not fit together.
int advise_parallelism(const ParallelismOptions& options);

}  // namespace optile::cli
