#include "tests/preload/fakes/fake_onednn.h"

#include <omp.h>
#include <stddef.h>

enum { kMost = 64, kQueryKind = 2, kQueryImplementation = 8, kQueryPropagation = 11 };
enum { kQuerySource = 129, kQueryWeights = 131, kQueryTo = 133 };

typedef struct fake_version {
  int numbers[3]; /* major, minor, patch */
  const char* hash;
  unsigned runtimes[2]; /* of CPU and GPU */
} fake_version;

static struct fake_onednn_state state = {.cpu_runtime = 2, .implementation = "fake:any"};

/* A descriptor, and the primitive that is made of it. */
typedef struct fake_primitive {
  struct fake_operation operation;
  int threads;
} fake_primitive;
static fake_primitive made[kMost];
static int next;

struct fake_onednn_state* fake_onednn(void) {
  return &state;
}

static int make(const void** descriptor, int kind, int propagation,
                const struct fake_memory* source, const struct fake_memory* weights,
                const struct fake_memory* to) {
  fake_primitive* one = &made[next++ % kMost];
  one->operation.kind = kind;
  one->operation.propagation = propagation;
  one->operation.source = *source;
  one->operation.weights = *weights;
  one->operation.to = *to;
  one->threads = omp_get_max_threads();
  state.described_at = one->threads;
  *descriptor = one;
  return 0;
}

const fake_version* dnnl_version(void);
const fake_version* dnnl_version(void) {
  static fake_version version = {{FAKE_VERSION, 0, 0}, "", {0, 0}};
  version.runtimes[0] = state.cpu_runtime;
  return &version;
}

const char* dnnl_prim_kind2str(int kind);
const char* dnnl_prim_kind2str(int kind) {
  if (kind == FAKE_ELTWISE) return "eltwise";
  return kind == FAKE_CONVOLUTION ? "convolution" : "matmul";
}
const char* dnnl_prop_kind2str(int propagation);
const char* dnnl_prop_kind2str(int propagation) {
  return propagation == FAKE_FORWARD ? "forward_training" : "backward_data";
}
const char* dnnl_dt2str(int type);
const char* dnnl_dt2str(int type) {
  return type == FAKE_F32 ? "f32" : "other";
}

int dnnl_primitive_desc_query(const void* descriptor, int what, int index, void* result);
int dnnl_primitive_desc_query(const void* descriptor, int what, int index, void* result) {
  const fake_primitive* one = descriptor;
  (void)index;
  if (what == kQueryKind) *(int*)result = one->operation.kind;
  if (what == kQueryPropagation) {
    if (one->operation.propagation == 0) return 3;
    *(int*)result = one->operation.propagation;
  }
  if (what == kQueryImplementation) *(const char**)result = state.implementation;
  return 0;
}

const void* dnnl_primitive_desc_query_md(const void* descriptor, int what, int index);
const void* dnnl_primitive_desc_query_md(const void* descriptor, int what, int index) {
  const fake_primitive* one = descriptor;
  (void)index;
  if (what == kQuerySource) return &one->operation.source;
  if (what == kQueryWeights) return &one->operation.weights;
  return what == kQueryTo ? &one->operation.to : NULL;
}

int dnnl_primitive_get_primitive_desc(const void* primitive, const void** descriptor);
int dnnl_primitive_get_primitive_desc(const void* primitive, const void** descriptor) {
  *descriptor = primitive;
  return 0;
}

int dnnl_primitive_create(const void** primitive, const void* descriptor) {
  state.created_at = omp_get_max_threads();
  *primitive = descriptor;
  return 0;
}

int dnnl_primitive_execute(const void* primitive, void* stream, int count, const void* arguments) {
  const fake_primitive* one = primitive;
  (void)stream, (void)count, (void)arguments;
  state.executed_at = omp_get_max_threads();
  const int follows = one->operation.kind == FAKE_ELTWISE;
  const int threads = follows ? state.executed_at : one->threads;
  state.team = threads;
  if (threads > one->threads) ++state.overruns;
#pragma omp parallel num_threads(threads)
  { __asm__ volatile("" ::: "memory"); }
  return 0;
}

