// A controller on four described cores with a store in memory, and simulated programs that attach
// to it; the clock is the test's.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/controller.h"
#include "tests/daemon/simulated_program.h"

namespace optile::daemon {

inline constexpr int kConfinedPid = 77;
inline constexpr uint64_t kMatmul = 0x1111;
inline constexpr uint64_t kAdd = 0x2222;
inline constexpr uint64_t kSoftmax = 0x3333;

inline perfmodel::Machine four_cores() {
  return perfmodel::make_machine_source("pack:1 l2:1 core:4 pu:1")->read().value();
}

// A matmul that scales, an add that gets slower with width, a softmax that does not care.
inline std::vector<SimulatedProgram::Op> training_step() {
  return {{kMatmul, "aten::mm", [](int width) { return uint64_t{4000000} / uint64_t(width); }},
          {kAdd, "aten::add", [](int width) { return uint64_t{500000} * uint64_t(width); }},
          {kSoftmax, "aten::softmax", [](int) { return uint64_t{100000}; }}};
}

class ControllerTest : public testing::Test {
 protected:
  ControllerTest() : store_(Store::open(":memory:")) { make_controller(); }

  // Anew, on what is in store_ now.
  void make_controller() {
    Clocks clocks;
    clocks.monotonic_ns = [this] { return now_ns_; };
    clocks.unix_seconds = [this] {
      return int64_t{1700000000} + static_cast<int64_t>(now_ns_ / 1000000000);
    };
    clocks.counter = clocks.monotonic_ns;
    clocks.counter_hz = []() -> std::optional<uint64_t> { return std::nullopt; };
    const perfmodel::Machine machine = four_cores();
    budget_ = whole_budget(machine);
    Controller::Dependencies dependencies;
    dependencies.machine = machine;
    dependencies.store = store_.get();
    dependencies.clocks = clocks;
    dependencies.read_budget = [this](int pid) {
      budgets_read_.push_back(pid);
      return pid == kConfinedPid ? confined_ : budget_;
    };
    if (leases_) {
      dependencies.confine = [this](uint64_t client, int, const std::vector<int>& units) {
        masks_[client] = units;
      };
    }
    dependencies.is_stopped = [this](int) { return stopped_; };
    dependencies.busy_time = busy_time_;
    dependencies.words = &words_;
    dependencies.processor_demand = demand_;
    controller_ = std::make_unique<Controller>(std::move(dependencies));
  }

  Hello hello(const std::string& run_id) {
    Hello hello;
    hello.run_id = run_id;
    hello.executable = "/usr/bin/python3";
    hello.program = "train.py";
    hello.arguments = "python3 train.py";
    hello.launch_plan = "openmp=keep wait=keep blas=follow";
    return hello;
  }

  struct Attached {
    uint64_t id = 0;
    std::unique_ptr<SimulatedProgram> program;
  };
  Attached attach(const Hello& who, uint32_t width_source = OPTILE_WIDTH_LAUNCHER,
                  std::vector<SimulatedProgram::Op> step = training_step()) {
    ClientMemory memory = ClientMemory::make().value();
    const ClientMemory::Descriptors fds = memory.take_descriptors();
    Attached attached;
    attached.program = std::make_unique<SimulatedProgram>(
        ClientRegions(fds.plan.get(), fds.client.get()),
        std::vector<SimulatedProgram::Op>{{0x9, "aten::rand", [](int) { return 1000u; }}},
        std::move(step), 4, &now_ns_);
    attached.program->regions().client().header.own_width_source = width_source;
    attached.id = controller_->arrive(who, std::move(memory)).value();
    controller_->drain();
    return attached;
  }
  // Steps until the session is tuned; false if it never is.
  bool run_until_tuned(Attached& attached, int most_steps) {
    for (int step = 0; step < most_steps; ++step) {
      attached.program->run_step();
      controller_->drain();
      const std::optional<ClientView> view = controller_->view(attached.id);
      if (view->session && view->session->phase == tuner::Phase::kTuned) return true;
    }
    return false;
  }
  void run(Attached& attached, int steps) {
    for (int step = 0; step < steps; ++step) {
      attached.program->run_step();
      controller_->drain();
    }
  }

  uint64_t now_ns_ = UINT64_C(10000000000);
  bool leases_ = false;                         // for make_controller()
  std::map<uint64_t, std::vector<int>> masks_;  // of clients, as last set
  // Controller::Dependencies::busy_time, for make_controller()
  std::function<std::optional<std::chrono::milliseconds>(int pid)> busy_time_;
  // Controller::Dependencies::processor_demand, for make_controller()
  std::function<std::optional<std::chrono::nanoseconds>(int, const std::vector<int>&)> demand_;
  perfmodel::Budget budget_;
  std::vector<int> budgets_read_;  // of these processes; 0 = the daemon's own
  bool stopped_ = false;           // every program
  perfmodel::Budget confined_;
  std::unique_ptr<Store> store_;
  KeptWords words_{""};
  std::unique_ptr<Controller> controller_;
};

}  // namespace optile::daemon
