/* Products of whole numbers between a program's own regions: ops whose width is tuned. */
#pragma once

#include <stdlib.h>

void cblas_dgemm(int order, int left_op, int right_op, int rows, int columns, int inner,
                 double alpha, const double* left, int left_stride, const double* right,
                 int right_stride, double beta, double* product, int product_stride);

enum { kSide = 224, kNumbers = kSide * kSide };

typedef struct products {
  double* left;
  double* right;
  double* product;
} products;

static inline products make_products(void) {
  products made = {malloc(kNumbers * sizeof(double)), malloc(kNumbers * sizeof(double)),
                   malloc(kNumbers * sizeof(double))};
  if (made.left == NULL || made.right == NULL || made.product == NULL) exit(2);
  for (int i = 0; i < kNumbers; i++) {
    made.left[i] = i * 7 % 5;
    made.right[i] = i * 3 % 7;
  }
  return made;
}

static inline void multiply(const products* p) {
  enum { kRowMajor = 101, kNoTranspose = 111 };
  cblas_dgemm(kRowMajor, kNoTranspose, kNoTranspose, kSide, kSide, kSide, 1.0, p->left, kSide,
              p->right, kSide, 0.0, p->product, kSide);
}
