/* Annotations: a program's own word on where its ops and steps begin and end. C11 and C++11, header
 * only, nothing to link with but the C library (before glibc 2.34: -ldl).
 *
 * For work that optile cannot see by itself: loops of the program's own, a library's call. An
 * annotated op is one like any other: it is measured, gets a width, and `optile explain` knows it
 * by name. Without `optile run` every call is a test of one pointer.
 *
 * Rules:
 * - Begin and end on the same thread, outside parallel regions, strictly nested. Of nested ops the
 *   outermost gets the width. An op that is left without its end (longjmp) is closed once
 *   that shows: its storage begins anew, or an op or step comes from further up the stack.
 * - Code inside an op finds the op's width in omp_get_max_threads(). It is the program's own at the
 *   first execution on each thread, never wider later, and back at the end of the op. What the
 *   program keeps for longer than the op must not be sized by a narrower count than that of the
 *   work that uses it.
 * - An op is its name and shape: whatever wants another number of threads needs another of them.
 * - Names are copied. Nothing is said in forked children.
 * Nothing here fails, blocks or allocates. */
#pragma once

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#include <initializer_list>
extern "C" {
#define OPTILE_ANNOTATE_FUNCTION __attribute__((visibility("hidden"))) inline
#else
#define OPTILE_ANNOTATE_FUNCTION __attribute__((unused)) static inline
#endif

/* An open op; of the caller, usually on its stack. Opaque. */
typedef struct optile_op {
  uint64_t words[10];
} optile_op;

/* What the shim offers to annotated programs. `here`: an address in the object that speaks, null
 * where there is none, as in scripts. */
#define OPTILE_ANNOTATION_SYMBOL "optile_annotation_api_1"
typedef struct optile_annotation_api {
  uint32_t bytes; /* sizeof(optile_annotation_api); later versions only append */
  uint32_t reserved;
  void (*begin)(optile_op* op, const char* name, const int64_t* shape, uint32_t dimensions,
                const void* here);
  void (*end)(optile_op* op);
  void (*step)(void);
} optile_annotation_api;

/* Of the preloaded shim, looked up once; null without one. Any thread. */
OPTILE_ANNOTATE_FUNCTION const optile_annotation_api* optile_annotations(void) {
  static const optile_annotation_api none = {0, 0, NULL, NULL, NULL};
  static const optile_annotation_api* known = NULL;
  const optile_annotation_api* api = __atomic_load_n(&known, __ATOMIC_ACQUIRE);
  if (__builtin_expect(api == NULL, 0)) {
    /* NULL is RTLD_DEFAULT, whose name some compilers' modes hide. */
    api = (const optile_annotation_api*)dlsym(NULL, OPTILE_ANNOTATION_SYMBOL);
    if (api == NULL || api->bytes < sizeof(optile_annotation_api)) api = &none;
    __atomic_store_n(&known, api, __ATOMIC_RELEASE);
  }
  return api->begin == NULL ? NULL : api;
}

/* The op `name` on data of this shape (`dimensions` numbers, null for none) begins. */
OPTILE_ANNOTATE_FUNCTION void optile_op_begin(optile_op* op, const char* name, const int64_t* shape,
                                              uint32_t dimensions) {
  static const char here = 0;
  const optile_annotation_api* api = optile_annotations();
  if (api != NULL) api->begin(op, name, shape, dimensions, &here);
}

/* It ends. `op` as it was given to optile_op_begin(). */
OPTILE_ANNOTATE_FUNCTION void optile_op_end(optile_op* op) {
  const optile_annotation_api* api = optile_annotations();
  if (api != NULL) api->end(op);
}

/* One pass of the program's outer loop (a training step, a time step) ends and the next begins, on
 * the thread that issues the ops. From the first call on steps are what the program says; without
 * any they are found by themselves, in the sequence of ops. */
OPTILE_ANNOTATE_FUNCTION void optile_step(void) {
  const optile_annotation_api* api = optile_annotations();
  if (api != NULL) api->step();
}

#ifdef __cplusplus
}

namespace optile {

// An op for as long as its scope lasts, exceptions included:
//   optile::Op op("advect", {rows, columns});
class Op {
 public:
  explicit Op(const char* name, std::initializer_list<int64_t> shape = {}) noexcept {
    optile_op_begin(&op_, name, shape.begin(), static_cast<uint32_t>(shape.size()));
  }
  ~Op() { optile_op_end(&op_); }
  Op(const Op&) = delete;
  Op& operator=(const Op&) = delete;

 private:
  optile_op op_;
};

}  // namespace optile
#endif
