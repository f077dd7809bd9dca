// Units of their own for the teams of several issuing threads, by the masks that those then have.
// Every test is a process of its own.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <barrier>
#include <functional>
#include <thread>
#include <vector>

#include "tests/preload/boundary_fixture.h"
#include "tests/preload/thread_mask.h"

namespace optile::preload {
namespace {

using test::FakeDaemon;

constexpr int kRounds = 80;
constexpr int kSettled = 60;  // rounds after which everybody knows its company and has its units

// Every entry stands for a core, so that teams of several have rows on any machine of two.
void order_by_halves(optile_plan_page& page) {
  const Mask all = own_mask();
  const auto first = static_cast<uint16_t>(all.front());
  const auto last = static_cast<uint16_t>(all.back());
  page.cpu_count = kOwn;
  for (uint16_t* const order : {page.compact_order, page.spread_order}) {
    for (int i = 0; i < kOwn; ++i) order[i] = i < kOwn / 2 ? first : last;
  }
}

// Of each thread of a team, and of who opened it once it is over.
struct TeamMasks {
  std::vector<Mask> inside;
  Mask after;
  // All of it runs there.
  bool is_on(const Mask& units) const {
    return std::all_of(inside.begin(), inside.end(), [&](const Mask& one) { return one == units; });
  }
};

TeamMasks open_team() {
  TeamMasks seen;
  seen.inside.resize(static_cast<size_t>(omp_get_max_threads()));
#pragma omp parallel
  seen.inside[static_cast<size_t>(omp_get_thread_num())] = own_mask();
  seen.after = own_mask();
  return seen;
}

// Two threads that are inside an op each at the same moment; what their teams saw in the last
// round. `halfway`: on the first of them, before the round in the middle, outside ops.
struct Pair {
  std::vector<TeamMasks> last = std::vector<TeamMasks>(2);

  bool is_free() const { return last[0].is_on(own_mask()) && last[1].is_on(own_mask()); }
  // One of them on the first unit, the other on the last.
  bool is_divided() const {
    const Mask first = {own_mask().front()};
    const Mask second = {own_mask().back()};
    return (last[0].is_on(first) && last[1].is_on(second)) ||
           (last[0].is_on(second) && last[1].is_on(first));
  }

  void run(const std::function<void()>& halfway = {},
           const std::function<void(int)>& outside = {}) {
    std::barrier<> meet(2);
    const auto issue = [&](size_t mine) {
      omp_set_num_threads(kOwn);
      const optile_op_identity identity = identity_of(kOp);
      for (int round = 0; round < 2 * kRounds; ++round) {
        if (round == kRounds && mine == 0 && halfway) halfway();
        meet.arrive_and_wait();
        optile_open_op open{};
        op_begin(&identity, &open);
        for (int wait = 0; wait < 20; ++wait) meet.arrive_and_wait();
        last[mine] = open_team();
        meet.arrive_and_wait();
        op_end(&open);
        if (outside) outside(round);
      }
    };
    std::thread other(issue, 1);
    issue(0);
    other.join();
  }
};

class IssuerCores : public OpBoundary {
 protected:
  void SetUp() override {
    if (own_mask().size() < 2) GTEST_SKIP() << "one processing unit: nothing to divide";
  }
};

void publish_halves(FakeDaemon& daemon) {
  daemon.publish({}, 0, order_by_halves);
  daemon.share(kOwn);
  daemon.give_own_cores(true);
}

TEST_F(IssuerCores, EachTeamIsOnUnitsOfItsOwnAndItsMasterIsFreeOutside) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    publish_halves(daemon);
    Pair pair;
    pair.run();
    CHECK_OR_EXIT(pair.last[0].inside.size() == kOwn / 2 && pair.is_divided());
    for (const TeamMasks& one : pair.last) CHECK_OR_EXIT(one.after == own_mask());
  });
}

TEST_F(IssuerCores, NobodyHasAnyUnlessTheDaemonSaysSo) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    publish_halves(daemon);
    daemon.give_own_cores(false);
    Pair pair;
    pair.run();
    CHECK_OR_EXIT(pair.is_free());
  });
}

TEST_F(IssuerCores, TheWordIsTakenBackAtOnce) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    publish_halves(daemon);
    Pair pair;
    pair.run([&] {
      CHECK_OR_EXIT(pair.is_divided());
      daemon.give_own_cores(false);
    });
    CHECK_OR_EXIT(pair.is_free());
  });
}

// As in ops that may not be narrowed, or in regions of the program's own.
TEST_F(IssuerCores, ATeamLargerThanItsUnitsIsFree) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    publish_halves(daemon);
    Pair pair;
    pair.run({}, [](int round) {
      if (round >= kSettled) CHECK_OR_EXIT(open_team().is_on(own_mask()));
    });
    CHECK_OR_EXIT(pair.is_divided());
  });
}

TEST_F(IssuerCores, WhoIsAloneAgainIsFree) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    publish_halves(daemon);
    Pair pair;
    pair.run();
    CHECK_OR_EXIT(pair.is_divided());
    omp_set_num_threads(kOwn);
    TeamMasks seen;
    const optile_op_identity identity = identity_of(kOp);
    for (int round = 0; round < kRounds; ++round) {
      optile_open_op open{};
      op_begin(&identity, &open);
      seen = open_team();
      op_end(&open);
    }
    CHECK_OR_EXIT(seen.inside.size() == kOwn && seen.is_on(own_mask()));
  });
}

// The lease came before the plan, or moved on: units that the program may not use are not taken.
TEST_F(IssuerCores, UnitsOutsideTheProgramsMaskAreNotTaken) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    publish_halves(daemon);
    move_this_thread({own_mask().front()});
    Pair pair;
    pair.run();
    CHECK_OR_EXIT(pair.is_free());
    CHECK_OR_EXIT((daemon.client().header.fallbacks & OPTILE_FALLBACK_MASK_REFUSED) == 0);
  });
}

TEST_F(IssuerCores, ANewOrderIsFollowed) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    publish_halves(daemon);
    Pair pair;
    pair.run([&] {
      daemon.publish({}, 0, [](optile_plan_page& page) {
        order_by_halves(page);
        for (int i = 0; i < kOwn; ++i) page.compact_order[i] = page.compact_order[0];
      });
    });
    for (const TeamMasks& one : pair.last) CHECK_OR_EXIT(one.is_on({own_mask().front()}));
  });
}

TEST_F(IssuerCores, AUsersBindingIsLeftAlone) {
  setenv("OMP_PROC_BIND", "false", 1);
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    publish_halves(daemon);
    Pair pair;
    pair.run();
    CHECK_OR_EXIT(pair.is_free());
    CHECK_OR_EXIT((daemon.client().header.fallbacks & OPTILE_FALLBACK_USER_BINDING) != 0);
  });
  unsetenv("OMP_PROC_BIND");
}

}  // namespace
}  // namespace optile::preload
