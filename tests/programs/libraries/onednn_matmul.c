/* oneDNN's matmul, whose threads each compute the part that the team size fixed beforehand gives
 * them: a smaller team leaves parts out, silently. Every product is compared with a plain sum. */
#include <math.h>

#include "tests/programs/libraries/exact.h"
#include "tests/programs/libraries/onednn.h"

enum { kRounds = 20 };

typedef struct shape {
  int rows;
  int inner;
  int columns;
} shape;

static const shape kShapes[] = {{96, 64, 96}, {200, 100, 40}, {17, 300, 65}, {256, 256, 64}};
enum { kShapeCount = sizeof kShapes / sizeof kShapes[0] };

static long wrong_numbers(const shape* s, const float* left, const float* right,
                          const float* product) {
  long wrong = 0;
  for (int row = 0; row < s->rows; row++) {
    for (int column = 0; column < s->columns; column++) {
      double sum = 0;
      for (int k = 0; k < s->inner; k++) {
        sum += (double)left[row * s->inner + k] * (double)right[k * s->columns + column];
      }
      if (fabs(sum - (double)product[row * s->columns + column]) > 0.5) wrong++;
    }
  }
  return wrong;
}

static void multiply(const shape* s, float* values[3], dnnl_engine_t engine, dnnl_stream_t stream) {
  const dnnl_dims_t dims[3] = {{s->rows, s->inner}, {s->inner, s->columns}, {s->rows, s->columns}};
  dnnl_memory_desc_t layouts[3];
  dnnl_memory_t memories[3];
  for (int i = 0; i < 3; i++) {
    ONEDNN_MUST(dnnl_memory_desc_init_by_tag(&layouts[i], 2, dims[i], dnnl_f32, dnnl_ab));
    memories[i] = onednn_memory(&layouts[i], engine, values[i]);
  }
  dnnl_matmul_desc_t matmul;
  dnnl_primitive_desc_t descriptor;
  dnnl_primitive_t primitive;
  ONEDNN_MUST(dnnl_matmul_desc_init(&matmul, &layouts[0], &layouts[1], NULL, &layouts[2]));
  ONEDNN_MUST(dnnl_primitive_desc_create(&descriptor, &matmul, NULL, engine, NULL));
  ONEDNN_MUST(dnnl_primitive_create(&primitive, descriptor));
  dnnl_exec_arg_t arguments[3] = {
      {DNNL_ARG_SRC, memories[0]}, {DNNL_ARG_WEIGHTS, memories[1]}, {DNNL_ARG_DST, memories[2]}};
  ONEDNN_MUST(dnnl_primitive_execute(primitive, stream, 3, arguments));
  ONEDNN_MUST(dnnl_stream_wait(stream));
  ONEDNN_MUST(dnnl_primitive_destroy(primitive));
  ONEDNN_MUST(dnnl_primitive_desc_destroy(descriptor));
  for (int i = 0; i < 3; i++) ONEDNN_MUST(dnnl_memory_destroy(memories[i]));
}

static long run_shape(int index, uint32_t seed, dnnl_engine_t engine, dnnl_stream_t stream) {
  const shape* s = &kShapes[index];
  const size_t counts[3] = {(size_t)(s->rows * s->inner), (size_t)(s->inner * s->columns),
                            (size_t)(s->rows * s->columns)};
  float* values[3];
  for (int i = 0; i < 3; i++) values[i] = exact_floats(counts[i]);
  exact_fill(values[0], counts[0], seed);
  exact_fill(values[1], counts[1], seed + 1);
  for (size_t i = 0; i < counts[2]; i++) values[2][i] = 1e6f; /* what is left out stays visible */
  multiply(s, values, engine, stream);
  long wrong = wrong_numbers(s, values[0], values[1], values[2]);
  for (int i = 0; i < 3; i++) free(values[i]);
  return wrong;
}

int main(void) {
  const long wrong = onednn_rounds(kRounds, kShapeCount, run_shape);
  printf("matmul: %d products, %ld wrong numbers\n", kRounds * kShapeCount, wrong);
  return wrong == 0 ? 0 : 1;
}
