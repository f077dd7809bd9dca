// How a task of oneTBB is named, from its type alone.
#include "bindings/preload/probes/tbb/tbb_tasks.h"

#include <gtest/gtest.h>

namespace optile::preload {
namespace {

TEST(TbbTask, NamesAlgorithmByType) {
  EXPECT_STREQ(tbb_algorithm("N3tbb6detail2d19start_forINS1_13blocked_rangeImEEZ4mainEUlRKS4_E_"
                             "KNS1_16auto_partitionerEEE"),
               "parallel_for");
  EXPECT_STREQ(tbb_algorithm("N3tbb6detail2d112start_reduceINS1_13blocked_rangeImEE"),
               "parallel_reduce");
  EXPECT_STREQ(tbb_algorithm("N3tbb6detail2d126start_deterministic_reduceINS1_13blocked_rangeImE"),
               "parallel_deterministic_reduce");
  EXPECT_STREQ(tbb_algorithm("N3tbb6detail2d19start_forINS1_16quick_sort_rangeIPiSt4lessIiEEE"),
               "parallel_sort");
  EXPECT_STREQ(tbb_algorithm("4MyOwnTask"), "tasks");
}

// A type with as little in common with oneTBB's as may be: nothing of it is executed.
class Unlike {
 public:
  virtual ~Unlike() = default;
};

TEST(TbbTask, KeyDependsOnTypeNotObject) {
  const Unlike one;
  const Unlike two;
  EXPECT_EQ(tbb_task(&one).key, tbb_task(&two).key);
  EXPECT_STREQ(tbb_task(&one).name, "tasks");
  EXPECT_NE(tbb_task(&one).key, 0U);
}

}  // namespace
}  // namespace optile::preload
