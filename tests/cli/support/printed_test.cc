#include "bindings/cli/support/printed.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>

namespace optile::cli {
namespace {

using testing::ExitedWithCode;

TEST(Printed, KeepsExitCodeAfterSuccessfulOutput) {
  EXPECT_EXIT(
      {
        std::cout << "answer\n";
        std::exit(printed(1));
      },
      ExitedWithCode(1), "^$");
}

TEST(Printed, FailsWhenOutputCannotBeWritten) {
  EXPECT_EXIT(
      {
        if (std::freopen("/dev/full", "w", stdout) == nullptr) std::exit(3);
        std::cout << "answer\n";
        std::exit(printed(0));
      },
      ExitedWithCode(125), "standard output: No space left");
  EXPECT_EXIT(
      {
        if (std::freopen("/dev/full", "w", stdout) == nullptr) std::exit(3);
        std::printf("answer\n");
        std::exit(printed(0));
      },
      ExitedWithCode(125), "standard output: No space left");
}

}  // namespace
}  // namespace optile::cli
