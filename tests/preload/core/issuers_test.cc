// Several issuing threads in one process: what each op boundary makes of it. Every test is a
// process of its own; widths are counted, nothing is timed.
#include <gtest/gtest.h>
#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

#include "bindings/preload/core/issuing_thread.h"
#include "tests/preload/fixtures/boundary_fixture.h"

namespace optile::preload {
namespace {

using test::FakeDaemon;
constexpr int kRounds = 64;
constexpr int kArrivals = 20;
constexpr int kSettled = 40;  // rounds after which everybody knows its co-runners
using Issuers = OpBoundary;

// An op with a region inside, at the width that the thread has then. Returns the team's size.
int team_inside() {
  int threads = 0;
#pragma omp parallel
  {
#pragma omp single
    threads = omp_get_num_threads();
  }
  return threads;
}

struct OpenedOp {
  explicit OpenedOp(uint64_t key) : identity(identity_of(key)) { op_begin(&identity, &open); }
  ~OpenedOp() { op_end(&open); }
  OpenedOp(const OpenedOp&) = delete;
  OpenedOp& operator=(const OpenedOp&) = delete;
  optile_op_identity identity;
  optile_open_op open{};
};

// Widths of `threads` threads that are inside one op each at the same moment, round by round.
std::vector<std::vector<int>> together(int threads, uint64_t key = kOp) {
  std::vector<std::vector<int>> widths(kRounds, std::vector<int>(static_cast<size_t>(threads)));
  std::barrier<> meet(threads);
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      omp_set_num_threads(kOwn);
      for (auto& round : widths) {
        meet.arrive_and_wait();
        {
          const OpenedOp op(key);
          round[static_cast<size_t>(i)] = omp_get_max_threads();
          // Far longer together than it takes until all are there.
          for (int arrival = 0; arrival < kArrivals; ++arrival) meet.arrive_and_wait();
        }
        CHECK_OR_EXIT(omp_get_max_threads() == kOwn);
      }
    });
  }
  for (std::thread& one : running) one.join();
  return widths;
}

int sum_of(const std::vector<int>& widths) {
  int sum = 0;
  for (const int width : widths) sum += width;
  return sum;
}

template <int kThreads>
void share_the_cores(FakeDaemon& daemon) {
  daemon.publish({});
  daemon.share(kOwn);
  const auto widths = together(kThreads);
  for (size_t round = kSettled; round < kRounds; ++round) {
    CHECK_OR_EXIT(sum_of(widths[round]) == kOwn);
    CHECK_OR_EXIT(*std::min_element(widths[round].begin(), widths[round].end()) >= 1);
  }
  CHECK_OR_EXIT(daemon.client().header.most_in_ops == kThreads);
  CHECK_OR_EXIT(daemon.client().header.narrowed_ops >= kRounds - kSettled);
}

// fault: F27
TEST_F(Issuers, SimultaneousOpsShareCores) {
  for (const auto share : {share_the_cores<2>, share_the_cores<3>, share_the_cores<4>}) {
    static void (*body)(FakeDaemon&) = nullptr;
    body = share;
    in_child([](FakeDaemon& daemon) {
      attach(daemon);
      body(daemon);
    });
  }
}

TEST_F(Issuers, MoreThreadsThanCoresHaveOneEach) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    daemon.publish({});
    daemon.share(kOwn);
    const auto widths = together(12);  // more than there are rings, too
    for (int round = kSettled; round < kRounds; ++round) {
      CHECK_OR_EXIT(sum_of(widths[static_cast<size_t>(round)]) == 12);
    }
    CHECK_OR_EXIT((daemon.client().header.fallbacks & OPTILE_FALLBACK_THREADS_FULL) != 0);
    CHECK_OR_EXIT(daemon.client().header.unseen_ops > 0);
    CHECK_OR_EXIT(daemon.client().header.issuing_threads == 13);
  });
}

TEST_F(Issuers, SimultaneousOpsShareLeasedCores) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    daemon.publish({}, 0, [](optile_plan_page& page) { page.default_width_cap = 2; });
    daemon.share(2);
    for (int round = kSettled; const auto& now : together(2)) {
      if (--round < 0) CHECK_OR_EXIT(sum_of(now) == 2);
    }
  });
}

// fault: F27
TEST_F(Issuers, AlternatingThreadsKeepTheirWidths) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    daemon.publish({});
    daemon.share(kOwn);
    std::barrier<> turn(2);
    const auto take_turns = [&](int mine) {
      omp_set_num_threads(kOwn);
      for (int i = 0; i < kRounds; ++i) {
        if (i % 2 == mine) CHECK_OR_EXIT(run_op(kOp) == kOwn);
        turn.arrive_and_wait();
      }
    };
    std::thread other(take_turns, 1);
    take_turns(0);
    other.join();
    CHECK_OR_EXIT(daemon.client().header.narrowed_ops == 0);
    for (const optile_event& event : daemon.take_events()) {
      CHECK_OR_EXIT((event.flags & OPTILE_EVENT_OVERLAPPED) == 0);
    }
  });
}

// Where widths may not be changed, or have to be the same in every run.
TEST_F(Issuers, SharesCoresOnlyInTuneMode) {
  for (const char* mode : {"observe", "advise", "freeze"}) {
    setenv("OPTILE_MODE", mode, 1);
    in_child([](FakeDaemon& daemon) {
      attach(daemon);
      daemon.publish({});
      daemon.share(kOwn);
      for (const auto& now : together(2)) CHECK_OR_EXIT(sum_of(now) == 2 * kOwn);
      CHECK_OR_EXIT(daemon.client().header.narrowed_ops == 0);
    });
  }
  unsetenv("OPTILE_MODE");
}

