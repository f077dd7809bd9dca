// Whether threads of one program are to have cores of their own, by what they get done.
#include "daemon/issuer_trials.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;

// A program that begins so many ops a second, by the time and by whether its threads have cores of
// their own.
struct Program {
  using Pace = std::function<double(milliseconds, bool)>;

  // Until it is settled or that long has passed; looks every tenth of a second.
  void run(milliseconds length, const Pace& pace, int cores = 8, bool in_company = true) {
    const milliseconds end = now + length;
    for (; now < end; now += milliseconds(100)) {
      own = trials.look({now, static_cast<uint64_t>(done), in_company, cores});
      windows_with += own ? 1 : 0;
      done += pace(now, own) / 10;
    }
  }

  IssuerTrials trials;
  milliseconds now{0};
  double done = 1000;
  bool own = false;
  int windows_with = 0;
};

double gains(milliseconds /*now*/, bool own) {
  return own ? 1100 : 1000;
}
double loses(milliseconds /*now*/, bool own) {
  return own ? 900 : 1000;
}

TEST(IssuerTrials, WhatGainsIsKept) {
  Program program;
  program.run(milliseconds(20000), gains);
  ASSERT_TRUE(program.trials.verdict());
  EXPECT_TRUE(program.trials.verdict()->kept);
  EXPECT_NEAR(program.trials.verdict()->gain, 1.1, 0.01);
  EXPECT_TRUE(program.own);
  EXPECT_FALSE(program.trials.tries());
  EXPECT_EQ(program.trials.verdict()->text(),
            "with cores of its own each they get 1.10 times as much done: each has its own");
}

TEST(IssuerTrials, WhatLosesIsGivenUpSoon) {
  Program program;
  program.run(IssuerTrials::kBefore + 4 * IssuerTrials::kWindow + milliseconds(100), loses);
  ASSERT_TRUE(program.trials.verdict()) << "two pairs that lose are enough";
  EXPECT_FALSE(program.trials.verdict()->kept);
  EXPECT_FALSE(program.own);
  const int before = program.windows_with;
  program.run(milliseconds(60000), gains);
  EXPECT_EQ(program.windows_with, before) << "and it is not tried again";
}

TEST(IssuerTrials, WhatChangesNothingIsNotKept) {
  Program program;
  program.run(milliseconds(30000),
              [](milliseconds /*now*/, bool own) { return own ? 1010 : 1000; });
  ASSERT_TRUE(program.trials.verdict());
  EXPECT_FALSE(program.trials.verdict()->kept);
  EXPECT_FALSE(program.own);
}

// A program that becomes faster all the time gains from nothing.
TEST(IssuerTrials, ASteadyChangeSaysNothing) {
  for (const double each_second : {1.05, 0.95}) {
    Program program;
    program.run(milliseconds(30000), [&](milliseconds now, bool /*own*/) {
      return 1000 * std::pow(each_second, static_cast<double>(now.count()) / 1000);
    });
    ASSERT_TRUE(program.trials.verdict());
    EXPECT_FALSE(program.trials.verdict()->kept) << each_second;
  }
}

TEST(IssuerTrials, NothingIsTriedBeforeTheyAreInCompanyForAWhile) {
  Program program;
  for (int i = 0; i < 10; ++i) {
    program.run(IssuerTrials::kBefore - milliseconds(200), gains);
    program.run(milliseconds(200), gains, 8, false);
  }
  EXPECT_EQ(program.windows_with, 0);
  EXPECT_FALSE(program.trials.tries());
  program.run(milliseconds(60000), gains, 1);
  EXPECT_EQ(program.windows_with, 0) << "one core is nobody's own";
}

TEST(IssuerTrials, OtherCoresAreAnotherMatterAndFormerOnesAreKnown) {
  Program program;
  program.run(milliseconds(25000), gains);
  EXPECT_TRUE(program.own);
  program.run(milliseconds(25000), loses, 4);
  EXPECT_FALSE(program.own);
  program.run(milliseconds(100), loses, 8);
  EXPECT_TRUE(program.own);
}

TEST(IssuerTrials, WindowsInWhichNobodyWorksAreNotCounted) {
  Program program;
  program.run(milliseconds(60000), [](milliseconds now, bool own) {
    return now.count() / 3000 % 2 == 0 ? gains(now, own) : 0.0;
  });
  EXPECT_TRUE(!program.trials.verdict() || program.trials.verdict()->gain > 0);
  program.run(milliseconds(30000), gains);
  ASSERT_TRUE(program.trials.verdict());
}

}  // namespace
}  // namespace optile::daemon
