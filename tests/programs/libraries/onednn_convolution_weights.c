/* A training loop's weight gradients: oneDNN's convolution backward-weights, which splits its work
 * over a team whose size it fixed beforehand and waits for every one of them at a barrier. A
 * smaller team never gets there. Every gradient is compared with a plain sum. */
#include <math.h>

#include "tests/programs/libraries/exact.h"
#include "tests/programs/libraries/onednn.h"

enum { kBatch = 8, kKernel = 3, kRounds = 12 };

typedef struct shape {
  int in_channels;
  int out_channels;
  int side;
} shape;

static const shape kShapes[] = {{16, 16, 14}, {32, 16, 8}, {16, 32, 7}};
enum { kShapeCount = sizeof kShapes / sizeof kShapes[0] };

static size_t count_of(const dnnl_dims_t dims) {
  return (size_t)(dims[0] * dims[1] * dims[2] * dims[3]);
}

static double reference(const shape* s, const float* source, const float* gradient, int out, int in,
                        int row, int column) {
  double sum = 0;
  for (int image = 0; image < kBatch; image++) {
    for (int y = 0; y < s->side; y++) {
      for (int x = 0; x < s->side; x++) {
        int from_y = y + row - 1;
        int from_x = x + column - 1;
        if (from_y < 0 || from_y >= s->side || from_x < 0 || from_x >= s->side) continue;
        size_t from =
            (size_t)(((image * s->in_channels + in) * s->side + from_y) * s->side + from_x);
        size_t to = (size_t)(((image * s->out_channels + out) * s->side + y) * s->side + x);
        sum += (double)source[from] * (double)gradient[to];
      }
    }
  }
  return sum;
}

static long wrong_weights(const shape* s, const float* source, const float* gradient,
                          const float* weights) {
  long wrong = 0;
  size_t i = 0;
  for (int out = 0; out < s->out_channels; out++) {
    for (int in = 0; in < s->in_channels; in++) {
      for (int row = 0; row < kKernel; row++) {
        for (int column = 0; column < kKernel; column++, i++) {
          double expected = reference(s, source, gradient, out, in, row, column);
          if (fabs(expected - (double)weights[i]) > 0.5) wrong++;
        }
      }
    }
  }
  return wrong;
}

/* What a layer holds: plain tensors of the program's, blocked ones of the library's choice. */
typedef struct layer {
  dnnl_memory_t plain[3];   /* source, gradient of the output, gradient of the weights */
  dnnl_memory_t blocked[3]; /* the same */
  dnnl_primitive_t primitive;
} layer;

static dnnl_memory_desc_t any_layout(const dnnl_dims_t dims) {
  dnnl_memory_desc_t layout;
  ONEDNN_MUST(dnnl_memory_desc_init_by_tag(&layout, 4, dims, dnnl_f32, dnnl_format_tag_any));
  return layout;
}

static dnnl_memory_t plain_memory(const dnnl_dims_t dims, dnnl_engine_t engine, float* values) {
  dnnl_memory_desc_t layout;
  ONEDNN_MUST(dnnl_memory_desc_init_by_tag(&layout, 4, dims, dnnl_f32, dnnl_nchw));
  return onednn_memory(&layout, engine, values);
}

static void create_layer(layer* l, dnnl_engine_t engine, const dnnl_dims_t dims[3],
                         float* values[3]) {
  const dnnl_dims_t strides = {1, 1};
  const dnnl_dims_t padding = {1, 1};
  dnnl_memory_desc_t wanted[3];
  for (int i = 0; i < 3; i++) wanted[i] = any_layout(dims[i]);
  dnnl_convolution_desc_t convolution;
  ONEDNN_MUST(dnnl_convolution_forward_desc_init(&convolution, dnnl_forward_training,
                                                 dnnl_convolution_direct, &wanted[0], &wanted[2],
                                                 NULL, &wanted[1], strides, padding, padding));
  dnnl_primitive_desc_t forward;
  ONEDNN_MUST(dnnl_primitive_desc_create(&forward, &convolution, NULL, engine, NULL));
  ONEDNN_MUST(dnnl_convolution_backward_weights_desc_init(&convolution, dnnl_convolution_direct,
                                                          &wanted[0], &wanted[2], NULL, &wanted[1],
                                                          strides, padding, padding));
  dnnl_primitive_desc_t backward;
  ONEDNN_MUST(dnnl_primitive_desc_create(&backward, &convolution, NULL, engine, forward));
  const dnnl_query_t roles[3] = {dnnl_query_src_md, dnnl_query_diff_dst_md,
                                 dnnl_query_diff_weights_md};
  for (int i = 0; i < 3; i++) {
    l->plain[i] = plain_memory(dims[i], engine, values[i]);
    l->blocked[i] = onednn_memory(dnnl_primitive_desc_query_md(backward, roles[i], 0), engine,
                                  DNNL_MEMORY_ALLOCATE);
  }
  ONEDNN_MUST(dnnl_primitive_create(&l->primitive, backward));
  ONEDNN_MUST(dnnl_primitive_desc_destroy(backward));
  ONEDNN_MUST(dnnl_primitive_desc_destroy(forward));
}

static void destroy_layer(layer* l) {
  for (int i = 0; i < 3; i++) {
    ONEDNN_MUST(dnnl_memory_destroy(l->plain[i]));
    ONEDNN_MUST(dnnl_memory_destroy(l->blocked[i]));
  }
  ONEDNN_MUST(dnnl_primitive_destroy(l->primitive));
}

static void run_layer(layer* l, dnnl_engine_t engine, dnnl_stream_t stream) {
  onednn_reorder(l->plain[0], l->blocked[0], engine, stream);
  onednn_reorder(l->plain[1], l->blocked[1], engine, stream);
  dnnl_exec_arg_t arguments[3] = {{DNNL_ARG_SRC, l->blocked[0]},
                                  {DNNL_ARG_DIFF_DST, l->blocked[1]},
                                  {DNNL_ARG_DIFF_WEIGHTS, l->blocked[2]}};
  ONEDNN_MUST(dnnl_primitive_execute(l->primitive, stream, 3, arguments));
  ONEDNN_MUST(dnnl_stream_wait(stream));
  onednn_reorder(l->blocked[2], l->plain[2], engine, stream);
}

static long run_shape(int index, uint32_t seed, dnnl_engine_t engine, dnnl_stream_t stream) {
  const shape* s = &kShapes[index];
  const dnnl_dims_t dims[3] = {{kBatch, s->in_channels, s->side, s->side},
                               {kBatch, s->out_channels, s->side, s->side},
                               {s->out_channels, s->in_channels, kKernel, kKernel}};
  float* values[3];
  for (int i = 0; i < 3; i++) values[i] = exact_floats(count_of(dims[i]));
  exact_fill(values[0], count_of(dims[0]), seed);
  exact_fill(values[1], count_of(dims[1]), seed + 1);
  layer l;
  create_layer(&l, engine, dims, values);
  run_layer(&l, engine, stream);
  long wrong = wrong_weights(s, values[0], values[1], values[2]);
  destroy_layer(&l);
  for (int i = 0; i < 3; i++) free(values[i]);
  return wrong;
}

int main(void) {
  const long wrong = onednn_rounds(kRounds, kShapeCount, run_shape);
  printf("convolution weights: %d gradients, %ld wrong numbers\n", kRounds * kShapeCount, wrong);
  return wrong == 0 ? 0 : 1;
}
