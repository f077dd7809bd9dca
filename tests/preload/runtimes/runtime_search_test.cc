// A runtime that only the loader of a library knows, in a process without OpenMP of its own.
#include "bindings/preload/runtimes/runtime_resolver.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

namespace optile::preload {
namespace {

TEST(RuntimeSearch, FindsRuntimeLoadedWithLibrary) {
  ASSERT_NE(dlopen(OPTILE_TEST_ANOTHER_RUNTIME, RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror();
  void* loader = dlopen(OPTILE_TEST_LINKED_WITH_A_RUNTIME, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(loader, nullptr) << dlerror();
  const void* opens_regions = dlsym(loader, "thread_of_a_region");
  ASSERT_NE(opens_regions, nullptr);
  ASSERT_EQ(resolve_for(opens_regions, "omp_get_max_threads"), nullptr) << "the test is pointless";
  OpenmpRuntime runtime;
  resolve_runtime(opens_regions, &runtime);
  ASSERT_TRUE(runtime.usable());
  EXPECT_EQ(runtime.get_max_threads(), 70);
  EXPECT_NE(std::string(runtime.path).find("fake_kmpc_70"), std::string::npos) << runtime.path;
  runtime.set_num_threads(3);
  EXPECT_EQ(runtime.get_max_threads(), 3) << "all are functions of one copy";
}

// Its threads are its own: the count of a runtime that others brought says nothing of them.
TEST(RuntimeSearch, LibraryWithoutOpenMpHasNoRuntime) {
  ASSERT_NE(dlopen(OPTILE_TEST_ANOTHER_RUNTIME, RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror();
  OpenmpRuntime runtime;
  resolve_runtime(dlsym(RTLD_DEFAULT, "fake_blas"), &runtime);
  EXPECT_FALSE(runtime.usable());
  EXPECT_STREQ(runtime.path, "");
}

TEST(RuntimeSearch, FindsObjectByAddress) {
  const void* blas = dlsym(RTLD_DEFAULT, "fake_blas");
  const auto* own = reinterpret_cast<const void*>(&resolve_for);
  EXPECT_NE(std::string(object_of(blas)).find("libfake_blas.so"), std::string::npos);
  EXPECT_STREQ(library_of(blas), object_of(blas));
  EXPECT_STREQ(library_of(own), "") << "the program itself";
  EXPECT_NE(std::string(object_of(own)).find("preload_pool_test"), std::string::npos);
  EXPECT_STREQ(object_of(nullptr), "");
}

TEST(RuntimeSearch, RecognisesAddressesInOwnObject) {
  EXPECT_TRUE(is_ours(reinterpret_cast<const void*>(&resolve_for)));
  EXPECT_TRUE(is_ours(kInParallel));
  EXPECT_FALSE(is_ours(dlsym(RTLD_DEFAULT, "fake_blas")));
  EXPECT_FALSE(is_ours(nullptr));
}

}  // namespace
}  // namespace optile::preload
