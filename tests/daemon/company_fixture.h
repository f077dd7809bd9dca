// Simulated programs that run at the same time, side by side on four described cores, under a
// controller that gives them leases and may try how they do best beside each other.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/daemon/controller_fixture.h"

namespace optile::daemon {

class CompanyTest : public ControllerTest {
 protected:
  struct Tries {
    bool overlaps = false;
    bool divisions = false;
  };
  CompanyTest() { leases_ = true; }

  // A controller, without programs, on what is in the store.
  void begin(Tries tries) {
    Clocks clocks;
    clocks.monotonic_ns = [this] { return now_ns_; };
    clocks.unix_seconds = [this] { return static_cast<int64_t>(now_ns_ / kSecondNs); };
    clocks.counter = clocks.monotonic_ns;
    clocks.counter_hz = []() -> std::optional<uint64_t> { return std::nullopt; };
    Controller::Dependencies dependencies;
    dependencies.machine = four_cores();
    dependencies.store = store_.get();
    dependencies.clocks = clocks;
    dependencies.read_budget = [this](int) { return budget_; };
    dependencies.confine = [this](uint64_t client, int, const std::vector<int>& units) {
      masks_[client] = units;
    };
    dependencies.say = [this](const std::string& line) { said_ += line + "\n"; };
    dependencies.busy_time = [](int) { return std::nullopt; };
    dependencies.overlaps = tries.overlaps;
    dependencies.divisions = tries.divisions;
    controller_ = std::make_unique<Controller>(std::move(dependencies));
    programs_.clear();
    masks_.clear();
  }

  struct Program {
    Attached attached;
    uint64_t clock_ns = 0;
    uint64_t steps = 0;
  };
  // A program whose step is one op that takes so long with so many threads, and a short one.
  void add(const std::string& name, std::function<uint64_t(int width)> time_ns) {
    auto program = std::make_unique<Program>();
    program->clock_ns = now_ns_;
    ClientMemory memory = ClientMemory::make().value();
    const ClientMemory::Descriptors fds = memory.take_descriptors();
    program->attached.program = std::make_unique<SimulatedProgram>(
        ClientRegions(fds.plan.get(), fds.client.get()),
        std::vector<SimulatedProgram::Op>{{0x9, "aten::rand", [](int) { return 1000u; }}},
        std::vector<SimulatedProgram::Op>{{kMatmul, "aten::mm", std::move(time_ns)},
                                          {kAdd, "aten::add", [](int) { return 1000u; }}},
        4, &program->clock_ns);
    Hello who = hello(name);
    who.program = name;
    who.pid = static_cast<int>(programs_.size()) + 100;
    program->attached.id = controller_->arrive(who, std::move(memory)).value();
    programs_.push_back(std::move(program));
  }

  // All at once: whoever is behind makes the next step, on a clock of its own.
  void run(
      uint64_t duration_s, const std::function<bool()>& until = [] { return false; }) {
    const uint64_t end = now_ns_ + duration_s * kSecondNs;
    while (now_ns_ < end && !until()) {
      Program& next = furthest_behind();
      next.attached.program->run_step();
      ++next.steps;
      now_ns_ = std::max(now_ns_, next.clock_ns);
      if (now_ns_ >= look_at_) {
        controller_->drain();
        controller_->look_for_waiting();
        look_at_ = now_ns_ + kLookNs;
      }
      if (now_ns_ >= refresh_at_) {
        controller_->refresh_budgets();
        refresh_at_ = now_ns_ + kSecondNs;
      }
    }
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

  static constexpr uint64_t kLookNs = 10000000;
  static constexpr uint64_t kSecondNs = UINT64_C(1000000000);
  std::vector<std::unique_ptr<Program>> programs_;
  std::string said_;
  uint64_t look_at_ = 0;
  uint64_t refresh_at_ = 0;
};

}  // namespace optile::daemon
