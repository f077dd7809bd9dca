// What oneDNN says of a primitive: lines of PyTorch 2.13's, whose oneDNN is 3.12.
#include "bindings/preload/probes/itt/primitive_info.h"

#include <gtest/gtest.h>

#include <string>

namespace optile::preload {
namespace {

const std::string kConvolutionInfo =
    "cpu,convolution,jit:avx512_core,forward_training,src:f32:a:blocked:abcd::f0 "
    "wei:f32:ap:blocked:Acdb16a::f0 bia:f32:a:blocked:a::f0 dst:f32:ap:blocked:aBcd16b::f0,"
    "attr-scratchpad:user,alg:convolution_direct,mb2_ic8oc8_ih16oh14kh3sh1dh0ph0_iw16ow14kw3sw1";
const std::string kReorderInfo =
    "cpu,reorder,jit:uni,undef,src:f32::blocked:abcd::f0 dst:f32:p:blocked:Acdb16a::f0,"
    "attr-scratchpad:user,,8x8x3x3";

PrimitiveInfo read(const std::string& line) {
  PrimitiveInfo info;
  EXPECT_TRUE(read_primitive_info(line.c_str(), &info)) << line;
  return info;
}

uint64_t key_of(const std::string& line) {
  return key_of_primitive(read(line));
}

std::string replaced(std::string line, const std::string& from, const std::string& to) {
  return line.replace(line.find(from), from.size(), to);
}

TEST(PrimitiveInfo, DescribesKindDirectionSizesTypeAndImplementation) {
  char name[OPTILE_NAME_BYTES];
  char shape[OPTILE_SHAPE_BYTES];
  describe_primitive(read(kConvolutionInfo), "", name, shape);
  EXPECT_STREQ(name, "convolution forward_training");
  EXPECT_STREQ(shape, "mb2_ic8oc8_ih16oh14kh3sh1dh0ph0_iw16ow14kw3sw1 f32 jit:avx512_core");
  describe_primitive(read(kReorderInfo), "create", name, shape);
  EXPECT_STREQ(name, "create reorder");
  EXPECT_STREQ(shape, "8x8x3x3 f32 jit:uni");
  EXPECT_FALSE(is_backward(read(kConvolutionInfo)));
  EXPECT_TRUE(
      is_backward(read(replaced(kConvolutionInfo, "forward_training", "backward_weights"))));
}

TEST(PrimitiveInfo, KeyIgnoresImplementationAndMemoryFormat) {
  EXPECT_EQ(key_of(kConvolutionInfo),
            key_of(replaced(kConvolutionInfo, "jit:avx512_core", "jit:avx2")));
  EXPECT_EQ(key_of(kConvolutionInfo), key_of(replaced(kConvolutionInfo, "Acdb16a", "Acdb8a")));
}

TEST(PrimitiveInfo, KeyDependsOnKindSizesTypesAndAlgorithm) {
  for (const auto& [from, to] :
       {std::pair("convolution", "deconvolution"), std::pair("forward_training", "backward_data"),
        std::pair("mb2", "mb4"), std::pair("src:f32", "src:bf16"), std::pair("dst:f32", "dst:bf16"),
        std::pair("attr-scratchpad:user", "attr-post-ops:relu"),
        std::pair("convolution_direct", "convolution_winograd")}) {
    EXPECT_NE(key_of(kConvolutionInfo), key_of(replaced(kConvolutionInfo, from, to))) << to;
  }
}

TEST(PrimitiveInfo, RejectsMalformedLines) {
  PrimitiveInfo info;
  for (const std::string line : {"", "cpu", "cpu,,jit,undef,src,attr,alg,8", "a,b,c,d,e,f,g"}) {
    EXPECT_FALSE(read_primitive_info(line.c_str(), &info)) << line;
  }
  EXPECT_FALSE(read_primitive_info((kReorderInfo + std::string(5000, '8')).c_str(), &info));
  EXPECT_TRUE(read_primitive_info("cpu,sum,any,,,,,", &info));
  char name[OPTILE_NAME_BYTES];
  char shape[OPTILE_SHAPE_BYTES];
  describe_primitive(info, "", name, shape);
  EXPECT_STREQ(name, "sum");
}

TEST(PrimitiveInfo, TruncatesLongShape) {
  char name[OPTILE_NAME_BYTES];
  char shape[OPTILE_SHAPE_BYTES];
  describe_primitive(read(kReorderInfo + std::string(500, '8')), "", name, shape);
  EXPECT_EQ(std::string(shape).size(), OPTILE_SHAPE_BYTES - 1);
}

}  // namespace
}  // namespace optile::preload
