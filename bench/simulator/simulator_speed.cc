// What a strategy's decision and a simulated event cost, on steps of 16,000 ops: nanoseconds of one
// core, the least of several repetitions. Prints one line for each question.
//
//   simulator_speed [MACHINE READY paper|look-ahead|uniform REPETITIONS]
//
// With arguments one question alone, so that a profiler can count what it takes.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "perfmodel/step_graph.h"
#include "sched/simulation/step_simulator.h"
#include "sched/strategies/look_ahead_strategy.h"
#include "sched/strategies/packing_strategy.h"
#include "sched/strategies/uniform_strategy.h"

namespace {

using namespace optile;
using Clock = std::chrono::steady_clock;

constexpr int kNodes = 16000;
constexpr int kInstances = 1000;
constexpr int kRepetitions = 7;
constexpr const char* kUsage =
    "usage: simulator_speed [MACHINE READY paper|look-ahead|uniform REPETITIONS]\n";

// A step in which about `width` ops are ready at a time: so many chains beside each other.
perfmodel::StepGraph chains(const sched::CoreMap& map, int width) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> real(0, 1);
  perfmodel::StepGraph graph;
  for (int i = 0; i < kInstances; ++i) {
    perfmodel::OpInstance one;
    one.op = "op" + std::to_string(i / 4);
    one.memory_share = 0.5 * real(random);
    const double work = 1e-3 * (0.1 + real(random));
    const double best = 4 + map.cores * 0.4 * real(random);
    for (const perfmodel::Case which : map.space.all()) {
      one.times.set(which, work / which.width + work * which.width / best / best);
    }
    graph.instances.push_back(std::move(one));
  }
  for (int i = 0; i < kNodes; ++i) {
    perfmodel::OpNode node;
    node.instance = static_cast<int>(random() % kInstances);
    if (i >= width) node.inputs.push_back(i - width);
    graph.nodes.push_back(std::move(node));
  }
  return graph;
}

// Hands everything on and adds up what decide() took.
class Timed : public sched::StepStrategy {
 public:
  explicit Timed(sched::StepStrategy* inner) : inner_(inner) {}
  void begin_step() override { inner_->begin_step(); }
  void on_ready(int node) override { inner_->on_ready(node); }
  void on_finished(int node, double now) override { inner_->on_finished(node, now); }
  void decide(double now, std::vector<sched::Launch>* launches) override {
    const auto start = Clock::now();
    inner_->decide(now, launches);
    spent_ += Clock::now() - start;
    ++calls_;
  }
  std::string description() const override { return inner_->description(); }
  double nanoseconds() const {
    return std::chrono::duration<double, std::nano>(spent_).count() / static_cast<double>(calls_);
  }

 private:
  sched::StepStrategy* inner_;
  Clock::duration spent_{0};
  long calls_ = 0;
};

std::unique_ptr<sched::StepStrategy> make(const std::string& name,
                                          const sched::StepOutline& outline) {
  static const perfmodel::SwitchingCost kSwitching;
  if (name == "paper") {
    return std::make_unique<sched::PackingStrategy>(
        outline, sched::PackingOptions{sched::WidthRule::kPerOp, true});
  }
  if (name == "look-ahead") {
    return std::make_unique<sched::LookAheadStrategy>(outline, kSwitching,
                                                      sched::LookAheadOptions{});
  }
  if (name == "uniform") {
    return std::make_unique<sched::UniformStrategy>(outline, sched::UniformSetting{4, 16});
  }
  return nullptr;
}

int measure(const char* machine, int ready, const char* name, int repetitions) {
  const auto source = perfmodel::make_machine_source(machine)->read();
  const auto found = source.ok() ? sched::make_core_map(source.value()) : source.error();
  if (!found.ok()) {
    std::fprintf(stderr, "%s\n", found.message().c_str());
    return 1;
  }
  const sched::CoreMap& map = found.value();
  const perfmodel::StepGraph graph = chains(map, ready);
  const sched::StepOutline outline = sched::make_step_outline(graph, map);
  const sched::StepConditions conditions;
  double best_step = 1e9;
  double best_decision = 1e9;
  std::uint64_t events = 0;
  const auto strategy = make(name, outline);
  const auto timed_strategy = make(name, outline);
  if (strategy == nullptr) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  sched::StepSimulator simulator(outline, conditions);
  for (int i = 0; i < repetitions; ++i) {
    const auto start = Clock::now();
    const auto outcome = simulator.run(strategy.get(), static_cast<std::uint64_t>(i));
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (!outcome.ok()) {
      std::fprintf(stderr, "%s\n", outcome.message().c_str());
      return 1;
    }
    events = outcome.value().events;
    best_step = std::min(best_step, seconds);
    Timed timed(timed_strategy.get());
    (void)simulator.run(&timed, static_cast<std::uint64_t>(i));
    best_decision = std::min(best_decision, timed.nanoseconds());
  }
  std::printf("%-12s %4d ready  %-10s %8.0f ns a decision  %6.2f million events/s  %6.1f ms\n",
              machine, ready, name, best_decision, static_cast<double>(events) / best_step * 1e-6,
              best_step * 1e3);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 5) {
    const int ready = std::atoi(argv[2]);
    const int repetitions = std::atoi(argv[4]);
    if (ready >= 1 && repetitions >= 1) return measure(argv[1], ready, argv[3], repetitions);
  }
  if (argc != 1) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  for (const char* machine : {"knl", "pack:2 numa:1 l3:24 core:8 pu:2"}) {
    for (const int ready : {5, 500}) {
      for (const char* name : {"paper", "look-ahead", "uniform"}) {
        const int failed = measure(machine, ready, name, kRepetitions);
        if (failed != 0) return failed;
      }
    }
  }
  return 0;
}
