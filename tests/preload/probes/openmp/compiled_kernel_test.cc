// Which libraries are kernels that Inductor compiled.
#include "bindings/preload/probes/openmp/compiled_kernel.h"

#include <gtest/gtest.h>

#include <string>

namespace optile::preload {
namespace {

const std::string kDigits = "tolmbxaizeeeazr6aszg5cpam23mda5d6jd3vsq7cwusc3evga5";

bool is_kernel(const std::string& path) {
  return is_kernel_path(path.c_str());
}

TEST(CompiledKernel, IsRecognisedByInductorHashPath) {
  EXPECT_TRUE(is_kernel("/tmp/torchinductor_me/to/c" + kDigits + ".main.so"));
  EXPECT_TRUE(is_kernel("/cache/to/c" + kDigits + ".so"));
  EXPECT_TRUE(is_kernel("/to/c" + kDigits + ".so"));
}

TEST(CompiledKernel, RejectsOtherPaths) {
  EXPECT_FALSE(is_kernel("/cache/ab/c" + kDigits + ".main.so"));
  EXPECT_FALSE(is_kernel("/cache/xto/c" + kDigits + ".main.so"));
  EXPECT_FALSE(is_kernel("/cache/to/d" + kDigits + ".main.so"));
  EXPECT_FALSE(is_kernel("/cache/to/c" + kDigits + ".main.cpp"));
  EXPECT_FALSE(is_kernel("/cache/to/c" + kDigits + "a.so"));
  EXPECT_FALSE(is_kernel("/cache/to/c" + kDigits.substr(1) + ".so"));
  EXPECT_FALSE(is_kernel("/cache/to/ct1" + kDigits.substr(2) + ".so"));
  EXPECT_FALSE(is_kernel("to/c" + kDigits + ".so"));
  EXPECT_FALSE(is_kernel("c" + kDigits + ".so"));
  EXPECT_FALSE(is_kernel("/usr/lib/libgomp.so.1"));
  EXPECT_FALSE(is_kernel(""));
}

}  // namespace
}  // namespace optile::preload
