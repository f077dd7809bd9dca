// What was typed, parsed. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "bindings/cli/cluster/cluster_options.h"
#include "bindings/cli/place/parallelism_command.h"
#include "bindings/cli/place/place_options.h"
#include "bindings/cli/place/split_command.h"

namespace optile::cli {

enum class Verb {
  kRun,
  kBaseline,
  kStatus,
  kOps,
  kExplain,
  kMachine,
  kMetrics,
  kUndo,
  kLeases,
  kShare,
  kPin,
  kUnpin,
  kPause,
  kResume,
  kDetach,
  kAttach,
  kTop,
  kStop,
  kDoctor,
  kBridgeBuild,
  kBridgeCheck,
  kSimulate,
  kGraph,
  kPlace,
  kPlaceStrategy,
  kPlaceNetwork,
  kTrainPolicy,
  kAssistDevices,
  kCompare,
  kParallelism,
  kSplit,
  kClusterJoin,
  kClusterStatus,
  kClusterLeave,
  kClusterPlan,
  kClusterExplain,
  kClusterTop,
  kLaunchNodes
};

// Before a program starts: the OpenMP runtime, how its idle threads wait, and so on.
struct LaunchChoices {
  std::string overall = "auto";  // or "keep": all below that are not chosen by name
  std::string openmp = "auto";
  std::string wait = "auto";
  std::string blas = "auto";
  std::string heap = "auto";
};

// Of run and baseline.
struct RunOptions {
  std::string mode = "tune";
  LaunchChoices launch;
  LaunchChoices typed_launch;  // before modes that change nothing turned it into "keep"
  std::string torch_bridge = "auto";
  std::string respect = "cap";
  std::string numerics = "any";
  std::string search = "auto";
  std::string strategy = "auto";
  std::string counters = "auto";
  std::string regions = "observe";  // or "tune", or "tune:" and objects
  std::string share;                // empty = nothing was said, which is 1
  std::string priority = "normal";
  std::string job;     // empty = none, or what an MPI launcher says
  std::string report;  // file
  bool summary = false;

  // Modes that promise it; choices about the launch that nobody made are then "keep".
  bool changes_nothing() const { return mode == "observe" || mode == "advise"; }
  // The program has to compute the same bits as an untouched run.
  bool as_untuned() const { return numerics == "as-untuned"; }
  // Beside other programs it may start with fewer threads than there are cores.
  bool narrows() const { return mode == "tune" && !as_untuned(); }
  bool tunes_regions() const { return regions != "observe" && !changes_nothing(); }
};

// What is asked of a daemon, or told it: about which client, op or program.
struct QueryOptions {
  std::string client;   // its number, or its program's name
  std::string op;       // of explain and undo
  std::string program;  // of undo
  bool all = false;     // of undo
  bool revoke = false;  // of undo
  std::string share;    // of share
  std::string cores;    // of pin

  bool names_what_to_undo() const {
    return all || !client.empty() || !program.empty() || !op.empty();
  }
};

struct TopOptions {
  bool once = false;
  double interval_seconds = 1;
};

struct SimulationOptions {
  std::string machine;  // what is simulated; empty = this one
  std::string graph;    // name of a network, or file
  std::string strategy = "auto";
  std::string trace;  // file; empty = none
  uint64_t seed = 1;
  double noise = 0;  // spread of the logarithm of run times
};

struct GraphOptions {
  std::string model;   // file that optile.step_ops wrote
  std::string output;  // file
};

struct BridgeOptions {
  std::string python;       // whose PyTorch; empty = python3
  std::string torch;        // its folder, where it was named
  bool background = false;  // of build: beside a program, at the lowest priority
};

struct Options {
  Verb verb = Verb::kStatus;
  std::string socket;  // empty = the default
  bool json = false;
  std::string store;     // empty = the default; only for a daemon that is started
  int patience_ms = 30;  // that a program's start may wait for the daemon, each time it is asked
  RunOptions run;
  QueryOptions query;
  TopOptions top;
  SimulationOptions simulation;
  GraphOptions graph;
  BridgeOptions bridge;
  PlacingOptions placing;
  ParallelismOptions parallelism;
  SplitOptions split;
  NodeOptions cluster;
  PlanQuery plan;
  LaunchOptions launch;
  std::vector<std::string> command;
};

struct Parsed {
  Options options;
  int exit_code = -1;  // >= 0: print `text` and end with it (help, version)
  std::string text;
};

// "keep" for choices about the launch that nobody made.
void keep_launch(RunOptions& run);
// The same where that was asked for, and in modes that promise to change nothing.
void keep_what_was_not_chosen(RunOptions& run);
// With `--numerics as-untuned`: those that might change a result.
void keep_bits(RunOptions& run);

// An error's message is for stderr; the exit code is then 125.
base::Result<Parsed> parse_options(const std::vector<std::string>& arguments);

}  // namespace optile::cli
