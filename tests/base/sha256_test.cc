#include "base/sha256.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace optile::base {
namespace {

std::string sum_of(const std::string& text, std::size_t at_once) {
  Sha256 sum;
  for (std::size_t i = 0; i < text.size(); i += at_once) {
    sum.add(text.data() + i, std::min(at_once, text.size() - i));
  }
  char digits[Sha256::kTextBytes];
  sum.write_text(digits);
  return digits;
}

// The examples of FIPS 180-4.
TEST(Sha256, MatchesFips180Examples) {
  EXPECT_EQ(sum_of("", 1), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sum_of("abc", 3), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sum_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sum_of(std::string(1000000, 'a'), 4096),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DigestIsIndependentOfChunkSize) {
  const std::string text(200, 'x');
  for (const std::size_t at_once : {1U, 7U, 55U, 56U, 63U, 64U, 65U}) {
    EXPECT_EQ(sum_of(text, at_once), sum_of(text, text.size())) << at_once;
  }
}

}  // namespace
}  // namespace optile::base
