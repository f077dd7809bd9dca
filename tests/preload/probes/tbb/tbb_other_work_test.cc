// Work that is given to the real oneTBB by other ways than an algorithm, and waiting for it.
#include <gtest/gtest.h>
#include <oneapi/tbb.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "bindings/preload/core/issuing_thread.h"
#include "tests/preload/fixtures/tbb_fixture.h"

namespace optile::preload {
namespace {

TEST_F(Tbb, TaskGroupWorkEndsSteering) {
  in_child([](FakeDaemon& daemon) {
    loop();
    daemon.publish({{key_of_loop(daemon), 2, {}, 0}}, 0, record_all);
    CHECK_OR_EXIT(loop() == 2 && allowed_now() == 2);
    oneapi::tbb::task_group group;
    group.run([] { loop(); });
    group.wait();
    CHECK_OR_EXIT(allowed_now() == kOwn);
    daemon.take_events();
    CHECK_OR_EXIT(loop() == kOwn);
    const std::vector<optile_event> events = daemon.take_events();
    CHECK_OR_EXIT(events.size() == 1 && (events[0].flags & OPTILE_EVENT_STEERABLE) == 0);
  });
}

// Whoever gives a task may wait for it by a word of its own, which no thread but another one sets.
TEST_F(Tbb, SpawnedTaskEndsSteeringBeforeWait) {
  in_child([](FakeDaemon& daemon) {
    loop();
    daemon.publish({{key_of_loop(daemon), 1, {}, 0}}, 0, record_all);
    CHECK_OR_EXIT(loop() == 1 && allowed_now() == 1);
    std::atomic<bool> done{false};
    oneapi::tbb::task_group group;
    group.run([&] { done = true; });
    CHECK_OR_EXIT(allowed_now() == kOwn);
    while (!done) std::this_thread::yield();
    group.wait();
    CHECK_OR_EXIT(loop() == kOwn);
  });
}

TEST_F(Tbb, TaskSpawnedInsideTaskKeepsSteering) {
  in_child([](FakeDaemon& daemon) {
    const auto giving = [] {
      std::atomic<size_t> allowed{0};
      oneapi::tbb::parallel_for(0, kPieces, [&](int) {
        oneapi::tbb::task_group group;
        group.run_and_wait([&] { group.run([&] { allowed = allowed_now(); }); });
      });
      return allowed.load();
    };
    CHECK_OR_EXIT(giving() == kOwn);
    daemon.publish({{latest_key(daemon), 2, {}, 0}}, 0, record_all);
    for (int i = 0; i < 3; ++i) CHECK_OR_EXIT(giving() == 2);
  });
}

__attribute__((noinline)) void wait_for_group() {
  oneapi::tbb::task_group group;
  group.run([] { loop(); });
  group.wait();
}

TEST_F(Tbb, WaitForSpawnedWorkIsOp) {
  in_child([](FakeDaemon& daemon) {
    const uint32_t before = known(daemon);
    for (int i = 0; i < 3; ++i) wait_for_group();
    CHECK_OR_EXIT(known(daemon) == before + 1);
    CHECK_OR_EXIT(std::string(latest(daemon).name) == "oneTBB wait");
    CHECK_OR_EXIT(std::string(latest(daemon).shape).rfind("preload_tbb_test+0x", 0) == 0);
    daemon.publish({{latest_key(daemon), 2, {}, 0}}, 0, record_all);
    daemon.take_events();
    wait_for_group();
    const std::vector<optile_event> events = daemon.take_events();
    CHECK_OR_EXIT(events.size() == 1 && events[0].width == 0);
    CHECK_OR_EXIT((events[0].flags & OPTILE_EVENT_STEERABLE) == 0 && allowed_now() == kOwn);

    oneapi::tbb::flow::graph graph;
    std::atomic<int> done{0};
    oneapi::tbb::flow::function_node<int, int> node(graph, oneapi::tbb::flow::unlimited,
                                                    [&](int number) {
                                                      ++done;
                                                      return number;
                                                    });
    for (int i = 0; i < kPieces; ++i) node.try_put(i);
    graph.wait_for_all();
    CHECK_OR_EXIT(done == kPieces && known(daemon) == before + 2);
    CHECK_OR_EXIT(std::string(latest(daemon).name) == "oneTBB wait");
  });
}

// One place, wherever it is called from.
__attribute__((noinline)) int pieces_through_a_pipeline() {
  int given = 0;
  std::atomic<int> taken{0};
  const auto giving = oneapi::tbb::make_filter<void, int>(oneapi::tbb::filter_mode::serial_in_order,
                                                          [&](oneapi::tbb::flow_control& control) {
                                                            if (given == kPieces) control.stop();
                                                            return given++;
                                                          });
  const auto taking = oneapi::tbb::make_filter<int, void>(oneapi::tbb::filter_mode::parallel,
                                                          [&](int) { ++taken; });
  oneapi::tbb::parallel_pipeline(4, giving & taking);
  return taken;
}

TEST_F(Tbb, PipelineIsOp) {
  in_child([](FakeDaemon& daemon) {
    const uint32_t before = known(daemon);
    for (int round = 0; round < 2; ++round) {
      CHECK_OR_EXIT(pieces_through_a_pipeline() == kPieces);
    }
    CHECK_OR_EXIT(known(daemon) == before + 1);
    CHECK_OR_EXIT(std::string(latest(daemon).name) == "parallel_pipeline");
  });
}

TEST_F(Tbb, WaitLeftByExceptionIsClosed) {
  in_child([](FakeDaemon& daemon) {
    daemon.publish({}, 0, record_all);
    for (int i = 0; i < 3; ++i) {
      oneapi::tbb::task_group group;
      group.run([] { throw 7; });
      bool caught = false;
      try {
        group.wait();
      } catch (int) {
        caught = true;
      }
      CHECK_OR_EXIT(caught);
    }
    CHECK_OR_EXIT(known_issuing_thread()->depth == 0);  // the groups are gone
    daemon.take_events();
    loop();
    CHECK_OR_EXIT(daemon.take_events().size() == 1);
  });
}

// It gives its functions as tasks before it waits: those are of the algorithm.
TEST_F(Tbb, ParallelInvokeIsSteeredAlgorithm) {
  in_child([](FakeDaemon& daemon) {
    const auto invoke = [] {
      std::atomic<size_t> allowed{0};
      std::atomic<int> ran{0};
      const auto work = [&] {
        allowed = allowed_now();
        ++ran;
      };
      oneapi::tbb::parallel_invoke(work, work);
      oneapi::tbb::parallel_invoke(work, work, work, work);
      CHECK_OR_EXIT(ran == 6);
      return allowed.load();
    };
    invoke();
    CHECK_OR_EXIT(std::string(latest(daemon).name) == "parallel_invoke");
    daemon.publish({{key_of_loop(daemon), 3, {}, 0}, {latest_key(daemon), 2, {}, 0}}, 0,
                   record_all);
    CHECK_OR_EXIT(invoke() == 2);
    CHECK_OR_EXIT(loop() == 3 && invoke() == 2);
  });
}

// Whatever comes first of a task that is given and an algorithm that begins: where both are over,
// nothing of ours is in force.
TEST_F(Tbb, TaskSpawnedAsAlgorithmBeginsGetsFullWidth) {
  for (int trial = 0; trial < 40; ++trial) {
    in_child([](FakeDaemon& daemon) {
      daemon.publish({{key_of_loop(daemon), 1, {}, 0}}, 0, record_all);
      std::atomic<bool> go{false};
      std::atomic<bool> given{false};
      std::atomic<bool> looked{false};
      std::thread other([&] {
        oneapi::tbb::task_arena arena(kOwn);
        arena.execute([&] {
          oneapi::tbb::task_group group;
          go = true;
          const int turns = getpid() % 40 * 150;
          for (std::atomic<int> turn{0}; turn < turns;) ++turn;
          group.run([] {});
          given = true;
          while (!looked) std::this_thread::yield();
          group.wait();
        });
      });
      while (!go) std::this_thread::yield();
      loop();
      while (!given) std::this_thread::yield();
      CHECK_OR_EXIT(allowed_now() == kOwn);
      looked = true;
      other.join();
    });
  }
}

}  // namespace
}  // namespace optile::preload
