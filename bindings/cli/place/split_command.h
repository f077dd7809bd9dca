// `optile split`: how single operators and whole models of them are split over workers, by Tofu.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace optile::cli {

struct SplitOptions {
  std::string describe;  // the text of one operator; empty: a network
  std::string network;
  int workers = 8;
  int batch = 0;   // 0: the network's own
  int width = 0;   // of wresnet-152
  int hidden = 0;  // of rnn-10
  bool json = false;
};

CLI::App* add_split(CLI::App& app, SplitOptions& options);

// The exit code: 0, or 125 where the text or the options are wrong.
int split_operators(const SplitOptions& options);

}  // namespace optile::cli
