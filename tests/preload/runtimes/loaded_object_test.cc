#include "bindings/preload/runtimes/loaded_object.h"

#include <gtest/gtest.h>

namespace optile::preload {
namespace {

TEST(ObjectPlace, MatchesNamesByFileName) {
  EXPECT_TRUE(names_object("prog", "/usr/local/bin/prog"));
  EXPECT_TRUE(names_object("libfoo.so", "/usr/lib/libfoo.so.1.2"));
  EXPECT_TRUE(names_object("libfoo,prog", "libfoo.so"));
  EXPECT_TRUE(names_object("prog,libfoo.so", "./libfoo.so"));
  EXPECT_FALSE(names_object("prog", "/usr/bin/program"));
  EXPECT_FALSE(names_object("libfoo.so", "/usr/lib/libfoo_mp.so"));
  EXPECT_FALSE(names_object("libfoo.so.2", "/usr/lib/libfoo.so.1"));
  EXPECT_FALSE(names_object(",", "/usr/bin/prog"));
  EXPECT_FALSE(names_object("", "/usr/bin/prog"));
}

}  // namespace
}  // namespace optile::preload
