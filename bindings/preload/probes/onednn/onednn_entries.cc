// oneDNN's C interface, interposed as far as primitives are described, created and executed: the
// names of version 2 and those of version 3. The arguments are handed on as they came. The
// describing functions of version 3 have whole numbers and pointers, up to twelve of them behind
// the descriptor, those of recurrent layers up to 28, and between them up to three real numbers.
// Real numbers travel in registers of their own, in whatever place they stand, so all of both are
// handed on, and what a shorter call leaves there nobody looks at.
#include "bindings/preload/probes/onednn/onednn_ops.h"
#include "bindings/preload/runtimes/library_function.h"

namespace {

using optile::preload::CreateScope;
using optile::preload::DescribeScope;
using optile::preload::ExecuteScope;
using optile::preload::function_behind;
using optile::preload::LibraryFunction;

using Word = long;

constexpr int kNoSuchFunction = 3;  // dnnl_unimplemented

LibraryFunction behind_create = {"dnnl_primitive_create"};
LibraryFunction behind_execute = {"dnnl_primitive_execute"};
LibraryFunction behind_describe = {"dnnl_primitive_desc_create"};
LibraryFunction behind_iterate = {"dnnl_primitive_desc_iterator_create"};

int describe_v2(LibraryFunction& behind, const void* caller, const void** descriptor,
                const void* operation, const void* attributes, void* engine, const void* hint) {
  using Real = int (*)(const void**, const void*, const void*, void*, const void*);
  const auto real = reinterpret_cast<Real>(function_behind(behind, caller));
  if (real == nullptr) return kNoSuchFunction;
  const DescribeScope scope(nullptr, operation, caller, reinterpret_cast<const void*>(real));
  return real(descriptor, operation, attributes, engine, hint);
}

#define OPTILE_WORDS_PARAMETERS                                                              \
  Word w1, Word w2, Word w3, Word w4, Word w5, Word w6, Word w7, Word w8, Word w9, Word w10, \
      Word w11, Word w12
#define OPTILE_MORE_PARAMETERS                                                              \
  Word w13, Word w14, Word w15, Word w16, Word w17, Word w18, Word w19, Word w20, Word w21, \
      Word w22, Word w23, Word w24, Word w25, Word w26, Word w27, Word w28
#define OPTILE_REALS_PARAMETERS float r1, float r2, float r3
#define OPTILE_WORDS w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12
#define OPTILE_MORE w13, w14, w15, w16, w17, w18, w19, w20, w21, w22, w23, w24, w25, w26, w27, w28
#define OPTILE_REALS r1, r2, r3

template <typename... Handed>
int describe_v3(LibraryFunction& behind, const char* kind, const void* caller,
                const void** descriptor, Handed... handed) {
  using Real = int (*)(const void**, Handed...);
  const auto real = reinterpret_cast<Real>(function_behind(behind, caller));
  if (real == nullptr) return kNoSuchFunction;
  const DescribeScope scope(kind, nullptr, caller, reinterpret_cast<const void*>(real));
  return real(descriptor, handed...);
}

}  // namespace

