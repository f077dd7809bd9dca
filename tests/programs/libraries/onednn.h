/* oneDNN's C API with its errors ended: any failure is a message and exit code 2. */
#pragma once

#include <dnnl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define ONEDNN_MUST(call)                                                             \
  do {                                                                                \
    dnnl_status_t status_ = (call);                                                   \
    if (status_ != dnnl_success) {                                                    \
      fprintf(stderr, "%s:%d: oneDNN status %d\n", __FILE__, __LINE__, (int)status_); \
      exit(2);                                                                        \
    }                                                                                 \
  } while (0)

/* Runs each of so many shapes so many times, each time with another seed; the sum of what `run`
 * found wrong. */
static inline long onednn_rounds(int rounds, int shapes,
                                 long (*run)(int shape, uint32_t seed, dnnl_engine_t engine,
                                             dnnl_stream_t stream)) {
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  ONEDNN_MUST(dnnl_engine_create(&engine, dnnl_cpu, 0));
  ONEDNN_MUST(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
  long wrong = 0;
  for (int round = 0; round < rounds; round++) {
    for (int i = 0; i < shapes; i++) wrong += run(i, (uint32_t)(round * 10 + i), engine, stream);
  }
  ONEDNN_MUST(dnnl_stream_destroy(stream));
  ONEDNN_MUST(dnnl_engine_destroy(engine));
  return wrong;
}

static inline dnnl_memory_t onednn_memory(const dnnl_memory_desc_t* layout, dnnl_engine_t engine,
                                          void* handle) {
  dnnl_memory_t memory;
  ONEDNN_MUST(dnnl_memory_create(&memory, layout, engine, handle));
  return memory;
}

/* Copies `from` into `to`, changing its layout. */
static inline void onednn_reorder(dnnl_memory_t from, dnnl_memory_t to, dnnl_engine_t engine,
                                  dnnl_stream_t stream) {
  const dnnl_memory_desc_t* from_layout;
  const dnnl_memory_desc_t* to_layout;
  dnnl_primitive_desc_t descriptor;
  dnnl_primitive_t reorder;
  ONEDNN_MUST(dnnl_memory_get_memory_desc(from, &from_layout));
  ONEDNN_MUST(dnnl_memory_get_memory_desc(to, &to_layout));
  ONEDNN_MUST(dnnl_reorder_primitive_desc_create(&descriptor, from_layout, engine, to_layout,
                                                 engine, NULL));
  ONEDNN_MUST(dnnl_primitive_create(&reorder, descriptor));
  dnnl_exec_arg_t arguments[2] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
  ONEDNN_MUST(dnnl_primitive_execute(reorder, stream, 2, arguments));
  ONEDNN_MUST(dnnl_stream_wait(stream));
  ONEDNN_MUST(dnnl_primitive_destroy(reorder));
  ONEDNN_MUST(dnnl_primitive_desc_destroy(descriptor));
}
