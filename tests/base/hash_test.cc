#include "base/hash.h"

#include <gtest/gtest.h>

namespace optile::base {
namespace {

// Keys are stored: these figures must never change.
TEST(Hash, MatchesKnownFnv1aValues) {
  EXPECT_EQ(hash_bytes("", 0), UINT64_C(0xcbf29ce484222325));
  EXPECT_EQ(hash_bytes("a", 1), UINT64_C(0xaf63dc4c8601ec8c));
  EXPECT_EQ(hash_bytes("foobar", 6), UINT64_C(0x85944171f73967e8));
}

TEST(Hash, DependsOnWordOrder) {
  const uint64_t a = hash_word(2, hash_word(1, kHashSeed));
  const uint64_t b = hash_word(1, hash_word(2, kHashSeed));
  EXPECT_NE(a, b);
}

}  // namespace
}  // namespace optile::base
