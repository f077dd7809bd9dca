// oneDNN's primitives as ops, against a library that behaves like version 2 or like version 3.
#include <gtest/gtest.h>
#include <omp.h>

#include <string>

#include "tests/preload/fakes/fake_onednn.h"
#include "tests/preload/fixtures/boundary_fixture.h"

namespace optile::preload {
namespace {

using test::FakeDaemon;

const fake_memory kImages = {4, {8, 3, 32, 32}, FAKE_F32};
const fake_memory kFilters = {4, {16, 3, 5, 5}, FAKE_F32};
const fake_memory kFound = {4, {8, 16, 28, 28}, FAKE_F32};
const fake_memory kMatrix = {2, {64, 48}, FAKE_F32};

constexpr const char* kConvolution = "convolution forward_training";
constexpr const char* kConvolutionShape = "8x3x32x32 16x3x5x5 f32 fake:any";

const void* describe_convolution(const fake_memory& images) {
  const void* descriptor = nullptr;
#if OPTILE_TEST_ONEDNN_VERSION == 2
  const fake_operation operation = {FAKE_CONVOLUTION, FAKE_FORWARD, images, kFilters, kFound};
  CHECK_OR_EXIT(dnnl_primitive_desc_create(&descriptor, &operation, nullptr, nullptr, nullptr) ==
                0);
#else
  CHECK_OR_EXIT(dnnl_convolution_forward_primitive_desc_create(
                    &descriptor, nullptr, FAKE_FORWARD, 1, &images, &kFilters, nullptr, &kFound,
                    nullptr, nullptr, nullptr, nullptr, fake_onednn()) == 0);
#endif
  return descriptor;
}

const void* describe_matmul() {
  const void* descriptor = nullptr;
#if OPTILE_TEST_ONEDNN_VERSION == 2
  const fake_operation operation = {18, 0, kMatrix, kMatrix, kMatrix};
  const void* iterator = nullptr;
  CHECK_OR_EXIT(
      dnnl_primitive_desc_iterator_create(&iterator, &operation, nullptr, nullptr, nullptr) == 0);
  descriptor = dnnl_primitive_desc_iterator_fetch(iterator);
  CHECK_OR_EXIT(descriptor != nullptr && descriptor != iterator);
#else
  CHECK_OR_EXIT(dnnl_matmul_primitive_desc_create(&descriptor, nullptr, &kMatrix, &kMatrix, nullptr,
                                                  &kMatrix, nullptr) == 0);
#endif
  return descriptor;
}

// What it is made of follows the number of threads.
const void* describe_eltwise() {
  const void* descriptor = nullptr;
#if OPTILE_TEST_ONEDNN_VERSION == 2
  const fake_operation operation = {FAKE_ELTWISE, FAKE_FORWARD, kImages, {}, kFound};
  CHECK_OR_EXIT(dnnl_primitive_desc_create(&descriptor, &operation, nullptr, nullptr, nullptr) ==
                0);
#else
  CHECK_OR_EXIT(dnnl_eltwise_forward_primitive_desc_create(&descriptor, nullptr, FAKE_FORWARD, 1,
                                                           &kImages, &kFound, 0.25F, -3.0F,
                                                           fake_onednn()) == 0);
#endif
  return descriptor;
}

const void* create(const void* descriptor) {
  const void* primitive = nullptr;
  CHECK_OR_EXIT(dnnl_primitive_create(&primitive, descriptor) == 0);
  return primitive;
}

// Returns the threads that the team had.
int execute(const void* primitive) {
  CHECK_OR_EXIT(dnnl_primitive_execute(primitive, nullptr, 0, nullptr) == 0);
  return fake_onednn()->team;
}

// As a program that makes its primitives where it needs them.
void step() {
  execute(create(describe_convolution(kImages)));
  execute(create(describe_matmul()));
}

class OneDnn : public OpBoundary {
 protected:
  static const optile_op_record* record_of(const FakeDaemon& daemon, const std::string& name) {
    const optile_client_region& client = daemon.client();
    for (uint32_t i = 0; i < client.header.registry_count; ++i) {
      if (client.ops[i].name == name) return &client.ops[i];
    }
    return nullptr;
  }

