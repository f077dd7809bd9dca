// Algorithms of the real oneTBB as ops, and how many of its threads work in them.
#include <gtest/gtest.h>
#include <oneapi/tbb.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>

#include "bindings/preload/actuators/width_actuator.h"
#include "bindings/preload/core/op_boundary.h"
#include "tests/preload/fixtures/tbb_fixture.h"

namespace optile::preload {
namespace {

TEST_F(Tbb, AlgorithmIsOpWithNameAndCallSite) {
  in_child([](FakeDaemon& daemon) {
    CHECK_OR_EXIT(known(daemon) == 1);
    CHECK_OR_EXIT(std::string(latest(daemon).name) == "parallel_for");
    CHECK_OR_EXIT(std::string(latest(daemon).shape).rfind("preload_tbb_test+0x", 0) == 0);
    CHECK_OR_EXIT(latest(daemon).probe == OPTILE_PROBE_TBB && latest(daemon).flags == 0);
    other_loop();
    CHECK_OR_EXIT(known(daemon) == 2);
    const int sum = oneapi::tbb::parallel_reduce(
        oneapi::tbb::blocked_range<int>(0, kPieces), 0,
        [](const oneapi::tbb::blocked_range<int>& range, int part) {
          return part + range.end() - range.begin();
        },
        [](int left, int right) { return left + right; });
    CHECK_OR_EXIT(sum == kPieces && std::string(latest(daemon).name) == "parallel_reduce");
    CHECK_OR_EXIT(known(daemon) == 3);
  });
}

TEST_F(Tbb, AlgorithmsInsideTasksBelongToOuterOp) {
  in_child([](FakeDaemon& daemon) {
    const uint32_t before = known(daemon);
    oneapi::tbb::parallel_for(0, kPieces, [](int) { loop(); });
    CHECK_OR_EXIT(known(daemon) == before + 1);
    CHECK_OR_EXIT(issuing_threads_so_far() == 1);
    oneapi::tbb::parallel_for(0, kPieces, [](int) {
      oneapi::tbb::task_group group;
      group.run([] { loop(); });
      group.wait();
    });
    CHECK_OR_EXIT(known(daemon) == before + 2);
    CHECK_OR_EXIT(issuing_threads_so_far() == 1);
  });
}

TEST_F(Tbb, OpLeftByExceptionIsClosed) {
  in_child([](FakeDaemon& daemon) {
    loop();
    daemon.publish({}, 0, [](optile_plan_page& page) {
      page.flags = OPTILE_PAGE_RECORD_ALL;
      page.default_width_cap = 2;
    });
    for (int i = 0; i < 3; ++i) {
      bool caught = false;
      try {
        oneapi::tbb::parallel_for(0, kPieces, [](int piece) {
          if (piece == 7) throw piece;
        });
      } catch (int) {
        caught = true;
      }
      CHECK_OR_EXIT(caught && known_issuing_thread()->depth == 0);
    }
    daemon.take_events();
    CHECK_OR_EXIT(loop() == 2);
    CHECK_OR_EXIT(daemon.take_events().size() == 1);
  });
}

TEST_F(Tbb, ExceptionInProgramsContextClosesOp) {
  in_child([](FakeDaemon& daemon) {
    loop();
    daemon.publish({}, 0, [](optile_plan_page& page) { page.default_width_cap = 2; });
    oneapi::tbb::task_group_context group;
    const auto thrower = [&](int piece) {
      if (piece == 7) throw piece;
    };
    for (int i = 0; i < 2; ++i) {
      group.reset();
      try {
        oneapi::tbb::parallel_for(0, kPieces, thrower, group);
        CHECK_OR_EXIT(false);
      } catch (int) {
      }
    }
    // The group stays, so what was left is closed here, by whichever frame.
    CHECK_OR_EXIT(loop() == 2 && known_issuing_thread()->depth == 0);
  });
}

TEST_F(Tbb, OpsInsideTasksReplaceAlgorithmOps) {
  in_child([](FakeDaemon& daemon) {
    const optile_op_identity identity = {0x77, 0, OPTILE_PROBE_BLAS,
                                         [](const void*, char* name, char* shape) {
                                           std::strcpy(name, "x");
                                           shape[0] = '\0';
                                         },
                                         nullptr};
    std::atomic<bool> by_a_worker{false};
    const std::thread::id caller = std::this_thread::get_id();
    oneapi::tbb::parallel_for(
        0, kPieces,
        [&](int) {
          // The issuing thread leaves pieces to the others until one was theirs.
          if (std::this_thread::get_id() == caller) {
            while (!by_a_worker) std::this_thread::yield();
            return;
          }
          optile_open_op open{};
          op_begin(&identity, &open);
          op_end(&open);
          by_a_worker = true;
        },
        oneapi::tbb::simple_partitioner());
    CHECK_OR_EXIT(issuing_threads_so_far() > 1);
    const uint32_t before = known(daemon);
    daemon.publish({}, 0, record_all);
    daemon.take_events();
    other_loop();
    loop();
    CHECK_OR_EXIT(known(daemon) == before && daemon.take_events().empty());
  });
}

TEST_F(Tbb, WidthLimitsAllowedParallelism) {
  in_child([](FakeDaemon& daemon) {
    CHECK_OR_EXIT(loop() == kOwn);
    daemon.publish({{key_of_loop(daemon), 2, {}, 0}}, 0, record_all);
    daemon.take_events();
    CHECK_OR_EXIT(loop() == 2 && allowed_now() == 2);  // until another op wants something else
    const std::vector<optile_event> events = daemon.take_events();
    CHECK_OR_EXIT(events.size() == 1 && events[0].width == 2);
    CHECK_OR_EXIT((events[0].flags & OPTILE_EVENT_STEERABLE) != 0);
    CHECK_OR_EXIT(daemon.client().header.default_width == kOwn);
    daemon.publish({{key_of_loop(daemon), 1, {}, 0}});
    CHECK_OR_EXIT(loop() == 1);
    CHECK_OR_EXIT(other_loop() == kOwn && allowed_now() == kOwn);
    CHECK_OR_EXIT(loop() == 1);
    daemon.publish({{key_of_loop(daemon), 8, {}, 0}});
    CHECK_OR_EXIT(loop() == kOwn && allowed_now() == kOwn);
  });
}

void check_observed(FakeDaemon& daemon) {
  loop();
  daemon.publish({{daemon.client().ops[0].key, 2, {}, 0}}, 0, record_all);
  daemon.take_events();
  CHECK_OR_EXIT(loop() == kOwn);
  const std::vector<optile_event> events = daemon.take_events();
  CHECK_OR_EXIT(events.size() == 1 && events[0].width == 0);
  CHECK_OR_EXIT((events[0].flags & OPTILE_EVENT_STEERABLE) == 0);
}

TEST_F(Tbb, OnlyObservesUnlessTuningIsRequested) {
  in_child(check_observed, nullptr);
  in_child(check_observed, "tune:libothers.so");
  in_child(
      [](FakeDaemon& daemon) {
        daemon.publish({{key_of_loop(daemon), 2, {}, 0}});
        CHECK_OR_EXIT(loop() == 2);
      },
      "tune:libothers.so,preload_tbb_test");
}

TEST_F(Tbb, ProgramReadsItsOwnLimit) {
  in_child([](FakeDaemon& daemon) {
    daemon.publish({{key_of_loop(daemon), 2, {}, 0}});
    CHECK_OR_EXIT(loop() == 2 && allowed_now() == 2 && read_by_program() == kOwn);
    const Control three(Control::max_allowed_parallelism, 3);
    CHECK_OR_EXIT(loop() == 2);
    const Control one(Control::max_allowed_parallelism, 1);
    CHECK_OR_EXIT(read_by_program() == 1 && loop() == 1);
  });
}

TEST_F(Tbb, WorkingThreadsNeverExceedWidth) {
  in_child([](FakeDaemon& daemon) {
    const auto threads = [] {
      oneapi::tbb::enumerable_thread_specific<int> seen;
      oneapi::tbb::parallel_for(
          0, 1000,
          [&](int) {
            seen.local()++;
            for (std::atomic<int> i{0}; i < 2000;) ++i;
          },
          oneapi::tbb::simple_partitioner());
      return seen.size();
    };
    threads();
    const uint64_t key = latest(daemon).key;
    daemon.publish({{key, 1, {}, 0}});
    for (int i = 0; i < 5; ++i) CHECK_OR_EXIT(threads() == 1);
    daemon.publish({{key, 2, {}, 0}});
    for (int i = 0; i < 5; ++i) CHECK_OR_EXIT(threads() <= 2);
  });
}

TEST_F(Tbb, ProgramsGlobalControlCapsWidth) {
  in_child([](FakeDaemon& daemon) {
    loop();
    daemon.publish({{key_of_loop(daemon), 3, {}, 0}});
    CHECK_OR_EXIT(loop() == 3);
    {
      const Control two(Control::max_allowed_parallelism, 2);
      CHECK_OR_EXIT(loop() == 2 && allowed_now() == 2);
      CHECK_OR_EXIT(daemon.client().header.default_width == 2);
      CHECK_OR_EXIT(loop() == 2);
    }
    CHECK_OR_EXIT(loop() == 3 && loop() == 3);
    CHECK_OR_EXIT(daemon.client().header.default_width == kOwn);
  });
}

TEST_F(Tbb, OnlyObservesWithTwoIssuers) {
  in_child([](FakeDaemon& daemon) {
    daemon.publish({{key_of_loop(daemon), 2, {}, 0}}, 0, record_all);
    CHECK_OR_EXIT(loop() == 2 && allowed_now() == 2);
    std::thread([] {
      CHECK_OR_EXIT(allowed_now() == 2);
      loop();
      CHECK_OR_EXIT(allowed_now() == kOwn);
    }).join();
    daemon.take_events();
    CHECK_OR_EXIT(loop() == kOwn);
    const std::vector<optile_event> events = daemon.take_events();
    CHECK_OR_EXIT(events.size() == 1 && (events[0].flags & OPTILE_EVENT_STEERABLE) == 0);
  });
}

void cap_at_two(optile_plan_page& page) {
  page.flags = OPTILE_PAGE_RECORD_ALL;
  page.default_width_cap = 2;
}

TEST_F(Tbb, LeaseCapsWidthAndRestoresIt) {
  in_child([](FakeDaemon& daemon) {
    CHECK_OR_EXIT(loop() == kOwn);
    daemon.publish({{key_of_loop(daemon), 3, {}, 0}}, 0, cap_at_two);
    CHECK_OR_EXIT(loop() == 2 && read_by_program() == kOwn);
    CHECK_OR_EXIT(daemon.client().header.default_width == kOwn);
    daemon.publish({{key_of_loop(daemon), 3, {}, 0}});
    CHECK_OR_EXIT(loop() == 3);
    daemon.publish({});
    CHECK_OR_EXIT(loop() == kOwn && allowed_now() == kOwn);
  });
}

TEST_F(Tbb, LeaseIsIgnoredUnlessTuningIsRequested) {
  in_child(
      [](FakeDaemon& daemon) {
        loop();
        daemon.publish({}, 0, cap_at_two);
        CHECK_OR_EXIT(loop() == kOwn && allowed_now() == kOwn);
      },
      nullptr);
}

TEST_F(Tbb, LeaseCapsTwoIssuersTogether) {
  in_child([](FakeDaemon& daemon) {
    // A thread's first execution is at the program's default width.
    const auto loop_elsewhere = [](size_t allowed) {
      std::thread([=] {
        // Its own would have as many places as there are cores.
        oneapi::tbb::task_arena arena(kOwn);
        arena.execute([=] {
          loop();
          CHECK_OR_EXIT(loop() == allowed);
        });
      }).join();
    };
    loop();
    loop_elsewhere(kOwn);
    CHECK_OR_EXIT(issuing_threads_so_far() > 1);
    daemon.publish({{key_of_loop(daemon), 1, {}, 0}}, 0, cap_at_two);
    daemon.take_events();
    CHECK_OR_EXIT(loop() == 2 && allowed_now() == 2 && read_by_program() == kOwn);
    const std::vector<optile_event> events = daemon.take_events();
    CHECK_OR_EXIT(events.size() == 1 && events[0].width == 2);
    CHECK_OR_EXIT((events[0].flags & (OPTILE_EVENT_STEERABLE | OPTILE_EVENT_DEFAULT_WIDTH)) == 0);
    loop_elsewhere(2);
    CHECK_OR_EXIT(allowed_now() == 2);
    daemon.publish({{key_of_loop(daemon), 1, {}, 0}});
    CHECK_OR_EXIT(loop() == kOwn && allowed_now() == kOwn);
  });
}

// What the daemon sees while a piece of a loop runs: at which width it has to return.
uint64_t shown_width(const FakeDaemon& daemon) {
  std::atomic<uint64_t> width{0};
  oneapi::tbb::parallel_for(0, kPieces, [&](int) {
    const optile_open_region& open = daemon.client().threads[0].open;
    width = open.key == latest_key(daemon) ? open.width : 0;
  });
  CHECK_OR_EXIT(daemon.client().threads[0].open.key == 0);
  return width;
}

// fault: F46
TEST_F(Tbb, ReportsNarrowedOpWhileItRuns) {
  in_child([](FakeDaemon& daemon) {
    CHECK_OR_EXIT(shown_width(daemon) == 0);
    const uint64_t key = latest_key(daemon);
    daemon.publish({{key, 3, {}, 0}});
    CHECK_OR_EXIT(shown_width(daemon) == 3);
    daemon.publish({}, 0, cap_at_two);
    CHECK_OR_EXIT(shown_width(daemon) == 2);
    // Given up: neither the plan nor a lease changes it.
    daemon.publish({{key, 3, {}, OPTILE_ENTRY_LEAVE}}, 0, cap_at_two);
    CHECK_OR_EXIT(shown_width(daemon) == 0 && allowed_now() == kOwn);
  });
}

TEST_F(Tbb, ExceptionClearsReportedOpenOp) {
  in_child([](FakeDaemon& daemon) {
    const auto throw_in_loop = [] {
      try {
        oneapi::tbb::parallel_for(0, kPieces, [](int piece) {
          if (piece == 7) throw piece;
        });
      } catch (int) {
      }
    };
    throw_in_loop();
    daemon.publish({}, 0, cap_at_two);
    throw_in_loop();
    CHECK_OR_EXIT(allowed_now() == 2 && daemon.client().threads[0].open.key == 0);
  });
}

TEST_F(Tbb, ArenaSizeDistinguishesOps) {
  in_child([](FakeDaemon& daemon) {
    const uint32_t before = known(daemon);
    for (const int size : {3, 5, 3, 5}) {
      oneapi::tbb::task_arena arena(size);
      arena.execute([] { loop(); });
    }
    loop();
    CHECK_OR_EXIT(known(daemon) == before + 2);
    const std::string shape = latest(daemon).shape;
    const std::string end = ", arena of 5";
    if (oneapi::tbb::info::default_concurrency() == 5) return;
    CHECK_OR_EXIT(shape.size() > end.size() && shape.substr(shape.size() - end.size()) == end);
  });
}

TEST_F(Tbb, SteeringOpenMpRestoresTbbLimit) {
  in_child([](FakeDaemon& daemon) {
    daemon.publish({{key_of_loop(daemon), 2, {}, 0}});
    CHECK_OR_EXIT(loop() == 2 && allowed_now() == 2);
    choose_steered_runtime(reinterpret_cast<const void*>(&loop));
    CHECK_OR_EXIT(allowed_now() == kOwn && loop() == kOwn);
  });
}

}  // namespace
}  // namespace optile::preload
