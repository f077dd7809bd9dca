// What TensorFlow says of a kernel, as the text of an op.
#include "bindings/preload/probes/tensorflow/kernel_table.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace optile::preload {
namespace {

std::string latest_trace;

// As TensorFlow's, which returns a std::string.
void fake_trace(TraceText* text, const void* /*kernel*/, const void* /*context*/, bool) {
  text->bytes = latest_trace.size();
  text->text = latest_trace.data();
}
void fake_free(void* /*text*/) {}

TensorflowFunctions fake_functions() {
  TensorflowFunctions functions;
  functions.trace = fake_trace;
  functions.free_text = fake_free;
  return functions;
}

// A kernel at `address` of which this is said, looked at often enough to be an op.
Kernel* make_op(const void* address, const char* trace) {
  Kernel* kernel = find_kernel(address);
  latest_trace = trace;
  look_at_kernel(kernel, fake_functions(), nullptr);
  for (int i = 0; i < 16; ++i) note_execution(kernel, 5000, 1000);
  return kernel;
}

TEST(KernelTable, DescribesTypeAndShapes) {
  char name[OPTILE_NAME_BYTES];
  char shape[OPTILE_SHAPE_BYTES];
  describe_kernel("tower/conv/Conv2D:_MklNativeFusedConv2D#shape=(float[64,32,32,3];float[32])#",
                  name, shape);
  EXPECT_STREQ(name, "_MklNativeFusedConv2D");
  EXPECT_STREQ(shape, "float[64,32,32,3];float[32]");
  describe_kernel("args_1:_Arg", name, shape);
  EXPECT_STREQ(name, "_Arg");
  EXPECT_STREQ(shape, "");
}

TEST(KernelTable, CutsLongShapes) {
  char name[OPTILE_NAME_BYTES];
  char shape[OPTILE_SHAPE_BYTES];
  const std::string many(1000, '9');
  describe_kernel(("a:" + many + "#shape=(" + many + ")#").c_str(), name, shape);
  EXPECT_EQ(std::strlen(name), OPTILE_NAME_BYTES - 1);
  EXPECT_EQ(std::strlen(shape), OPTILE_SHAPE_BYTES - 1);
}

TEST(KernelTable, LeavesWhatMayBlock) {
  for (const char* type : {"QueueDequeueV2", "PyFunc", "EagerPyFunc", "IteratorGetNext",
                           "ReduceDataset", "_HostRecv", "MutexLock", "SaveV2", "Unstage"}) {
    EXPECT_TRUE(may_block(type, static_cast<uint32_t>(std::strlen(type)))) << type;
  }
  for (const char* type : {"MatMul", "BatchMatMulV2", "_MklNativeConv2DBackpropInput", "Softmax",
                           "ResourceApplyAdam", "_FusedBatchNormEx", "Sum"}) {
    EXPECT_FALSE(may_block(type, static_cast<uint32_t>(std::strlen(type)))) << type;
  }
}

TEST(KernelTable, TellsSmallKernelsFromOps) {
  const int objects[2] = {};
  Kernel* small = find_kernel(&objects[0]);
  Kernel* large = find_kernel(&objects[1]);
  ASSERT_NE(small, nullptr);
  ASSERT_NE(large, small);
  EXPECT_EQ(find_kernel(&objects[0]), small);
  for (int i = 0; i < 40; ++i) {
    // The first executions set things up.
    note_execution(small, i < 2 ? 100'000 : 100, 1000);
    note_execution(large, 5000, 1000);
  }
  EXPECT_EQ(small->kind(), KernelKind::kSmall);
  EXPECT_EQ(small->mean, 100u);
  EXPECT_EQ(large->kind(), KernelKind::kOp);
}

TEST(KernelTable, NoticesKernelInPlaceOfDestroyedOne) {
  const int object = 0;
  Kernel* kernel = make_op(&object, "first:MatMul#shape=(float[2,2];float[2,2])#");
  const uint64_t first = kernel->instance;
  EXPECT_EQ(kernel->kind(), KernelKind::kOp);
  latest_trace = "second:PyFunc#shape=(float[2,2])#";
  look_at_kernel(kernel, fake_functions(), nullptr);
  EXPECT_NE(kernel->instance, first);
  EXPECT_EQ(kernel->kind(), KernelKind::kLeft);
}

TEST(KernelTable, KnowsKernelByShapesToo) {
  const int object = 0;
  Kernel* kernel = make_op(&object, "node:MatMul#shape=(float[2,2];float[2,2])#");
  const uint64_t key = kernel->key;
  const uint64_t instance = kernel->instance;
  latest_trace = "node:MatMul#shape=(float[4,2];float[2,2])#";
  look_at_kernel(kernel, fake_functions(), nullptr);
  EXPECT_NE(kernel->key, key);
  EXPECT_EQ(kernel->instance, instance);
  EXPECT_EQ(kernel->kind(), KernelKind::kOp);
}

}  // namespace
}  // namespace optile::preload
