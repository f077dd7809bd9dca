// How many cores others kept busy while a client ran: what makes its step times worth less for a
// comparison. Others are all processes that are not of its run, attached or not, and other machines
// on the same host; niced ones give way and are no load. The daemon's one thread.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/load/external_load.h"

namespace optile::daemon {

// Of one client, over its life. Pure.
class CoRunnerLoad {
 public:
  static constexpr double kNotable = 0.1;  // of the cores that the client may use

  void add(double cores, std::chrono::milliseconds passed);
  double cores() const;  // on average; 0 while nothing is known
  // "others kept 1.3 of 2 cores busy on average"; empty where that is no notable part.
  std::string text(int of_cores) const;

 private:
  double core_seconds_ = 0;
  double seconds_ = 0;
};

// One reading for all clients, compared with the one before.
class CoRunnerLoadWatch {
 public:
  using Read = std::function<LoadReading(const std::vector<int>& pids)>;
  struct Party {
    int pid = 0;
    std::string run;         // processes with the same one are not others; may be empty
    std::vector<int> units;  // that it may use
    CoRunnerLoad* load = nullptr;
  };

  // An empty one never reads.
  explicit CoRunnerLoadWatch(Read read) : read_(std::move(read)) {}

  // Whether the latest reading is old enough for another one: the more clients, the dearer it is.
  bool is_due(std::chrono::milliseconds now, std::size_t clients) const;
  void look(std::chrono::milliseconds now, const std::vector<Party>& parties);

 private:
  static constexpr std::chrono::milliseconds kSpacing{100};
  static constexpr std::chrono::milliseconds kSpacingOfClient{2};  // is added for each

  static void share_out(const LoadReading& before, const LoadReading& after,
                        std::chrono::milliseconds passed, const std::vector<Party>& parties);

  Read read_;
  std::optional<LoadReading> latest_;
  std::chrono::milliseconds read_at_{0};
};

}  // namespace optile::daemon
