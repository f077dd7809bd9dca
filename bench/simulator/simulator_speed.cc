// What a strategy's decision and a simulated event cost, on steps of 16,000 ops: time of one core,
// that is to say this thread's and not the clock's on the wall, least and median of several
// repetitions. Prints one line for each question.
//
//   simulator_speed [MACHINE READY paper|look-ahead|uniform REPETITIONS]
//
// With arguments one question alone, so that a profiler can count what it takes.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "perfmodel/synthetic/step_graph.h"
#include "sched/simulation/step_simulator.h"
#include "sched/strategies/look_ahead_strategy.h"
#include "sched/strategies/packing_strategy.h"
#include "sched/strategies/uniform_strategy.h"

namespace {

using namespace optile;
using Clock = std::chrono::steady_clock;

constexpr int kNodes = 16000;
constexpr int kInstances = 1000;
constexpr int kRepetitions = 21;
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
    for (const perfmodel::Configuration which : map.space.all()) {
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

// Seconds that this thread has run.
double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Of the repetitions: at 0 the least, at 0.5 the median.
struct Figures {
  std::vector<double> all;

  double at(double share) {
    std::sort(all.begin(), all.end());
    return all[static_cast<std::size_t>(share * static_cast<double>(all.size() - 1))];
  }
};

// Hands everything on and adds up what decide() took, by the wall: a decision is too short for the
// thread's clock. Whoever interrupts one counts, so the least of the repetitions says most.
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
  double seconds() const { return std::chrono::duration<double>(spent_).count(); }
  long calls() const { return calls_; }

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
  Figures steps;
  Figures decisions;
  std::uint64_t events = 0;
  const auto strategy = make(name, outline);
  const auto timed_strategy = make(name, outline);
  if (strategy == nullptr) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  sched::StepSimulator simulator(outline, conditions);
  for (int i = 0; i < repetitions; ++i) {
    const double start = thread_seconds();
    const auto outcome = simulator.run(strategy.get(), static_cast<std::uint64_t>(i));
    steps.all.push_back(thread_seconds() - start);
    if (!outcome.ok()) {
      std::fprintf(stderr, "%s\n", outcome.message().c_str());
      return 1;
    }
    events = outcome.value().events;
    Timed timed(timed_strategy.get());
    (void)simulator.run(&timed, static_cast<std::uint64_t>(i));
    decisions.all.push_back(timed.seconds() / static_cast<double>(timed.calls()));
  }
  const double all = static_cast<double>(events);
  std::printf(
      "%-33s %4d ready  %-10s  a decision %4.0f ns (median %.0f)  %.2f million events/s (median "
      "%.2f)  a step %.1f ms (median %.1f)\n",
      machine, ready, name, decisions.at(0) * 1e9, decisions.at(0.5) * 1e9,
      all / steps.at(0) * 1e-6, all / steps.at(0.5) * 1e-6, steps.at(0) * 1e3, steps.at(0.5) * 1e3);
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
