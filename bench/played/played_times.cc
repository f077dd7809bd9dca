// What the kernels of a step take on a described machine, by the curves of the network that it
// trains (docs/results/curves.md): for bench/played/table.py, which knows what a kernel computes.
//
//   played_times NETWORK MACHINE TABLE GRAPH < nodes
//
// A node is a line: kernel, the op's name in the paper's framework, flops, bytes, with tabs between
// them, then the numbers of the nodes that it waits for, each before its reader. Writes the table
// that played_kernels reads, and the graph for `optile simulate`.
#include <cstdio>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "base/at.h"
#include "base/text_file.h"
#include "bench/played/kernel_times.h"
#include "perfmodel/networks/fitted_laws.h"
#include "perfmodel/networks/networks.h"
#include "perfmodel/synthetic/step_graph_json.h"

namespace {

using namespace optile;

// For kinds that no table of a network has: elementwise, as this one is in each of them.
constexpr const char* kElementwise = "Add";

int failed(const std::string& message) {
  std::fprintf(stderr, "played_times: %s\n", message.c_str());
  return 1;
}

struct Line {
  std::string kernel;
  perfmodel::networks::FrameworkOp op;
};

bool parse(const std::string& text, Line* line) {
  std::istringstream fields(text);
  std::string rest;
  if (!std::getline(fields, line->kernel, '\t') || !std::getline(fields, line->op.op, '\t') ||
      !std::getline(fields, rest)) {
    return false;
  }
  std::istringstream numbers(rest);
  if (!(numbers >> line->op.flops >> line->op.bytes)) return false;
  for (int input = 0; numbers >> input;) line->op.inputs.push_back(input);
  return numbers.eof();
}

perfmodel::StepGraph read_graph(const std::string& network, const perfmodel::Machine& machine,
                                int* bad_line) {
  perfmodel::StepGraph graph;
  graph.name = network;
  graph.machine = machine.name;
  std::map<std::string, int> known;
  std::string text;
  *bad_line = 0;
  for (int number = 1; std::getline(std::cin, text); ++number) {
    Line line;
    if (!parse(text, &line)) {
      *bad_line = number;
      return graph;
    }
    const auto [found, is_new] =
        known.emplace(line.kernel, static_cast<int>(graph.instances.size()));
    if (is_new) {
      const std::string name = line.op.op;
      if (perfmodel::networks::fitted_op(network, name) == nullptr) line.op.op = kElementwise;
      graph.instances.push_back(perfmodel::network_instance(network, line.op, machine));
      graph.instances.back().op = name;
      graph.instances.back().shape = line.kernel;
    }
    graph.nodes.push_back({found->second, line.op.inputs});
  }
  return graph;
}

std::string table_of(const perfmodel::StepGraph& graph, int cores) {
  std::string text = std::string(bench::kTimesFormat) + graph.machine + "\n";
  for (const perfmodel::OpInstance& instance : graph.instances) {
    char number[32];
    std::snprintf(number, sizeof number, "%.6g", instance.memory_share);
    text += std::string(number) + "\t" + instance.shape + "\t";
    for (int width = 1; width <= cores; ++width) {
      const double seconds = instance.times.at(instance.times.best_of_width(width));
      std::snprintf(number, sizeof number, "%s%.6g", width == 1 ? "" : " ", seconds);
      text += number;
    }
    text += "\n";
  }
  return text;
}

bool write(const char* path, const std::string& text) {
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) return false;
  const bool whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return std::fclose(file) == 0 && whole;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return failed("NETWORK MACHINE TABLE GRAPH < nodes");
  const auto machine = perfmodel::make_machine_source(argv[2])->read();
  if (!machine.ok()) return failed(machine.message());
  int bad_line = 0;
  perfmodel::StepGraph graph = read_graph(argv[1], machine.value(), &bad_line);
  if (bad_line > 0) return failed("line " + std::to_string(bad_line) + " is no node");
  graph.machine = argv[2];
  const auto space = perfmodel::case_space(machine.value());
  const base::Status sound = perfmodel::check_step_graph(graph, space);
  if (!sound.ok()) return failed(sound.message());
  if (!write(argv[3], table_of(graph, space.cores))) return failed("cannot write the table");
  if (!write(argv[4], perfmodel::step_graph_text(graph))) return failed("cannot write the graph");
  return 0;
}
