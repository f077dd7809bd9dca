/* Calls what it is given from two places that take turns, and counts what the loader is asked
 * meanwhile: to be preloaded beside the shim. It is linked with no library of its own. */
#define _GNU_SOURCE
#include <dlfcn.h>

typedef void (*Product)(int order, int left_op, int right_op, int rows, int columns, int inner,
                        double alpha, const double* left, int left_stride, const double* right,
                        int right_stride, double beta, double* product, int product_stride);

int loader_questions(void);
void multiply_from_two_sites(Product product, int times);

static int questions;

/* The shim asks for objects that are there already; nobody else does. */
void* dlopen(const char* path, int flags) {
  void* (*real)(const char*, int) = (void* (*)(const char*, int))dlsym(RTLD_NEXT, "dlopen");
  if ((flags & RTLD_NOLOAD) != 0) ++questions;
  return real(path, flags);
}

int loader_questions(void) {
  return questions;
}

void multiply_from_two_sites(Product product, int times) {
  double number = 0;
  for (int i = 0; i < times; ++i) {
    product(101, 111, 111, 8, 8, 8, 1.0, &number, 8, &number, 8, 0.0, &number, 8);
    product(101, 111, 111, 4, 4, 4, 1.0, &number, 4, &number, 4, 0.0, &number, 4);
  }
}
