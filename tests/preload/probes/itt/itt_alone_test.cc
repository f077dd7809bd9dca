// The collector library in a process that has no shim, such as a child that lost its preload.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/preload/fakes/fake_ittnotify.h"

namespace {

TEST(IttCollector, ListensToNothingWithoutShim) {
  ASSERT_EQ(setenv("INTEL_LIBITTNOTIFY64", OPTILE_TEST_COLLECTOR, 1), 0);
  void* opened = dlopen(OPTILE_TEST_ITT_1, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(opened, nullptr);
  const fake_itt& library = *reinterpret_cast<fake_itt_fn>(dlsym(opened, FAKE_ITT_SYMBOL))();
  static int worked = 0;
  for (int i = 0; i < 3; ++i)
    library.run(
        0, "reorder", "cpu,reorder", [] { ++worked; }, 1);
  library.range("mine");
  EXPECT_EQ(worked, 3);
  EXPECT_FALSE(library.is_unopened());
  EXPECT_FALSE(library.tasks_are_told());
  EXPECT_FALSE(library.metadata_are_told());
}

}  // namespace