TEST_F(Issuers, SharesCoresOnlyOnDaemonRequest) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    daemon.publish({});
    for (const auto& now : together(2)) CHECK_OR_EXIT(sum_of(now) == 2 * kOwn);
  });
}

TEST_F(Issuers, FirstExecutionsAndLeaveEntriesAreNotNarrowed) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    daemon.publish({{kMarker, 0, {}, OPTILE_ENTRY_LEAVE}});
    daemon.share(kOwn);
    CHECK_OR_EXIT(sum_of(together(2).front()) == 2 * kOwn);
    for (const auto& now : together(2, kMarker)) CHECK_OR_EXIT(sum_of(now) == 2 * kOwn);
  });
}

TEST_F(Issuers, PlanWidthBoundsSharedWidth) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    daemon.publish({{kOp, 1, {}, 0}});
    daemon.share(kOwn);
    CHECK_OR_EXIT(sum_of(together(2).back()) == 2);
  });
}

// The user's and the program's words are never exceeded, and words inside an op stay.
TEST_F(Issuers, NeverExceedsWidthSetByProgram) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    daemon.publish({});
    daemon.share(64);
    for (const auto& now : together(2)) CHECK_OR_EXIT(sum_of(now) == 2 * kOwn);
    OpenedOp op(kOp);
    omp_set_num_threads(3);
    op_end(&op.open);
    CHECK_OR_EXIT(omp_get_max_threads() == 3);
  });
}

// It ends inside an op, without unwinding anything.
void* end_inside_an_op(void* /*argument*/) {
  static optile_op_identity identity = identity_of(kOp);
  static optile_open_op open{};
  op_begin(&identity, &open);
  pthread_exit(nullptr);
}

// fault: F27
TEST_F(Issuers, ThreadEndingInsideOpReturnsItsCores) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    daemon.publish({});
    daemon.share(kOwn);
    run_op(kOp);
    for (int i = 0; i < 64; ++i) {  // more of them than there are slots
      pthread_t thread{};
      CHECK_OR_EXIT(pthread_create(&thread, nullptr, end_inside_an_op, nullptr) == 0);
      CHECK_OR_EXIT(pthread_join(thread, nullptr) == 0);
      CHECK_OR_EXIT(run_op(kOp) == kOwn);
    }
    CHECK_OR_EXIT(daemon.client().header.narrowed_ops == 0);
  });
}

TEST_F(Issuers, ForkInsideOpKeepsParentsCount) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    daemon.publish({});
    daemon.share(kOwn);
    together(2);
    {
      const OpenedOp op(kOp);
      const pid_t child = fork();
      if (child == 0) std::_Exit(0);
      waitpid(child, nullptr, 0);
    }
    for (int i = 0; i < kRounds; ++i) run_op(kOp);
    CHECK_OR_EXIT(run_op(kOp) == kOwn);
  });
}

TEST_F(Issuers, EventsFlagSimultaneousOps) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    daemon.publish({});
    daemon.share(kOwn);
    daemon.take_events();
    together(2);
    for (const optile_event& event : daemon.take_events()) {
      if (event.kind != OPTILE_EVENT_OP) continue;
      CHECK_OR_EXIT((event.flags & OPTILE_EVENT_OVERLAPPED) != 0);
    }
    run_op(kOp);
    CHECK_OR_EXIT((daemon.take_events().back().flags & OPTILE_EVENT_OVERLAPPED) == 0);
  });
}

TEST_F(Issuers, FollowsStepsOfMainIssuerOnly) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    run_op(kMarker);
    daemon.publish({{kOp, 3, {2, 2}, 0}}, kMarker);
    std::thread([] {
      omp_set_num_threads(kOwn);
      for (int i = 0; i < 4; ++i) {
        run_op(kMarker);
        run_op(kOp);
      }
    }).join();
    CHECK_OR_EXIT(daemon.client().header.steps == 4);  // nobody is followed yet
    daemon.publish({{kOp, 3, {2, 2}, 0}}, kMarker);
    daemon.share(0, 1);
    std::thread([] {
      omp_set_num_threads(kOwn);
      for (int i = 0; i < 4; ++i) {
        run_op(kMarker);
        CHECK_OR_EXIT(run_op(kOp) == (i == 0 ? kOwn : 3));  // in no column
      }
    }).join();
    CHECK_OR_EXIT(daemon.client().header.steps == 4);
    run_op(kOp);
    run_op(kMarker);
    CHECK_OR_EXIT(run_op(kOp) == 2);
    CHECK_OR_EXIT(daemon.client().header.steps == 5);
  });
}

// By counts of real teams: what runs at the same moment fits the cores.
TEST_F(Issuers, TeamsOfSeveralMastersAddUpToCores) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    daemon.publish({});
    daemon.share(kOwn);
    std::barrier<> meet(2);
    std::atomic<int> teams{0};
    std::atomic<int> wrong{0};
    const auto issue = [&] {
      omp_set_num_threads(kOwn);
      for (int round = 0; round < kRounds; ++round) {
        meet.arrive_and_wait();
        const OpenedOp op(kOp);
        for (int arrival = 0; arrival < kArrivals; ++arrival) meet.arrive_and_wait();
        teams += team_inside();
        meet.arrive_and_wait();
        if (round >= kSettled && teams != kOwn) ++wrong;
        meet.arrive_and_wait();
        teams = 0;
      }
    };
    std::thread other(issue);
    issue();
    other.join();
    CHECK_OR_EXIT(wrong == 0);
  });
}

}  // namespace
}  // namespace optile::preload
