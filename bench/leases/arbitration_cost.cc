// What leases cost the daemon on a large machine: processor time for each second that passes, with
// as many clients and ops as asked, by the classes that the daemon uses. Nothing is confined.
//
// arbitration_cost [CLIENTS [OPS [SECONDS [MACHINE]]]]: a table. Gates nothing.
//
// Four situations: `settled`, where measured steps vary by 3 % and nobody comes or goes;
// `profiling`, where every client has new samples every second, so that its curve is summed anew;
// `changing`, where beside that a client leaves and another comes every second, and ten wait and
// wake; `looking`, where nobody begins an op, so that the processor time of real processes with six
// threads each is read at every look. How the widths of a client's ops are estimated is its
// session's and not in it.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "daemon/client/configuration_space.h"
#include "daemon/leases/idle_detector.h"
#include "daemon/leases/leases.h"
#include "daemon/process/process_clock.h"
#include "tuner/plan/step_curve.h"

namespace {

using namespace optile;  // NOLINT(google-build-using-namespace)
using std::chrono::milliseconds;

constexpr int kWaiting = 10;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Program {
  uint64_t id = 0;
  std::vector<tuner::CurveOp> ops;
  std::vector<double> curve;
};

class Scene {
 public:
  Scene(const perfmodel::Machine& machine, int ops)
      : machine_(machine),
        ops_(ops),
        leases_(machine, daemon::whole_budget(machine), clients_,
                {[](uint64_t, int, const std::vector<int>&) {}}) {}

  void arrive() {
    Program program;
    program.id = ++last_id_;
    for (int i = 0; i < ops_; ++i) program.ops.push_back(some_op());
    program.curve = tuner::ops_seconds_by_cores(program.ops, cores());
    leases_.arrive(program.id, static_cast<int>(program.id), cores());
    programs_.push_back(std::move(program));
    decide();
  }

  void leave_and_arrive() {
    const std::size_t who = random_() % programs_.size();
    leases_.leave(programs_[who].id);
    programs_.erase(programs_.begin() + static_cast<std::ptrdiff_t>(who));
    arrive();
  }

  void wait_and_wake() {
    for (int i = 0; i < kWaiting; ++i) {
      const uint64_t id = programs_[random_() % programs_.size()].id;
      leases_.set_activity(id, sched::Activity::kWaits);
      decide();
      leases_.set_activity(id, sched::Activity::kWorks);
      decide();
    }
  }

  void second(bool profiling) {
    now_ += milliseconds(1000);
    leases_.set_budget(daemon::whole_budget(machine_), now_);
    for (Program& program : programs_) {
      if (profiling) program.curve = tuner::ops_seconds_by_cores(program.ops, cores());
      const std::size_t held =
          std::max<std::size_t>(1, leases_.table().view(program.id)->granted.cores.size());
      const double measured =
          program.curve[std::min(held, program.curve.size()) - 1] * around(1, 0.03);
      leases_.update(program.id,
                     {.demand = daemon::ClientFacts::Demand{program.curve, measured, true}});
    }
    decide();
  }

  uint64_t moved() const { return moved_; }

 private:
  int cores() const { return static_cast<int>(machine_.cores.size()); }
  double around(double middle, double by) {
    return middle * std::uniform_real_distribution<double>(1 - by, 1 + by)(random_);
  }
  // Amdahl's law with a cost for each core, known at seven widths.
  tuner::CurveOp some_op() {
    const double serial = std::uniform_real_distribution<double>(0, 0.3)(random_);
    const double dear = std::uniform_real_distribution<double>(0, 0.002)(random_);
    const double whole = std::uniform_real_distribution<double>(1e-4, 1e-2)(random_);
    tuner::CurveOp op;
    op.per_step = 1 + static_cast<int>(random_() % 4);
    for (int width = 1; width <= cores(); width = width * 2 + 1) {
      const double seconds = whole * (serial + (1 - serial) / width + dear * width);
      op.known.push_back({width, seconds * 1e9, 0});
    }
    return op;
  }
  void decide() {
    for (const daemon::GrantedLease& one : leases_.decide(now_)) {
      moved_ += static_cast<uint64_t>(one.cores);
    }
  }

