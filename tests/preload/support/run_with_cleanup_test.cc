// Calls that are left by an exception or by the end of their thread, and what is then put right.
#include "bindings/preload/support/run_with_cleanup.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <stdexcept>
#include <vector>

namespace optile::preload {
namespace {

std::vector<int> cleaned_up;

void note(void* number) {
  cleaned_up.push_back(*static_cast<int*>(number));
}

void fail(void* /*number*/) {
  throw std::runtime_error("a kernel failed");
}

void end_thread(void* /*number*/) {
  pthread_exit(nullptr);
}

int outer = 1, inner = 2;

class RunWithCleanup : public ::testing::Test {
 protected:
  RunWithCleanup() { cleaned_up.clear(); }
};

TEST_F(RunWithCleanup, LeavesACallThatEndsAlone) {
  int runs = 0;
  run_with_cleanup([](void* count) { ++*static_cast<int*>(count); }, &runs, note);
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(cleaned_up.empty());
}

TEST_F(RunWithCleanup, LetsAnExceptionThrough) {
  EXPECT_THROW(run_with_cleanup(fail, &outer, note), std::runtime_error);
  EXPECT_EQ(cleaned_up, std::vector<int>{1});
}

TEST_F(RunWithCleanup, GoesFromTheInnermostOut) {
  const auto nested = [](void* /*number*/) { run_with_cleanup(fail, &inner, note); };
  EXPECT_THROW(run_with_cleanup(nested, &outer, note), std::runtime_error);
  EXPECT_EQ(cleaned_up, (std::vector<int>{2, 1}));
}

TEST_F(RunWithCleanup, EndsWhereTheExceptionIsCaught) {
  const auto catching = [](void* /*number*/) {
    EXPECT_THROW(run_with_cleanup(fail, &inner, note), std::runtime_error);
  };
  run_with_cleanup(catching, &outer, note);
  EXPECT_EQ(cleaned_up, std::vector<int>{2});
}

TEST_F(RunWithCleanup, HoldsWhereTheThreadEnds) {
  const auto body = [](void* /*nothing*/) -> void* {
    run_with_cleanup(end_thread, &outer, note);
    return nullptr;
  };
  pthread_t thread{};
  ASSERT_EQ(pthread_create(&thread, nullptr, body, nullptr), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  EXPECT_EQ(cleaned_up, std::vector<int>{1});
}

}  // namespace
}  // namespace optile::preload
