// What was typed behind `optile place`, parsed. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace CLI {
class App;
}

namespace optile::cli {

struct PlaceOptions {
  std::string graph;
  std::string network;      // a published one, in place of a graph
  int batch = 0;            // of the network: samples; 0 = its method's usual number
  std::string cluster;      // file; empty = what the graph's file says, or --devices
  int devices = 0;          // accelerators; 0 = as the file says
  int cpus = -1;            // -1 = as the file says, else none
  double memory_gb = 0;     // of each accelerator; 0 = as the file says, or no cap
  double bandwidth_gb = 0;  // a second; 0 = as the file says, or 25
  double latency_us = -1;   // -1 = as the file says, or 0
  std::string objective = "load";
  std::string links = "edge";  // of the objective step
  double op_us = 0;            // likewise: added to each node
  int micro_batches = 1;       // likewise
  std::string method = "auto";
  std::string time_limit;  // such as 5s; empty = 5 s where no evaluations are given
  std::uint64_t evaluations = 0;
  std::string bound_time;  // for the bound, after the method
  std::uint64_t seed = 1;
  std::string expert;        // file
  std::string from;          // file of an earlier answer, from which few nodes may move
  std::string moves = "5%";  // how many: of all nodes, or a number
  std::string policy;        // file of a learned method
  bool fine_tune = false;    // whether it learns on
  std::string train;         // folder of graphs to learn from, in place of a graph
  std::string save;          // file for what was learned
  std::string dot;           // file for the placement as Graphviz reads it
  std::string trace;         // file for what happens when, as Chrome's trace events
  bool json = false;
};

// Of `optile compare`, which takes the rest of PlaceOptions too.
struct CompareOptions {
  std::string graphs;   // folder
  std::string experts;  // folder with NAME_expert.json for a graph NAME.json; may be empty
  std::string methods;  // with commas between; empty = all of the objective
  PlaceOptions each;
};

CLI::App* add_compare(CLI::App& app, CompareOptions& options);

// Adds the command to the program's.
CLI::App* add_place(CLI::App& app, PlaceOptions& options);

// "5s", "250ms", "2m", "5": seconds. Negative where it is none of these.
double parse_duration(const std::string& text);

// "5%", "2.5%", "300" of `nodes`. Negative where it is none of these.
std::int64_t parse_moves(const std::string& text, int nodes);

}  // namespace optile::cli
