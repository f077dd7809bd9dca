// What the workloads in C++ share with those in Python (training.py): the same arguments, the same
// timed loop, the same fields in the report. One program includes it once.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace optile::bench {

struct LoopOptions {
  int steps = 20;      // timed
  int warmup = 2;      // untimed, before them
  int batch = 0;       // the size of the problem; 0 = the program's own
  double seconds = 0;  // > 0: ends after so many of timed steps, whatever `steps` says
  std::string json;    // path of the report; empty = none
  bool quiet = false;
};

// Prints what is wrong to stderr and ends the program with 2.
LoopOptions parse_options(int count, char** words);

// Runs `step`, which returns a figure that depends on all of its work, and writes the report.
// Returns the program's exit status.
int run_timed(const std::string& name, const LoopOptions& options,
              const std::function<double()>& step);

}  // namespace optile::bench
