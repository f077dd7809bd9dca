/* A oneDNN that computes nothing. Like the real one it makes room for as many threads as there are
 * when a primitive is described, and opens teams of that size when it is executed; `eltwise` then
 * has teams of as many as there are, for which the room has to suffice. Built twice: with the names
 * of version 2 and with those of version 3. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fake_onednn_state {
  int described_at; /* threads that the latest description saw */
  int created_at;
  int executed_at;
  int team;     /* that the latest execution asked for */
  int overruns; /* executions by more threads than there was room for */
  unsigned cpu_runtime;
  const char* implementation;
};
struct fake_onednn_state* fake_onednn(void);

struct fake_memory { /* the head of version 2's dnnl_memory_desc_t */
  int dimensions;
  int64_t sizes[12];
  int type;
};
struct fake_operation { /* the head of version 2's descriptions of operations */
  int kind;
  int propagation;
  struct fake_memory source;
  struct fake_memory weights;
  struct fake_memory to;
};
enum { FAKE_CONVOLUTION = 5, FAKE_ELTWISE = 7, FAKE_LRN = 10, FAKE_RNN = 13 };
enum { FAKE_FORWARD = 64, FAKE_BACKWARD_DATA = 160, FAKE_F32 = 3 };

/* Version 2. */
int dnnl_primitive_desc_create(const void** descriptor, const void* operation,
                               const void* attributes, void* engine, const void* hint);
int dnnl_primitive_desc_iterator_create(const void** iterator, const void* operation,
                                        const void* attributes, void* engine, const void* hint);
const void* dnnl_primitive_desc_iterator_fetch(const void* iterator);
/* Version 3, all of its thirteen arguments. */
int dnnl_convolution_forward_primitive_desc_create(
    const void** descriptor, void* engine, int propagation, int algorithm, const void* source,
    const void* weights, const void* bias, const void* to, const void* strides, const void* dilates,
    const void* padding_left, const void* padding_right, const void* attributes);
int dnnl_matmul_primitive_desc_create(const void** descriptor, void* engine, const void* source,
                                      const void* weights, const void* bias, const void* to,
                                      const void* attributes);
/* With real numbers among them, and the most that there are. */
int dnnl_eltwise_forward_primitive_desc_create(const void** descriptor, void* engine,
                                               int propagation, int algorithm, const void* source,
                                               const void* to, float alpha, float beta,
                                               const void* attributes);
int dnnl_lrn_backward_primitive_desc_create(const void** descriptor, void* engine, int algorithm,
                                            const void* source_gradient, const void* to_gradient,
                                            const void* source, int64_t size, float alpha,
                                            float beta, float k, const void* hint,
                                            const void* attributes);
int dnnl_vanilla_rnn_backward_primitive_desc_create(
    const void** descriptor, void* engine, int propagation, int activation, int direction,
    const void* source, const void* state, const void* weights, const void* state_weights,
    const void* bias, const void* to, const void* state_to, const void* source_gradient,
    const void* state_gradient, const void* weights_gradient, const void* state_weights_gradient,
    const void* bias_gradient, const void* to_gradient, const void* state_to_gradient,
    unsigned flags, float alpha, float beta, const void* hint, const void* attributes);
/* Both. */
int dnnl_primitive_create(const void** primitive, const void* descriptor);
int dnnl_primitive_execute(const void* primitive, void* stream, int count, const void* arguments);

#ifdef __cplusplus
}
#endif
