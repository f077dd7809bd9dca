// BLAS's matrix products, interposed: cblas_?gemm and the Fortran names, plain and as packages of
// Python have them, with something before or behind each name. The arguments are handed
// on as they came. Whole numbers are taken for words here, since a library may be built with
// integers of 32 bits or of 64: what a caller of the former leaves in a word's upper half is handed
// on as well, and only the lower half is looked at.
#include <stddef.h>
#include <stdint.h>

#include "bindings/preload/probes/blas/gemm_scope.h"
#include "bindings/preload/probes/blas/plain_gemm.h"
#include "bindings/preload/runtimes/library_function.h"

namespace {

using optile::preload::ComplexDouble;
using optile::preload::ComplexFloat;
using optile::preload::function_behind;
using optile::preload::GemmCall;
using optile::preload::GemmScope;
using optile::preload::is_large_gemm;
using optile::preload::LibraryFunction;
using optile::preload::plain_gemm;
using optile::preload::PlainGemm;

using Word = long;

// What stands around a plain name. Part of keys, so the numbers stay.
enum Family : uint32_t { kPlain = 0, kLong = 1, kScipy = 2, kScipyLong = 3 };

// Reaches a constant or a pointer to one: real numbers are passed by value, complex ones are not.
inline const void* address_of(const float& number) {
  return &number;
}
inline const void* address_of(const double& number) {
  return &number;
}
inline const void* address_of(const void* const& number) {
  return number;
}

char operation(Word cblas) {
  switch (static_cast<int32_t>(cblas)) {
    case 111:
      return 'n';
    case 112:
      return 't';
    case 113:
      return 'c';
    default:
      return '?';
  }
}

char operation(const char* fortran) {
  const char letter = static_cast<char>(*fortran | 0x20);
  return letter == 'n' || letter == 't' || letter == 'c' ? letter : '?';
}

constexpr const char* name_of(float /*number*/) {
  return "sgemm";
}
constexpr const char* name_of(double /*number*/) {
  return "dgemm";
}
constexpr const char* name_of(ComplexFloat /*number*/) {
  return "cgemm";
}
constexpr const char* name_of(ComplexDouble /*number*/) {
  return "zgemm";
}

constexpr int32_t kRowMajor = 101;

#define OPTILE_CBLAS_PARAMETERS                                                               \
  Word order, Word left_op, Word right_op, Word rows, Word columns, Word inner, Scalar alpha, \
      const void *left, Word left_stride, const void *right, Word right_stride, Scalar beta,  \
      void *product, Word product_stride
#define OPTILE_CBLAS_ARGUMENTS                                                                   \
  order, left_op, right_op, rows, columns, inner, alpha, left, left_stride, right, right_stride, \
      beta, product, product_stride

template <typename Integer, typename Number, typename Scalar>
void plain_cblas(OPTILE_CBLAS_PARAMETERS) {
  const auto size = [](Word word) { return int64_t{static_cast<Integer>(word)}; };
  PlainGemm call = {operation(left_op),
                    operation(right_op),
                    size(rows),
                    size(columns),
                    size(inner),
                    address_of(alpha),
                    left,
                    size(left_stride),
                    right,
                    size(right_stride),
                    address_of(beta),
                    product,
                    size(product_stride)};
  if (static_cast<int32_t>(order) == kRowMajor) {
    call = {call.right_op, call.left_op, call.columns,       call.rows, call.inner,
            call.alpha,    call.right,   call.right_stride,  call.left, call.left_stride,
            call.beta,     call.product, call.product_stride};
  }
  plain_gemm<Number>(call);
}

// Out of line and with the same arguments, so that what goes straight through needs no stack of its
// own and the others come here by a jump: the return address is then the program's.
template <LibraryFunction& function, Family family, typename Integer, typename Number,
          typename Scalar>
__attribute__((noinline)) void noticed_cblas(OPTILE_CBLAS_PARAMETERS) {
  const void* caller = __builtin_return_address(0);
  using Real = void (*)(OPTILE_CBLAS_PARAMETERS);
  const auto real = reinterpret_cast<Real>(function_behind(function, caller));
  if (real == nullptr) {
    plain_cblas<Integer, Number, Scalar>(OPTILE_CBLAS_ARGUMENTS);
    return;
  }
  const auto size = [](Word word) { return int64_t{static_cast<Integer>(word)}; };
  if (!is_large_gemm(size(rows), size(columns), size(inner))) {
    real(OPTILE_CBLAS_ARGUMENTS);
    return;
  }
  const GemmCall call = {name_of(Number()),
                         size(rows),
                         size(columns),
                         size(inner),
                         operation(left_op),
                         operation(right_op),
                         static_cast<int32_t>(order) == kRowMajor,
                         family};
  const GemmScope scope(call, caller, reinterpret_cast<const void*>(real));
  real(OPTILE_CBLAS_ARGUMENTS);
}

template <LibraryFunction& function, Family family, typename Integer, typename Number,
          typename Scalar>
inline __attribute__((always_inline)) void cblas(OPTILE_CBLAS_PARAMETERS) {
  using Real = void (*)(OPTILE_CBLAS_PARAMETERS);
  const auto real = reinterpret_cast<Real>(__atomic_load_n(&function.everywhere, __ATOMIC_ACQUIRE));
  if (real == nullptr || is_large_gemm(static_cast<Integer>(rows), static_cast<Integer>(columns),
                                       static_cast<Integer>(inner))) {
    noticed_cblas<function, family, Integer, Number, Scalar>(OPTILE_CBLAS_ARGUMENTS);
    return;
  }
  real(OPTILE_CBLAS_ARGUMENTS);
}

// The two lengths that Fortran compilers hand over for the operations' texts come last; from a C
// caller that leaves them out they are whatever is on the stack, and nobody looks.
#define OPTILE_FORTRAN_PARAMETERS                                                      \
  const char *left_op, const char *right_op, const void *rows, const void *columns,    \
      const void *inner, const void *alpha, const void *left, const void *left_stride, \
      const void *right, const void *right_stride, const void *beta, void *product,    \
      const void *product_stride, size_t left_op_length, size_t right_op_length
#define OPTILE_FORTRAN_ARGUMENTS                                                                \
  left_op, right_op, rows, columns, inner, alpha, left, left_stride, right, right_stride, beta, \
      product, product_stride, left_op_length, right_op_length

template <typename Integer>
int64_t number_at(const void* address) {
  return *static_cast<const Integer*>(address);
}

template <LibraryFunction& function, Family family, typename Integer, typename Number>
__attribute__((noinline)) void noticed_fortran(OPTILE_FORTRAN_PARAMETERS) {
  const void* caller = __builtin_return_address(0);
  using Real = void (*)(OPTILE_FORTRAN_PARAMETERS);
  const auto real = reinterpret_cast<Real>(function_behind(function, caller));
  const auto size = number_at<Integer>;
  if (real == nullptr) {
    plain_gemm<Number>({operation(left_op), operation(right_op), size(rows), size(columns),
                        size(inner), alpha, left, size(left_stride), right, size(right_stride),
                        beta, product, size(product_stride)});
    return;
  }
  if (!is_large_gemm(size(rows), size(columns), size(inner))) {
    real(OPTILE_FORTRAN_ARGUMENTS);
    return;
  }
  const GemmCall call = {name_of(Number()),  size(rows),          size(columns), size(inner),
                         operation(left_op), operation(right_op), false,         family};
  const GemmScope scope(call, caller, reinterpret_cast<const void*>(real));
  real(OPTILE_FORTRAN_ARGUMENTS);
}

template <LibraryFunction& function, Family family, typename Integer, typename Number>
inline __attribute__((always_inline)) void fortran(OPTILE_FORTRAN_PARAMETERS) {
  using Real = void (*)(OPTILE_FORTRAN_PARAMETERS);
  const auto real = reinterpret_cast<Real>(__atomic_load_n(&function.everywhere, __ATOMIC_ACQUIRE));
  if (real == nullptr || is_large_gemm(number_at<Integer>(rows), number_at<Integer>(columns),
                                       number_at<Integer>(inner))) {
    noticed_fortran<function, family, Integer, Number>(OPTILE_FORTRAN_ARGUMENTS);
    return;
  }
  real(OPTILE_FORTRAN_ARGUMENTS);
}

}  // namespace