extern "C" {

int dnnl_primitive_desc_create(const void** descriptor, const void* operation,
                               const void* attributes, void* engine, const void* hint) {
  return describe_v2(behind_describe, __builtin_return_address(0), descriptor, operation,
                     attributes, engine, hint);
}

int dnnl_primitive_desc_iterator_create(const void** iterator, const void* operation,
                                        const void* attributes, void* engine, const void* hint) {
  return describe_v2(behind_iterate, __builtin_return_address(0), iterator, operation, attributes,
                     engine, hint);
}

int dnnl_primitive_create(const void** primitive, const void* descriptor) {
  using Real = int (*)(const void**, const void*);
  const void* caller = __builtin_return_address(0);
  const auto real = reinterpret_cast<Real>(function_behind(behind_create, caller));
  if (real == nullptr) return kNoSuchFunction;
  CreateScope scope(descriptor, caller, reinterpret_cast<const void*>(real));
  const int status = real(primitive, descriptor);
  if (status == 0) scope.done(*primitive);
  return status;
}

int dnnl_primitive_execute(const void* primitive, void* stream, int count, const void* arguments) {
  using Real = int (*)(const void*, void*, int, const void*);
  const void* caller = __builtin_return_address(0);
  const auto real = reinterpret_cast<Real>(function_behind(behind_execute, caller));
  if (real == nullptr) return kNoSuchFunction;
  const ExecuteScope scope(primitive, caller, reinterpret_cast<const void*>(real));
  return real(primitive, stream, count, arguments);
}

#define OPTILE_DESCRIBE(symbol, kind)                                                     \
  static LibraryFunction behind_##symbol = {#symbol};                                     \
  int symbol(const void** descriptor, OPTILE_WORDS_PARAMETERS, OPTILE_REALS_PARAMETERS) { \
    return describe_v3(behind_##symbol, kind, __builtin_return_address(0), descriptor,    \
                       OPTILE_WORDS, OPTILE_REALS);                                       \
  }
#define OPTILE_DESCRIBE_RECURRENT(symbol)                                               \
  static LibraryFunction behind_##symbol = {#symbol};                                   \
  int symbol(const void** descriptor, OPTILE_WORDS_PARAMETERS, OPTILE_MORE_PARAMETERS,  \
             OPTILE_REALS_PARAMETERS) {                                                 \
    return describe_v3(behind_##symbol, "rnn", __builtin_return_address(0), descriptor, \
                       OPTILE_WORDS, OPTILE_MORE, OPTILE_REALS);                        \
  }

OPTILE_DESCRIBE(dnnl_convolution_forward_primitive_desc_create, "convolution")
OPTILE_DESCRIBE(dnnl_convolution_backward_data_primitive_desc_create, "convolution")
OPTILE_DESCRIBE(dnnl_convolution_backward_weights_primitive_desc_create, "convolution")
OPTILE_DESCRIBE(dnnl_deconvolution_forward_primitive_desc_create, "deconvolution")
OPTILE_DESCRIBE(dnnl_deconvolution_backward_data_primitive_desc_create, "deconvolution")
OPTILE_DESCRIBE(dnnl_deconvolution_backward_weights_primitive_desc_create, "deconvolution")
OPTILE_DESCRIBE(dnnl_inner_product_forward_primitive_desc_create, "inner_product")
OPTILE_DESCRIBE(dnnl_inner_product_backward_data_primitive_desc_create, "inner_product")
OPTILE_DESCRIBE(dnnl_inner_product_backward_weights_primitive_desc_create, "inner_product")
OPTILE_DESCRIBE(dnnl_matmul_primitive_desc_create, "matmul")
OPTILE_DESCRIBE(dnnl_pooling_forward_primitive_desc_create, "pooling")
OPTILE_DESCRIBE(dnnl_pooling_backward_primitive_desc_create, "pooling")
OPTILE_DESCRIBE(dnnl_softmax_forward_primitive_desc_create, "softmax")
OPTILE_DESCRIBE(dnnl_softmax_backward_primitive_desc_create, "softmax")
OPTILE_DESCRIBE(dnnl_binary_primitive_desc_create, "binary")
OPTILE_DESCRIBE(dnnl_eltwise_forward_primitive_desc_create, "eltwise")
OPTILE_DESCRIBE(dnnl_eltwise_backward_primitive_desc_create, "eltwise")
OPTILE_DESCRIBE(dnnl_lrn_forward_primitive_desc_create, "lrn")
OPTILE_DESCRIBE(dnnl_lrn_backward_primitive_desc_create, "lrn")
OPTILE_DESCRIBE(dnnl_batch_normalization_forward_primitive_desc_create, "batch_normalization")
OPTILE_DESCRIBE(dnnl_batch_normalization_backward_primitive_desc_create, "batch_normalization")
OPTILE_DESCRIBE(dnnl_group_normalization_forward_primitive_desc_create, "group_normalization")
OPTILE_DESCRIBE(dnnl_group_normalization_backward_primitive_desc_create, "group_normalization")
OPTILE_DESCRIBE(dnnl_layer_normalization_forward_primitive_desc_create, "layer_normalization")
OPTILE_DESCRIBE(dnnl_layer_normalization_backward_primitive_desc_create, "layer_normalization")
OPTILE_DESCRIBE(dnnl_layer_normalization_forward_primitive_desc_create_v2, "layer_normalization")
OPTILE_DESCRIBE(dnnl_layer_normalization_backward_primitive_desc_create_v2, "layer_normalization")
OPTILE_DESCRIBE(dnnl_reduction_primitive_desc_create, "reduction")
OPTILE_DESCRIBE(dnnl_prelu_forward_primitive_desc_create, "prelu")
OPTILE_DESCRIBE(dnnl_prelu_backward_primitive_desc_create, "prelu")
OPTILE_DESCRIBE(dnnl_resampling_forward_primitive_desc_create, "resampling")
OPTILE_DESCRIBE(dnnl_resampling_backward_primitive_desc_create, "resampling")
OPTILE_DESCRIBE(dnnl_shuffle_forward_primitive_desc_create, "shuffle")
OPTILE_DESCRIBE(dnnl_shuffle_backward_primitive_desc_create, "shuffle")

OPTILE_DESCRIBE_RECURRENT(dnnl_vanilla_rnn_forward_primitive_desc_create)
OPTILE_DESCRIBE_RECURRENT(dnnl_vanilla_rnn_backward_primitive_desc_create)
OPTILE_DESCRIBE_RECURRENT(dnnl_lstm_forward_primitive_desc_create)
OPTILE_DESCRIBE_RECURRENT(dnnl_lstm_backward_primitive_desc_create)
OPTILE_DESCRIBE_RECURRENT(dnnl_gru_forward_primitive_desc_create)
OPTILE_DESCRIBE_RECURRENT(dnnl_gru_backward_primitive_desc_create)
OPTILE_DESCRIBE_RECURRENT(dnnl_lbr_gru_forward_primitive_desc_create)
OPTILE_DESCRIBE_RECURRENT(dnnl_lbr_gru_backward_primitive_desc_create)
OPTILE_DESCRIBE_RECURRENT(dnnl_augru_forward_primitive_desc_create)
OPTILE_DESCRIBE_RECURRENT(dnnl_augru_backward_primitive_desc_create)
OPTILE_DESCRIBE_RECURRENT(dnnl_lbr_augru_forward_primitive_desc_create)
OPTILE_DESCRIBE_RECURRENT(dnnl_lbr_augru_backward_primitive_desc_create)

}  // extern "C"