  const perfmodel::Machine& machine_;
  int ops_;
  daemon::ManagedClients clients_;
  daemon::Leases leases_;
  std::vector<Program> programs_;
  std::mt19937_64 random_{1};
  uint64_t last_id_ = 0;
  uint64_t moved_ = 0;
  milliseconds now_{1000};
};

void measure(const char* name, Scene& scene, int seconds, bool profiling, bool changing) {
  const uint64_t moved = scene.moved();
  const double begin = cpu_seconds();
  for (int i = 0; i < seconds; ++i) {
    if (changing) {
      scene.leave_and_arrive();
      scene.wait_and_wake();
    }
    scene.second(profiling);
  }
  const double share = (cpu_seconds() - begin) / seconds;
  std::printf("%-10s %8.3f %% of a core, %6.0f cores granted anew a second\n", name, 100 * share,
              static_cast<double>(scene.moved() - moved) / seconds);
}

// Processes that do nothing, with threads.
class Idlers {
 public:
  static constexpr int kThreads = 6;

  explicit Idlers(int count) {
    for (int i = 0; i < count; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        std::vector<std::thread> threads;
        for (int other = 1; other < kThreads; ++other) threads.emplace_back(pause);
        pause();
      }
      if (child > 0) pids_.push_back(child);
    }
  }
  ~Idlers() {
    for (const pid_t pid : pids_) kill(pid, SIGKILL);
    for (const pid_t pid : pids_) waitpid(pid, nullptr, 0);
  }
  const std::vector<pid_t>& pids() const { return pids_; }

 private:
  std::vector<pid_t> pids_;
};

// All but one are in a long op, and that one waits, so that the looks are those of its wait.
void measure_looks(int clients, int seconds) {
  const Idlers idlers(clients);
  std::vector<daemon::IdleDetector> watches(idlers.pids().size());
  int asked = 0;
  const double begin = cpu_seconds();
  const milliseconds end = seconds * milliseconds(1000);
  for (milliseconds now(0); now < end; now += daemon::IdleDetector::kEveryWaiting) {
    for (std::size_t i = 0; i < watches.size(); ++i) {
      watches[i].look(now, 1, [&]() -> std::optional<milliseconds> {
        ++asked;
        const auto used = daemon::process_cpu_time(idlers.pids()[i]);
        if (!used || i == 0) return used;
        return *used + now;
      });
    }
  }
  std::printf("%-10s %8.3f %% of a core, %6.0f processes asked a second\n", "looking",
              100 * (cpu_seconds() - begin) / seconds, static_cast<double>(asked) / seconds);
}

int argument(int count, char** words, int at, int otherwise) {
  const int given = at < count ? std::atoi(words[at]) : otherwise;
  return given > 0 ? given : otherwise;
}

}  // namespace

int main(int count, char** words) {
  const int clients = argument(count, words, 1, 64);
  const int ops = argument(count, words, 2, 500);
  const int seconds = argument(count, words, 3, 30);
  const std::string description = count > 4 ? words[4] : "pack:2 numa:1 l3:24 core:8 pu:2";
  const auto machine = perfmodel::make_machine_source(description)->read();
  if (!machine.ok()) {
    std::fprintf(stderr, "%s\n", machine.message().c_str());
    return 2;
  }
  Scene scene(machine.value(), ops);
  for (int i = 0; i < clients; ++i) scene.arrive();
  std::printf("%d clients of %d ops on %zu cores, %d s each\n", clients, ops,
              machine.value().cores.size(), seconds);
  measure("settled", scene, seconds, false, false);
  measure("profiling", scene, seconds, true, false);
  measure("changing", scene, seconds, true, true);
  measure_looks(clients, seconds);
  return 0;
}