#if FAKE_VERSION == 2
int dnnl_primitive_desc_create(const void** descriptor, const void* operation,
                               const void* attributes, void* engine, const void* hint) {
  const struct fake_operation* wanted = operation;
  (void)attributes, (void)engine, (void)hint;
  return make(descriptor, wanted->kind, wanted->propagation, &wanted->source, &wanted->weights,
              &wanted->to);
}

int dnnl_primitive_desc_iterator_create(const void** iterator, const void* operation,
                                        const void* attributes, void* engine, const void* hint) {
  return dnnl_primitive_desc_create(iterator, operation, attributes, engine, hint);
}

const void* dnnl_primitive_desc_iterator_fetch(const void* iterator) {
  const fake_primitive* from = iterator;
  fake_primitive* copy = &made[next++ % kMost];
  *copy = *from;
  return copy;
}
#else
int dnnl_memory_desc_query(const void* memory, int what, void* result);
int dnnl_memory_desc_query(const void* memory, int what, void* result) {
  const struct fake_memory* asked = memory;
  if (what == 256) *(int*)result = asked->dimensions;
  if (what == 257) *(const int64_t**)result = asked->sizes;
  if (what == 258) *(int*)result = asked->type;
  return what >= 256 && what <= 258 ? 0 : 2;
}

int dnnl_convolution_forward_primitive_desc_create(
    const void** descriptor, void* engine, int propagation, int algorithm, const void* source,
    const void* weights, const void* bias, const void* to, const void* strides, const void* dilates,
    const void* padding_left, const void* padding_right, const void* attributes) {
  (void)engine, (void)algorithm, (void)bias, (void)strides, (void)dilates, (void)padding_left;
  (void)padding_right;
  /* The last one tells whether all of them arrive. */
  if (attributes != (const void*)&state) return 2;
  return make(descriptor, FAKE_CONVOLUTION, propagation, source, weights, to);
}

int dnnl_matmul_primitive_desc_create(const void** descriptor, void* engine, const void* source,
                                      const void* weights, const void* bias, const void* to,
                                      const void* attributes) {
  (void)engine, (void)bias, (void)attributes;
  return make(descriptor, 14, 0, source, weights, to);
}

static const struct fake_memory no_memory;

int dnnl_eltwise_forward_primitive_desc_create(const void** descriptor, void* engine,
                                               int propagation, int algorithm, const void* source,
                                               const void* to, float alpha, float beta,
                                               const void* attributes) {
  (void)engine, (void)algorithm;
  if (alpha != 0.25F || beta != -3.0F || attributes != (const void*)&state) return 2;
  return make(descriptor, FAKE_ELTWISE, propagation, source, &no_memory, to);
}

int dnnl_lrn_backward_primitive_desc_create(const void** descriptor, void* engine, int algorithm,
                                            const void* source_gradient, const void* to_gradient,
                                            const void* source, int64_t size, float alpha,
                                            float beta, float k, const void* hint,
                                            const void* attributes) {
  (void)engine, (void)algorithm, (void)source_gradient;
  if (alpha != 0.25F || beta != -3.0F || k != 7.5F || size != INT64_C(0x123456789a)) return 2;
  if (hint != source || attributes != (const void*)&state) return 2;
  return make(descriptor, FAKE_LRN, FAKE_BACKWARD_DATA, source, &no_memory, to_gradient);
}

int dnnl_vanilla_rnn_backward_primitive_desc_create(
    const void** descriptor, void* engine, int propagation, int activation, int direction,
    const void* source, const void* state_before, const void* weights, const void* state_weights,
    const void* bias, const void* to, const void* state_to, const void* source_gradient,
    const void* state_gradient, const void* weights_gradient, const void* state_weights_gradient,
    const void* bias_gradient, const void* to_gradient, const void* state_to_gradient,
    unsigned flags, float alpha, float beta, const void* hint, const void* attributes) {
  const void* same[] = {state_before,     state_weights,          bias,
                        state_to,         source_gradient,        state_gradient,
                        weights_gradient, state_weights_gradient, bias_gradient,
                        to_gradient,      state_to_gradient,      hint};
  (void)engine, (void)activation, (void)direction;
  for (size_t i = 0; i < sizeof same / sizeof *same; ++i) {
    if (same[i] != source) return 2;
  }
  if (flags != 5U || alpha != 0.25F || beta != -3.0F) return 2;
  if (attributes != (const void*)&state) return 2;
  return make(descriptor, FAKE_RNN, propagation, source, weights, to);
}
#endif
