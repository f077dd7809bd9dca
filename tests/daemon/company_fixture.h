// Simulated programs that run at the same time, side by side on described cores, four if nothing
// else is said, under a controller that gives them leases.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/daemon/controller_fixture.h"

namespace optile::daemon {

class CompanyTest : public ControllerTest {
 protected:
  CompanyTest() { leases_ = true; }
  // For begin(): another machine than that with four cores.
  void describe(const std::string& topology) {
    machine_ = perfmodel::make_machine_source(topology)->read().value();
    budget_ = whole_budget(machine_);
  }

  // A controller, without programs, on what is in the store.
  void begin() {
    Clocks clocks;
    clocks.monotonic_ns = [this] { return now_ns_; };
    clocks.unix_seconds = [this] { return static_cast<int64_t>(now_ns_ / kSecondNs); };
    clocks.counter = clocks.monotonic_ns;
    clocks.counter_hz = []() -> std::optional<uint64_t> { return std::nullopt; };
    Controller::Dependencies dependencies;
    dependencies.machine = machine_;
    dependencies.store = store_.get();
    dependencies.clocks = clocks;
    dependencies.read_budget = [this](int) { return budget_; };
    dependencies.confine = [this](uint64_t client, int, const std::vector<int>& units) {
      masks_[client] = units;
    };
    dependencies.say = [this](const std::string& line) { said_ += line + "\n"; };
    dependencies.busy_time = [this](int pid) { return busy_time(pid); };
    controller_ = std::make_unique<Controller>(std::move(dependencies));
    programs_.clear();
    masks_.clear();
  }

  struct Program {
    Attached attached;
    uint64_t clock_ns = 0;
    uint64_t steps = 0;
    uint64_t busy_ns = 0;  // processor time
    // Of a program that works for so long and then waits for so long, again and again.
    uint64_t works_ns = 0;
    uint64_t waits_ns = 0;
    uint64_t next_wait_ns = 0;
    bool waits = false;  // now
  };
  using TimeNs = std::function<uint64_t(int width)>;
  // A program whose step is one op that takes so long with so many threads, and a short one.
  void add(
      const std::string& name, TimeNs time_ns, TimeNs short_ns = [](int) { return 1000u; }) {
    add_with_step(name, {{kMatmul, "aten::mm", std::move(time_ns)},
                         {kAdd, "aten::add", std::move(short_ns)}});
  }
  // `own_width`: 0 = as many threads as there are cores.
  void add_with_step(const std::string& name, std::vector<SimulatedProgram::Op> ops,
                     int own_width = 0) {
    auto program = std::make_unique<Program>();
    program->clock_ns = now_ns_;
    ClientMemory memory = ClientMemory::make().value();
    const ClientMemory::Descriptors fds = memory.take_descriptors();
    program->attached.program = std::make_unique<SimulatedProgram>(
        ClientRegions(fds.plan.get(), fds.client.get()),
        std::vector<SimulatedProgram::Op>{{0x9, "aten::rand", [](int) { return 1000u; }}},
        std::move(ops), own_width > 0 ? own_width : static_cast<int>(machine_.cores.size()),
        &program->clock_ns);
    Hello who = hello(name);
    who.program = name;
    who.pid = static_cast<int>(programs_.size() + kFirstPid);
    program->attached.id = controller_->arrive(who, std::move(memory)).value();
    programs_.push_back(std::move(program));
  }

  // The latest one: seconds that it works, and then waits, from now on.
  void waits(double works, double pauses) {
    Program& latest = *programs_.back();
    latest.works_ns = static_cast<uint64_t>(works * kSecondNs);
    latest.waits_ns = static_cast<uint64_t>(pauses * kSecondNs);
    latest.next_wait_ns = latest.clock_ns + latest.works_ns;
  }
  std::optional<std::chrono::milliseconds> busy_time(int pid) const {
    const Program& program = *programs_[static_cast<std::size_t>(pid) - kFirstPid];
    // Its clock is where its present step, or wait, will end.
    const uint64_t ahead = program.clock_ns - std::min(now_ns_, program.clock_ns);
    const uint64_t busy = program.busy_ns - (program.waits ? 0 : std::min(ahead, program.busy_ns));
    return std::chrono::milliseconds(busy / 1000000);
  }

  // All at once: whoever is behind makes the next step, on a clock of its own.
  void run(
      uint64_t duration_s, const std::function<bool()>& until = [] { return false; }) {
    const uint64_t end = now_ns_ + duration_s * kSecondNs;
    while (now_ns_ < end && !until()) {
      Program& next = furthest_behind();
      step(next);
      // Others go on while one waits.
      const Program& latest = next.waits ? furthest_behind() : next;
      now_ns_ = std::max(now_ns_, latest.clock_ns);
      if (now_ns_ >= look_at_) {
        controller_->drain();
        if (controller_->next_look()) controller_->look_for_waiting();
        look_at_ = now_ns_ + kLookNs;
      }
      if (now_ns_ >= refresh_at_) {
        controller_->refresh_budgets();
        refresh_at_ = now_ns_ + kSecondNs;
      }
    }
  }
  static void step(Program& program) {
    program.waits = program.waits_ns > 0 && program.clock_ns >= program.next_wait_ns;
    if (program.waits) {
      program.clock_ns += program.waits_ns;
      program.next_wait_ns = program.clock_ns + program.works_ns;
      return;
    }
    const uint64_t begin = program.clock_ns;
    program.attached.program->run_step();
    program.busy_ns += program.clock_ns - begin;
    ++program.steps;
  }
  Program& furthest_behind() {
    return **std::min_element(programs_.begin(), programs_.end(), [](const auto& a, const auto& b) {
      return a->clock_ns < b->clock_ns;
    });
  }
  uint64_t id(std::size_t place) const { return programs_[place]->attached.id; }
  // What is said again and again, where each word is written once.
  std::size_t lines_with(const std::string& text) const {
    std::size_t count = 0;
    for (std::size_t at = said_.find(text); at != std::string::npos; at = said_.find(text, at + 1))
      ++count;
    return count;
  }

  static constexpr std::size_t kFirstPid = 100;
  perfmodel::Machine machine_ = four_cores();
  static constexpr uint64_t kLookNs = 10000000;
  static constexpr uint64_t kSecondNs = UINT64_C(1000000000);
  std::vector<std::unique_ptr<Program>> programs_;
  std::string said_;
  uint64_t look_at_ = 0;
  uint64_t refresh_at_ = 0;
};

}  // namespace optile::daemon
