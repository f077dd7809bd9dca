// `optile split`: how the operators of a model are split over workers, by Tofu.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace optile::cli {

struct SplitOptions {
  std::string network;
  int workers = 8;
  int batch = 0;  // 0: the network's own
  bool json = false;
};

CLI::App* add_split(CLI::App& app, SplitOptions& options);

// The exit code: 0, or 125 where the options are wrong.
int split_operators(const SplitOptions& options);

}  // namespace optile::cli
