// Tasks reach the copy of oneTBB that is their library's, whoever calls that.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/preload/fakes/fake_tbb.h"

namespace optile::preload {
namespace {

class TbbCopies : public ::testing::Test {
 protected:
  // Out of the reach of everybody else.
  struct Library {
    explicit Library(const char* path) : handle(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
      EXPECT_NE(handle, nullptr) << dlerror();
    }
    template <typename Function>
    Function* function(const char* name) const {
      auto* found = reinterpret_cast<Function*>(dlsym(handle, name));
      EXPECT_NE(found, nullptr) << name;
      return found;
    }
    int given() const { return function<fake_tbb_given_fn>("fake_tbb_given")(); }
    void* handle;
  };
  const std::array<Library, 2> libraries_ = {Library(OPTILE_TEST_GIVES_1),
                                             Library(OPTILE_TEST_GIVES_2)};
};

TEST_F(TbbCopies, EachLibraryReachesItsOwnCopy) {
  for (const char* name : {"give", "give_to_slot"}) {
    for (int round = 0; round < 2; ++round) {
      for (const Library& library : libraries_) {
        std::array<int, 2> before = {libraries_[0].given(), libraries_[1].given()};
        library.function<fake_tbb_give_fn>(name)();
        for (std::size_t i = 0; i < 2; ++i) {
          const int more = &libraries_[i] == &library ? 1 : 0;
          EXPECT_EQ(libraries_[i].given(), before[i] + more) << name << " " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace optile::preload