  static uint64_t key_of(const FakeDaemon& daemon, const std::string& name) {
    const optile_op_record* record = record_of(daemon, name);
    CHECK_OR_EXIT(record != nullptr);
    return record->key;
  }

  static void record_all(optile_plan_page& page) { page.flags = OPTILE_PAGE_RECORD_ALL; }
};

TEST_F(OneDnn, PrimitiveIsOpWithKindShapesAndImplementation) {
  in_unsteered_child([](FakeDaemon& daemon) {
    attach(daemon);
    step();
    const optile_op_record* record = record_of(daemon, kConvolution);
    CHECK_OR_EXIT(record != nullptr && record->shape == std::string(kConvolutionShape));
    CHECK_OR_EXIT(record->probe == OPTILE_PROBE_ONEDNN && record->flags == 0);
    const optile_op_record* matmul = record_of(daemon, "matmul");
    CHECK_OR_EXIT(matmul != nullptr && matmul->shape == std::string("64x48 64x48 f32 fake:any"));
    CHECK_OR_EXIT(record_of(daemon, "describe convolution") != nullptr);
    CHECK_OR_EXIT(record_of(daemon, "create convolution forward_training") != nullptr);
    CHECK_OR_EXIT(daemon.client().header.default_width == kOwn);
  });
}

TEST_F(OneDnn, KeyIgnoresImplementation) {
  in_unsteered_child([](FakeDaemon& daemon) {
    attach(daemon);
    step();
    const uint32_t known = daemon.client().header.registry_count;
    fake_onednn()->implementation = "fake:other";
    step();
    CHECK_OR_EXIT(daemon.client().header.registry_count == known);
  });
}

// Room that was made for fewer threads than come is overrun.
TEST_F(OneDnn, DescribesAtDefaultWidthAndExecutesAtPlanWidth) {
  in_unsteered_child([](FakeDaemon& daemon) {
    attach(daemon);
    for (int i = 0; i < 12; ++i) execute(create(describe_eltwise()));
    CHECK_OR_EXIT(record_of(daemon, "describe eltwise") != nullptr);
    daemon.publish({{key_of(daemon, "eltwise forward_training"), 2, {}, 0}}, 0, record_all);
    execute(create(describe_eltwise()));  // the words of the plan are taken over at the next op
    daemon.take_events();
    const void* kept = create(describe_eltwise());
    CHECK_OR_EXIT(fake_onednn()->described_at == kOwn && fake_onednn()->created_at == kOwn);
    execute(kept);
    CHECK_OR_EXIT(fake_onednn()->executed_at == 2 && fake_onednn()->team == 2);
    CHECK_OR_EXIT(omp_get_max_threads() == kOwn);
    for (const optile_event& event : daemon.take_events()) {
      const bool steerable = (event.flags & OPTILE_EVENT_STEERABLE) != 0;
      const bool executes = event.regions == 1;
      CHECK_OR_EXIT(steerable == executes);
      CHECK_OR_EXIT(!executes || event.width == 2);
    }
    daemon.publish({}, 0, record_all);
    for (int i = 0; i < 2; ++i) execute(kept);
    CHECK_OR_EXIT(fake_onednn()->team == kOwn && fake_onednn()->overruns == 0);
  });
}

#if OPTILE_TEST_ONEDNN_VERSION == 3
TEST_F(OneDnn, ForwardsAllDescriptorArguments) {
  in_unsteered_child([](FakeDaemon& daemon) {
    attach(daemon);
    const void* descriptor = nullptr;
    const void* m = &kMatrix;
    CHECK_OR_EXIT(dnnl_lrn_backward_primitive_desc_create(&descriptor, nullptr, 1, m, m, m,
                                                          INT64_C(0x123456789a), 0.25F, -3.0F, 7.5F,
                                                          m, fake_onednn()) == 0);
    CHECK_OR_EXIT(dnnl_vanilla_rnn_backward_primitive_desc_create(
                      &descriptor, nullptr, FAKE_BACKWARD_DATA, 1, 2, m, m, m, m, m, m, m, m, m, m,
                      m, m, m, m, 5U, 0.25F, -3.0F, m, fake_onednn()) == 0);
    CHECK_OR_EXIT(record_of(daemon, "describe lrn") != nullptr);
    CHECK_OR_EXIT(record_of(daemon, "describe rnn") != nullptr);
  });
}
#endif

TEST_F(OneDnn, PrimitiveDescribedOnceIsOnlyObserved) {
  in_unsteered_child([](FakeDaemon& daemon) {
    attach(daemon);
    const void* primitive = create(describe_convolution(kImages));
    CHECK_OR_EXIT(execute(primitive) == kOwn);
    daemon.publish({{key_of(daemon, kConvolution), 2, {}, 0}}, 0, record_all);
    daemon.take_events();
    CHECK_OR_EXIT(execute(primitive) == kOwn);
    CHECK_OR_EXIT(execute(primitive) == kOwn && fake_onednn()->executed_at == kOwn);
    const std::vector<optile_event> events = daemon.take_events();
    CHECK_OR_EXIT(events.size() == 2);
    CHECK_OR_EXIT((events[1].flags & OPTILE_EVENT_STEERABLE) == 0 && events[1].width == 0);
  });
}

TEST_F(OneDnn, PrimitiveCreatedBeforeAttachIsKnown) {
  in_unsteered_child([](FakeDaemon& daemon) {
    const void* primitive = create(describe_convolution(kImages));
    attach(daemon);
    execute(primitive);
    CHECK_OR_EXIT(record_of(daemon, kConvolution) != nullptr);
  });
}

TEST_F(OneDnn, ReusedAddressIsAnotherPrimitive) {
  in_unsteered_child([](FakeDaemon& daemon) {
    attach(daemon);
    // The fake library's storage goes round.
    for (int i = 0; i < 200; ++i) step();
    fake_memory larger = kImages;
    larger.sizes[0] = 9;
    for (int i = 0; i < 64; ++i) execute(create(describe_convolution(larger)));
    uint32_t convolutions = 0;
    const optile_client_region& client = daemon.client();
    for (uint32_t i = 0; i < client.header.registry_count; ++i) {
      convolutions += client.ops[i].name == std::string(kConvolution);
    }
    CHECK_OR_EXIT(convolutions == 2);
  });
}

TEST_F(OneDnn, OnlyObservesOnTbbRuntime) {
  in_unsteered_child([](FakeDaemon& daemon) {
    fake_onednn()->cpu_runtime = 4;  // TBB
    attach(daemon);
    step();
    CHECK_OR_EXIT(steered_runtime() == nullptr);
    daemon.publish({{key_of(daemon, kConvolution), 2, {}, 0}});
    step();
    execute(create(describe_convolution(kImages)));
    CHECK_OR_EXIT(fake_onednn()->executed_at == kOwn && fake_onednn()->described_at == kOwn);
  });
}

TEST_F(OneDnn, PrimitiveInsideOpBelongsToOuterOp) {
  in_child([](FakeDaemon& daemon) {
    attach_with_plan(daemon, 3);
    run_op_around(kOp, [&] {
      step();
      CHECK_OR_EXIT(fake_onednn()->described_at == 3 && fake_onednn()->team == 3);
    });
    CHECK_OR_EXIT(record_of(daemon, kConvolution) == nullptr);
  });
}

TEST_F(OneDnn, ForkedChildIsLeftAlone) {
  in_unsteered_child([](FakeDaemon& daemon) {
    attach(daemon);
    for (int i = 0; i < 4; ++i) step();
    daemon.publish({{key_of(daemon, kConvolution), 2, {}, 0}});
    step();
    const pid_t child = fork();
    if (child == 0) {
      const void* primitive = create(describe_convolution(kImages));
      std::_Exit(fake_onednn()->described_at == fake_onednn()->created_at && primitive ? 0 : 1);
    }
    int status = 0;
    CHECK_OR_EXIT(waitpid(child, &status, 0) == child && status == 0);
  });
}

}  // namespace
}  // namespace optile::preload
