#include "base/result.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace optile::base {
namespace {

TEST(Result, CarriesValueOrError) {
  const Result<int> good = 3;
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(good.value(), 3);
  EXPECT_TRUE(good.status().ok());

  const Result<int> bad = Error{ErrorKind::kNotFound, "no such op"};
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.message(), "no such op");
  EXPECT_EQ(bad.status().message(), "no such op");
}

TEST(Result, MapsErrnoToKindAndMessage) {
  const Error denied = errno_error("cannot open the store", EACCES);
  EXPECT_EQ(denied.kind, ErrorKind::kDenied);
  EXPECT_EQ(denied.message, "cannot open the store: Permission denied");
  EXPECT_EQ(errno_error("x", ENOENT).kind, ErrorKind::kNotFound);
  EXPECT_EQ(errno_error("x", ENOSPC).kind, ErrorKind::kUnavailable);
}

}  // namespace
}  // namespace optile::base
