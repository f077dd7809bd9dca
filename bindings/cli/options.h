// What was typed, parsed. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
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
  kPlace,
  kCompare,
  kParallelism,
  kSplit
};

struct Options {
  Verb verb = Verb::kStatus;
  std::string mode = "tune";
  std::string launch = "auto";  // or "keep": all four below that are not chosen by name
  std::string openmp = "auto";
  std::string wait = "auto";
  std::string blas = "auto";
  std::string heap = "auto";
  std::string torch_bridge = "auto";
  std::string respect = "cap";
  std::string numerics = "any";
  std::string search = "auto";
  std::string strategy = "auto";
  std::string counters = "auto";
  std::string regions = "observe";  // or "tune", or "tune:" and objects
  std::string share;                // of run and of share; empty = nothing was said, which is 1
  std::string priority = "normal";
  std::string job;     // empty = none, or what an MPI launcher says
  std::string report;  // file
  bool summary = false;
  int patience_ms = 30;  // that a program's start may wait for the daemon, each time it is asked
  std::string socket;    // empty = the default
  std::string store;     // empty = the default; only for a daemon that is started
  std::string machine;   // of simulate: what is simulated, empty = this machine
  bool json = false;
  std::string client;           // of ops, explain, undo and the words about a lease: number, name
  std::string cores;            // of pin
  std::string op;               // of explain and undo
  std::string program;          // of undo
  bool revoke = false;          // of undo
  bool all = false;             // of undo
  bool once = false;            // of top
  double interval_seconds = 1;  // of top
  struct Simulation {
    std::string graph;  // name of a network, or file
    std::string trace;  // file; empty = none
    uint64_t seed = 1;
    double noise = 0;  // spread of the logarithm of run times
  };
  Simulation simulation;
  struct Bridge {
    std::string python;       // whose PyTorch; empty = python3
    std::string torch;        // its folder, where it was named
    bool background = false;  // of build: beside a program, at the lowest priority
  };
  Bridge bridge;
  // What was typed about the launch, before modes that change nothing turned it into "keep".
  struct LaunchWords {
    std::string launch = "auto";
    std::string openmp = "auto";
    std::string blas = "auto";
  };
  LaunchWords typed;
  PlaceOptions place;
  ParallelismOptions parallelism;
  SplitOptions split;
  CompareOptions compare;
  std::vector<std::string> command;

  // Of undo: what is meant.
  bool names_what_to_undo() const {
    return all || !client.empty() || !program.empty() || !op.empty();
  }
  // Modes that promise it; choices about the launch that nobody made are then "keep".
  bool changes_nothing() const { return mode == "observe" || mode == "advise"; }
  // The program has to compute the same bits as an untouched run.
  bool as_untuned() const { return numerics == "as-untuned"; }
  // Beside other programs it may start with fewer threads than there are cores.
  bool narrows() const { return mode == "tune" && !as_untuned(); }
  bool tunes_regions() const { return regions != "observe" && !changes_nothing(); }
};

struct Parsed {
  Options options;
  int exit_code = -1;  // >= 0: print `text` and end with it (help, version)
  std::string text;
};

// "keep" for choices about the launch that nobody made.
void keep_launch(Options& options);
// The same where that was asked for, and in modes that promise to change nothing.
void keep_what_was_not_chosen(Options& options);
// With `--numerics as-untuned`: those that might change a result.
void keep_bits(Options& options);

// An error's message is for stderr; the exit code is then 125.
base::Result<Parsed> parse_options(const std::vector<std::string>& arguments);

}  // namespace optile::cli
