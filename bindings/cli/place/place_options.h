// What was typed behind `optile place` and `optile compare`, parsed. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "placement/method.h"

namespace CLI {
class App;
}

namespace optile::cli {

struct ClusterOptions {
  std::string file;         // empty = what the graph's file says, or `devices`
  int devices = 0;          // accelerators; 0 = as the file says
  int cpus = -1;            // -1 = as the file says, else none
  double memory_gb = 0;     // of each accelerator; 0 = as the file says, or no cap
  double bandwidth_gb = 0;  // a second; 0 = as the file says, or 25
  double latency_us = -1;   // -1 = as the file says, or 0
};

struct SearchOptions {
  std::optional<double> seconds;  // none = 5 where no evaluations are given
  std::uint64_t evaluations = 0;  // 0 = no limit
  std::uint64_t seed = 1;
};

struct StepOptions {
  placement::StepLinks links = placement::StepLinks::kEdge;
  double op_us = 0;  // added to each node
  int micro_batches = 1;
};

// What `place`, `place train` and `compare` take alike.
struct ProblemOptions {
  placement::Objective objective = placement::Objective::kLoad;
  ClusterOptions cluster;
  StepOptions step;  // of the objective step
  SearchOptions search;
  double bound_seconds = 0;  // for the bound, after the method
};

// `optile place load`, `latency` and `step`.
struct PlaceOptions : ProblemOptions {
  std::string graph;  // file
  placement::Method method = placement::Method::kAuto;
  std::string policy;        // file of a learned method
  bool fine_tune = false;    // whether it learns on
  std::string from;          // file of an earlier answer, from which few nodes may move
  std::string moves = "5%";  // how many: of all nodes, or a number
  std::string dot;           // file for the placement as Graphviz reads it
  std::string trace;         // file for what happens when, as Chrome's trace events
  bool json = false;
};

// `optile place strategy`.
struct StrategyOptions {
  std::string graph;  // file with a problem
  SearchOptions search;
  placement::StrategyMethod method = placement::StrategyMethod::kAuto;
  bool json = false;
};

// `optile place network`.
struct NetworkOptions {
  std::string network;  // a published one
  int devices = 4;
  int batch = 32;  // samples a device
  SearchOptions search;
  placement::StrategyMethod method = placement::StrategyMethod::kAuto;
  bool json = false;
};

// `optile place train`, of the objective step.
struct TrainOptions : ProblemOptions {
  std::string graphs;  // folder
  std::string save;    // file for what was learned
  placement::Method method = placement::Method::kPlaceto;
  std::string policy;  // file of what was learned before, to go on from; may be empty
};

// `optile compare load`, `latency` and `step`.
struct CompareOptions : ProblemOptions {
  std::string graphs;                      // folder
  std::string experts;                     // folder with NAME_expert.json for NAME.json; or empty
  std::vector<placement::Method> methods;  // empty = all of the objective
};

// Each adds its command and returns those that can be asked for, with their sub-commands.
struct PlaceCommands {
  std::vector<CLI::App*> objectives;  // load, latency, step
  CLI::App* strategy;
  CLI::App* network;
  CLI::App* train;
  CLI::App* assistants;
};
struct PlacingOptions {
  PlaceOptions place;
  StrategyOptions strategy;
  NetworkOptions network;
  TrainOptions train;
  CompareOptions compare;
};
PlaceCommands add_place(CLI::App& app, PlacingOptions& options);
std::vector<CLI::App*> add_compare(CLI::App& app, CompareOptions& options);

// "5s", "250ms", "2m", "5": seconds. Negative where it is none of these.
double parse_duration(const std::string& text);

// "5%", "2.5%", "300" of `nodes`. Negative where it is none of these.
std::int64_t parse_moves(const std::string& text, int nodes);

}  // namespace optile::cli