extern "C" {

#define OPTILE_CBLAS_GEMM(symbol, family, Integer, Number, By)                                    \
  static LibraryFunction behind_##symbol = {#symbol};                                             \
  void symbol(Word order, Word left_op, Word right_op, Word rows, Word columns, Word inner,       \
              By alpha, const void* left, Word left_stride, const void* right, Word right_stride, \
              By beta, void* product, Word product_stride) {                                      \
    cblas<behind_##symbol, family, Integer, Number, By>(OPTILE_CBLAS_ARGUMENTS);                  \
  }
#define OPTILE_FORTRAN_GEMM(symbol, family, Integer, Number)                     \
  static LibraryFunction behind_##symbol = {#symbol};                            \
  void symbol(OPTILE_FORTRAN_PARAMETERS) {                                       \
    fortran<behind_##symbol, family, Integer, Number>(OPTILE_FORTRAN_ARGUMENTS); \
  }
#define OPTILE_GEMMS(before, after, fortran_after, family, Integer)                          \
  OPTILE_CBLAS_GEMM(before##cblas_sgemm##after, family, Integer, float, float)               \
  OPTILE_CBLAS_GEMM(before##cblas_dgemm##after, family, Integer, double, double)             \
  OPTILE_CBLAS_GEMM(before##cblas_cgemm##after, family, Integer, ComplexFloat, const void*)  \
  OPTILE_CBLAS_GEMM(before##cblas_zgemm##after, family, Integer, ComplexDouble, const void*) \
  OPTILE_FORTRAN_GEMM(before##sgemm##fortran_after, family, Integer, float)                  \
  OPTILE_FORTRAN_GEMM(before##dgemm##fortran_after, family, Integer, double)                 \
  OPTILE_FORTRAN_GEMM(before##cgemm##fortran_after, family, Integer, ComplexFloat)           \
  OPTILE_FORTRAN_GEMM(before##zgemm##fortran_after, family, Integer, ComplexDouble)

OPTILE_GEMMS(, , _, kPlain, int32_t)
OPTILE_GEMMS(, 64_, _64_, kLong, int64_t)   // numpy's packages until 1.25, Julia's library
OPTILE_GEMMS(scipy_, , _, kScipy, int32_t)  // scipy's packages
OPTILE_GEMMS(scipy_, 64_, _64_, kScipyLong, int64_t)  // numpy's

}  // extern "C"
