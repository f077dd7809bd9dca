// Which regions may be tuned, and which region is expected next.
#include "bindings/preload/probes/openmp/region_rules.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <array>
#include <cstdlib>
#include <memory>

#include "bindings/preload/probes/openmp/known_regions.h"
#include "bindings/preload/probes/openmp/region_sequence.h"
#include "bindings/preload/probes/tbb/tbb_tasks.h"
#include "bindings/preload/runtimes/loaded_object.h"
#include "bindings/preload/runtimes/object_imports.h"
#include "bindings/preload/support/unloading.h"

namespace optile::preload {
namespace {

TEST(RegionRules, RecognisesSymbolsThatOpenRegions) {
  for (const char* name :
       {"GOMP_parallel", "GOMP_parallel_loop_guided_start", "__kmpc_fork_call_if"}) {
    EXPECT_TRUE(opens_a_region(name)) << name;
  }
  for (const char* name : {"GOMP_parallel_end", "GOMP_barrier", "__kmpc_barrier"}) {
    EXPECT_FALSE(opens_a_region(name)) << name;
  }
}

// A program may build it anew and load it again, maybe to the same place: what was known of that
// place ends with it.
// fault: F48
TEST(RegionRules, ObjectWithKnownRegionCanBeUnloaded) {
  const auto is_loaded = [] {
    void* object = dlopen(OPTILE_TEST_GOES_PAST, RTLD_NOLOAD | RTLD_LAZY);
    if (object != nullptr) dlclose(object);
    return object != nullptr;
  };
  void* object = dlopen(OPTILE_TEST_GOES_PAST, RTLD_NOW);
  ASSERT_NE(object, nullptr);
  const void* function = dlsym(object, "team_past_the_shim");
  const auto* const* table = static_cast<const void* const*>(dlsym(object, "table_of_tasks")) + 1;
  const void* const task = &table;
  KnownRegion* region = known_region(function);
  ASSERT_NE(region, nullptr);
  const uint64_t key = optile_load64(&region->key);
  EXPECT_EQ(region_key(function), key);
  const uint64_t task_key = tbb_task(task).key;
  const uint32_t before = unloadings();
  dlclose(object);
  EXPECT_FALSE(is_loaded());
  EXPECT_GT(unloadings(), before);
  object = dlopen(OPTILE_TEST_GOES_PAST, RTLD_NOW);
  ASSERT_NE(object, nullptr);
  function = dlsym(object, "team_past_the_shim");
  EXPECT_EQ(region_key(function), key) << "the same in every run";
  table = static_cast<const void* const*>(dlsym(object, "table_of_tasks")) + 1;
  EXPECT_EQ(tbb_task(task).key, task_key);
  const uint32_t again = unloadings();
  EXPECT_EQ(dlclose(dlopen(OPTILE_TEST_GOES_PAST, RTLD_NOW)), 0);
  EXPECT_EQ(unloadings(), again) << "somebody else needs it";
  dlclose(object);
  EXPECT_GT(unloadings(), again);
  EXPECT_NE(region_key(function), key) << "nothing lies there";
}

struct Asked {
  const void* address;
  bool found_object;
  bool asks;
};

// This program asks for the number of threads, and so it says in its tables.
TEST(RegionRules, FindsImportedSymbolsOfObject) {
  Asked asked = {reinterpret_cast<const void*>(&names_object), false, omp_get_max_threads() == 0};
  dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void* to) {
        auto* one = static_cast<Asked*>(to);
        if (!holds_address(*object, one->address)) return 0;
        one->found_object = true;
        const auto is_it = [](const char* name, bool, void* found) {
          auto* asks = static_cast<bool*>(found);
          *asks = *asks || std::string_view(name) == "omp_get_max_threads";
          return *asks;
        };
        visit_needs(*object, is_it, &one->asks);
        return 1;
      },
      &asked);
  EXPECT_TRUE(asked.found_object);
  EXPECT_TRUE(asked.asks);
}

class RegionSequenceTest : public ::testing::Test {
 protected:
  void pass(std::initializer_list<int> order) {
    for (const int which : order) {
      KnownRegion* region = which < 0 ? nullptr : &regions_[static_cast<std::size_t>(which)];
      expected_ = sequence_->expected(context_);
      right_ += expected_ == region && region != nullptr ? 1 : 0;
      wrong_ += expected_ != nullptr && expected_ != region ? 1 : 0;
      sequence_->met(context_, region);
      const uint64_t key = region == nullptr ? 99 : region->key;
      context_ = optile_next_context(context_, key);
    }
  }

  std::array<KnownRegion, 3> regions_ = {KnownRegion{nullptr, 11, 0, 0, 0},
                                         KnownRegion{nullptr, 22, 0, 0, 0},
                                         KnownRegion{nullptr, 33, 0, 0, 0}};
  std::unique_ptr<RegionSequence> sequence_ = std::make_unique<RegionSequence>();
  uint64_t context_ = 1;
  KnownRegion* expected_ = nullptr;
  int right_ = 0;
  int wrong_ = 0;
};

TEST_F(RegionSequenceTest, ExpectsRepeatedOrder) {
  for (int i = 0; i < 12; ++i) pass({0, 1});
  right_ = 0;
  for (int i = 0; i < 10; ++i) pass({0, 1});
  EXPECT_EQ(right_, 20);
  EXPECT_EQ(wrong_, 0);
}

TEST_F(RegionSequenceTest, ExpectsNothingAtFirst) {
  pass({0, 1, 2});
  EXPECT_EQ(right_, 0);
  EXPECT_EQ(wrong_, 0);
}

TEST_F(RegionSequenceTest, MissesOnlyEndOfLongLoop) {
  const auto loop = [this] {
    for (int i = 0; i < 30; ++i) pass({0});
    pass({1});
  };
  for (int i = 0; i < 6; ++i) loop();
  right_ = wrong_ = 0;
  for (int i = 0; i < 5; ++i) loop();
  EXPECT_EQ(wrong_, 5) << "once for each loop";
  EXPECT_EQ(right_, 5 * 30);
}

TEST_F(RegionSequenceTest, LearnsChangedOrder) {
  for (int i = 0; i < 12; ++i) pass({0, 1});
  for (int i = 0; i < 12; ++i) pass({0, 2});
  right_ = wrong_ = 0;
  for (int i = 0; i < 5; ++i) pass({0, 2});
  EXPECT_EQ(right_, 10);
  EXPECT_EQ(wrong_, 0);
}

TEST_F(RegionSequenceTest, NeverExpectsNonRegion) {
  for (int i = 0; i < 12; ++i) pass({0, -1});
  right_ = wrong_ = 0;
  for (int i = 0; i < 5; ++i) pass({0, -1});
  EXPECT_EQ(right_, 5);
  EXPECT_EQ(wrong_, 0);
}

TEST_F(RegionSequenceTest, ForgetsLearntOrder) {
  for (int i = 0; i < 12; ++i) pass({0, 1});
  sequence_->forget();
  right_ = 0;
  pass({0, 1});
  EXPECT_EQ(right_, 0);
}

}  // namespace
}  // namespace optile::preload
