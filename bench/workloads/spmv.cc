// Conjugate gradients on a sparse matrix: a product of matrix and vector, bound by memory, sums and
// updates of vectors, and a preconditioner that solves a few tiny blocks one after the other. A
// step is a few iterations. `--batch` is the number of rows, in thousands. Sums are made of blocks
// of a fixed size, so the figure is the same at every width.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/workloads/timed_loop.h"

namespace {

constexpr int kThousands = 200;
constexpr int kIterations = 6;
constexpr int kBlocks = 128;  // of a sum
constexpr int kNear = 5;      // entries of a row beside the diagonal, on each side
constexpr int kTinyRows = 48;
constexpr int kTinySweeps = 24;  // of the preconditioner

using Vector = std::vector<double>;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

struct Matrix {
  explicit Matrix(int wanted) : rows(wanted) {
    begin.push_back(0);
    uint32_t state = 12345;
    for (int row = 0; row < rows; ++row) {
      for (int i = -kNear; i <= kNear; ++i) {
        state = state * 1664525u + 1013904223u;
        const int far = i * (1 + static_cast<int>(state >> 24) % 64);
        column.push_back(std::clamp(row + far, 0, rows - 1));
        value.push_back(i == 0 ? 2.0 * kNear + 1 : -0.5);
      }
      begin.push_back(static_cast<int>(column.size()));
    }
  }
  int rows;
  std::vector<int> begin;
  std::vector<int> column;
  Vector value;
};

void multiply(const Matrix& matrix, const Vector& by, Vector& product) {
#pragma omp parallel for schedule(static)
  for (int row = 0; row < matrix.rows; ++row) {
    double sum = 0;
    for (int i = matrix.begin[at(row)]; i < matrix.begin[at(row + 1)]; ++i) {
      sum += matrix.value[at(i)] * by[at(matrix.column[at(i)])];
    }
    product[at(row)] = sum;
  }
}

double dot(const Vector& a, const Vector& b) {
  double parts[kBlocks];
  const int rows = static_cast<int>(a.size());
#pragma omp parallel for schedule(static)
  for (int block = 0; block < kBlocks; ++block) {
    const int first = static_cast<int>(int64_t{rows} * block / kBlocks);
    const int last = static_cast<int>(int64_t{rows} * (block + 1) / kBlocks);
    double sum = 0;
    for (int row = first; row < last; ++row) sum += a[at(row)] * b[at(row)];
    parts[block] = sum;
  }
  double sum = 0;
  for (const double part : parts) sum += part;
  return sum;
}

void add(Vector& to, double factor, const Vector& what) {
  const int rows = static_cast<int>(to.size());
#pragma omp parallel for schedule(static)
  for (int row = 0; row < rows; ++row) to[at(row)] += factor * what[at(row)];
}

void turn(Vector& direction, double factor, const Vector& residual) {
  const int rows = static_cast<int>(direction.size());
#pragma omp parallel for schedule(static)
  for (int row = 0; row < rows; ++row) {
    direction[at(row)] = residual[at(row)] + factor * direction[at(row)];
  }
}

// Sweeps over a block that fits into a first-level cache, each a region: threads do not pay here.
void smooth(Vector& tiny, Vector& next) {
#pragma omp parallel for schedule(static)
  for (int row = 0; row < kTinyRows; ++row) {
    const double left = tiny[at(row == 0 ? kTinyRows - 1 : row - 1)];
    const double right = tiny[at(row == kTinyRows - 1 ? 0 : row + 1)];
    next[at(row)] = 0.5 * tiny[at(row)] + 0.25 * (left + right);
  }
  tiny.swap(next);
}

}  // namespace

int main(int count, char** words) {
  optile::bench::LoopOptions options = optile::bench::parse_options(count, words);
  options.batch = options.batch > 0 ? options.batch : kThousands;
  const Matrix matrix(options.batch * 1000);
  const Vector right(at(matrix.rows), 1.0);
  Vector solution(at(matrix.rows), 0.0);
  Vector product(at(matrix.rows), 0.0);
  Vector tiny(at(kTinyRows), 0.0);
  Vector tiny_next = tiny;
  return optile::bench::run_timed("spmv", options, [&] {
    std::fill(solution.begin(), solution.end(), 0.0);
    Vector residual = right;
    Vector direction = right;
    double norm = dot(residual, residual);
    for (int i = 0; i < kIterations; ++i) {
      multiply(matrix, direction, product);
      const double length = norm / dot(direction, product);
      add(solution, length, direction);
      add(residual, -length, product);
      for (int row = 0; row < kTinyRows; ++row) tiny[at(row)] = residual[at(row)];
      for (int sweep = 0; sweep < kTinySweeps; ++sweep) smooth(tiny, tiny_next);
      for (int row = 0; row < kTinyRows; ++row) residual[at(row)] = tiny[at(row)];
      const double next = dot(residual, residual);
      turn(direction, next / norm, residual);
      norm = next;
    }
    return norm;
  });
}
