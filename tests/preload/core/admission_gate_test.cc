// The gate under a fake executor: threads that run graphs through it.
#include "bindings/preload/core/admission_gate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

extern "C" const optile_admission_api* optile_admission();

namespace optile::preload {
namespace {

constexpr int kCores = 4;

optile_plan_menu menu_of(uint32_t op, uint32_t per_step) {
  optile_plan_menu menu = {};
  menu.op = op;
  menu.per_step = per_step;
  for (uint16_t width = 1; width <= kCores; ++width) {
    menu.width[width - 1] = width;
    // Wider is faster up to a width of its own.
    menu.seconds[width - 1] = 1e-5F * static_cast<float>(op % 5 + 1) /
                              static_cast<float>(std::min<uint32_t>(width, op % kCores + 1));
  }
  return menu;
}

optile_admission_problem problem_of(const std::vector<optile_plan_menu>& menus, uint32_t flow) {
  const uint32_t hardware_threads = flow == OPTILE_FLOW_FILLED ? 2 : 1;
  return {kCores, hardware_threads, flow, static_cast<uint32_t>(menus.size()), menus.data()};
}

// Which nodes wait for which; every place once or more.
struct Graph {
  std::vector<uint32_t> place;          // by node
  std::vector<std::vector<int>> users;  // by node
  std::vector<int> inputs;              // by node: how many
};

Graph random_graph(std::mt19937& random, std::size_t nodes, uint32_t places) {
  Graph graph;
  graph.users.resize(nodes);
  graph.inputs.assign(nodes, 0);
  for (std::size_t i = 0; i < nodes; ++i) {
    // A place more often than its menu says too, as a loop that runs longer than it did.
    graph.place.push_back(static_cast<uint32_t>(random() % places));
    for (std::size_t before = 0; before < i; ++before) {
      if (random() % 4 != 0) continue;
      graph.users[before].push_back(static_cast<int>(i));
      ++graph.inputs[i];
    }
  }
  return graph;
}

// As TensorFlow's: threads take ready nodes from one queue, and hand out what becomes ready.
class FakeExecutor {
 public:
  explicit FakeExecutor(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  }
  ~FakeExecutor() {
    {
      const std::lock_guard<std::mutex> held(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    gate_.close();
  }

  void open(uint32_t flow, const std::vector<optile_plan_menu>& menus) {
    const std::lock_guard<std::mutex> held(gate_mutex_);
    ASSERT_TRUE(gate_.open_for(optile_admission(), problem_of(menus, flow)));
  }
  // One step. `most`: after so many ops it is cancelled: what has not begun never does.
  void run(const Graph& graph, std::size_t most) {
    {
      const std::lock_guard<std::mutex> held(gate_mutex_);
      gate_.begin_step();
    }
    std::unique_lock<std::mutex> held(mutex_);
    graph_ = &graph;
    waits_for_ = graph.inputs;
    left_ = std::min(most, graph.place.size());
    for (std::size_t i = 0; i < graph.place.size(); ++i) {
      if (graph.inputs[i] == 0) ready_.push_back(static_cast<int>(i));
    }
    changed_.notify_all();
    changed_.wait(held, [&] { return left_ == 0; });
    ready_.clear();
    changed_.wait(held, [&] { return inside_ == 0; });
  }

  int in_vain() const { return in_vain_; }
  int most_threads() const { return most_threads_; }

 private:
  void work() {
    std::unique_lock<std::mutex> held(mutex_);
    while (true) {
      changed_.wait(held, [&] { return over_ || !ready_.empty(); });
      if (over_) return;
      const int node = ready_.back();
      ready_.pop_back();
      ++inside_;
      held.unlock();
      compute(graph_->place[static_cast<std::size_t>(node)]);
      held.lock();
      --inside_;
      if (left_ > 0 && --left_ > 0) {
        for (const int user : graph_->users[static_cast<std::size_t>(node)]) {
          if (--waits_for_[static_cast<std::size_t>(user)] == 0) ready_.push_back(user);
        }
      }
      changed_.notify_all();
    }
  }

  void compute(uint32_t place) {
    AdmittedOp op;
    {
      const std::lock_guard<std::mutex> held(gate_mutex_);
      gate_.enter(&op, place, now());
    }
    if (op.waits() && !gate_.wait(&op)) {
      ++in_vain_;
      const std::lock_guard<std::mutex> held(gate_mutex_);
      gate_.release_all();
    }
    const int threads = running_ += static_cast<int>(op.width);
    int most = most_threads_;
    while (threads > most && !most_threads_.compare_exchange_weak(most, threads)) {
    }
    if (op.node % 3 == 0) std::this_thread::yield();
    running_ -= static_cast<int>(op.width);
    const std::lock_guard<std::mutex> held(gate_mutex_);
    gate_.leave(op, now());
  }

  double now() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

  AdmissionGate gate_;
  std::mutex gate_mutex_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const Graph* graph_ = nullptr;
  std::vector<int> ready_, waits_for_;
  std::size_t left_ = 0;
  int inside_ = 0;
  bool over_ = false;
  std::atomic<int> in_vain_{0}, running_{0}, most_threads_{0};
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::vector<std::thread> threads_;
};

constexpr uint32_t kAdmitting[] = {OPTILE_FLOW_FILLED, OPTILE_FLOW_PACKED, OPTILE_FLOW_AHEAD};

#ifdef __SANITIZE_THREAD__
constexpr int kGraphs = 100;  // of each number of threads
#else
constexpr int kGraphs = 625;
#endif

// 10,000 random graphs by executors of 1 to 16 threads, loops that run longer than they did and
// cancelled steps among them: all complete, and nobody ever waits in vain.
TEST(AdmissionGate, CompletesRandomGraphs) {
  constexpr uint32_t kPlaces = 9;
  std::mt19937 random(20261128);
  std::vector<optile_plan_menu> menus;
  for (uint32_t i = 0; i < kPlaces; ++i) menus.push_back(menu_of(i, 2));
  for (int threads = 1; threads <= 16; ++threads) {
    FakeExecutor executor(threads);
    const uint32_t flow = kAdmitting[threads % 3];
    executor.open(flow, menus);
    for (int i = 0; i < kGraphs; ++i) {
      const Graph graph = random_graph(random, 4 + random() % 12, kPlaces);
      executor.run(graph, random() % 8 == 0 ? 1 + random() % 6 : graph.place.size());
    }
    EXPECT_EQ(executor.in_vain(), 0) << threads;
    // Beside those that have all cores strategy 4 has one more.
    EXPECT_LE(executor.most_threads(), flow == OPTILE_FLOW_FILLED ? 2 * kCores : kCores);
  }
}

class Gate : public ::testing::Test {
 protected:
  void SetUp() override {
    menus_ = {menu_of(0, 1), menu_of(3, 1), menu_of(4, 1)};
    ASSERT_TRUE(gate_.open_for(optile_admission(), problem_of(menus_, OPTILE_FLOW_PACKED)));
    gate_.begin_step();
  }
  void TearDown() override { gate_.close(); }

  std::vector<optile_plan_menu> menus_;
  AdmissionGate gate_;
};

// Each flow has a problem of its own, which the others leave as it was.
TEST_F(Gate, SelectsProblemsByFlow) {
  EXPECT_FALSE(gate_.select(OPTILE_FLOW_AHEAD));
  ASSERT_TRUE(gate_.open_for(optile_admission(), problem_of(menus_, OPTILE_FLOW_AHEAD)));
  EXPECT_TRUE(gate_.select(OPTILE_FLOW_PACKED));
  EXPECT_TRUE(gate_.has_problem());
  EXPECT_TRUE(gate_.select(OPTILE_FLOW_AHEAD));
  EXPECT_FALSE(gate_.select(17));
  gate_.close();
  EXPECT_FALSE(gate_.select(OPTILE_FLOW_PACKED));
}

TEST_F(Gate, PassesUnknownPlace) {
  AdmittedOp op;
  gate_.enter(&op, 17, 0);
  EXPECT_EQ(op.state, AdmissionGate::kPassed);
  EXPECT_EQ(op.width, 0u);
}

// The one that runs has all cores.
TEST_F(Gate, AdmitsWaitingOpWhenRunningOneEnds) {
  AdmittedOp wide, other;
  gate_.enter(&wide, 1, 0);
  EXPECT_EQ(wide.width, uint32_t{kCores});
  gate_.enter(&other, 0, 0);
  EXPECT_TRUE(other.waits());
  gate_.leave(wide, 1e-5);
  EXPECT_EQ(other.state, AdmissionGate::kAdmitted);
  EXPECT_EQ(other.width, 1u);
  EXPECT_TRUE(gate_.wait(&other));
}

TEST_F(Gate, ReleasesWhoWaitsWhereNextStepBegins) {
  AdmittedOp wide, other;
  gate_.enter(&wide, 1, 0);
  gate_.enter(&other, 0, 0);
  gate_.begin_step();
  EXPECT_EQ(other.state, AdmissionGate::kPassed);
  // One of the step before says nothing of this one.
  AdmittedOp next;
  gate_.enter(&next, 1, 0);
  gate_.leave(wide, 1e-5);
  AdmittedOp held;
  gate_.enter(&held, 0, 0);
  EXPECT_TRUE(held.waits());
  gate_.release_all();
}

// The op that runs waits for the one at the gate, as two ops of a program may.
TEST_F(Gate, GivesUpWhereRunningOpWaits) {
  AdmittedOp wide, other;
  gate_.enter(&wide, 1, 0);
  gate_.enter(&other, 0, 0);
  ASSERT_TRUE(other.waits());
  EXPECT_FALSE(gate_.wait(&other));
  gate_.release_all();
  EXPECT_FALSE(other.waits());
  // Whatever comes in this step passes.
  AdmittedOp next;
  gate_.enter(&next, 2, 0);
  EXPECT_EQ(next.state, AdmissionGate::kPassed);
}

}  // namespace
}  // namespace optile::preload
