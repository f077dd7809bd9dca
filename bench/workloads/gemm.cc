// Matrix products written by hand, in blocks that fit the first cache: arithmetic bounds it. A step
// is four products, each an OpenMP region over rows of blocks. `--batch` is the matrices' side.
#include <algorithm>
#include <vector>

#include "bench/workloads/timed_loop.h"

namespace {

constexpr int kProducts = 4;
constexpr int kSide = 512;
constexpr int kBlock = 32;

using Matrix = std::vector<float>;

// c += a b for one block of rows.
void multiply_rows(const Matrix& a, const Matrix& b, Matrix& c, int side, int begin, int end) {
  for (int inner = 0; inner < side; inner += kBlock) {
    const int inner_end = std::min(side, inner + kBlock);
    for (int i = begin; i < end; ++i) {
      float* const out = &c[static_cast<std::size_t>(i) * static_cast<std::size_t>(side)];
      for (int k = inner; k < inner_end; ++k) {
        const auto row = static_cast<std::size_t>(k) * static_cast<std::size_t>(side);
        const float factor = a[static_cast<std::size_t>(i) * static_cast<std::size_t>(side) +
                               static_cast<std::size_t>(k)];
        const float* const in = &b[row];
        for (int j = 0; j < side; ++j) out[j] += factor * in[j];
      }
    }
  }
}

void multiply(const Matrix& a, const Matrix& b, Matrix& c, int side) {
#pragma omp parallel for schedule(static)
  for (int begin = 0; begin < side; begin += kBlock) {
    const int end = std::min(side, begin + kBlock);
    std::fill(c.begin() + static_cast<std::ptrdiff_t>(begin) * side,
              c.begin() + static_cast<std::ptrdiff_t>(end) * side, 0.0F);
    multiply_rows(a, b, c, side, begin, end);
  }
}

}  // namespace

int main(int count, char** words) {
  optile::bench::LoopOptions options = optile::bench::parse_options(count, words);
  const int side = options.batch > 0 ? options.batch : kSide;
  options.batch = side;
  const auto size = static_cast<std::size_t>(side) * static_cast<std::size_t>(side);
  Matrix a(size);
  Matrix b(size);
  Matrix c(size);
  for (std::size_t i = 0; i < size; ++i) {
    a[i] = static_cast<float>(i % 7) * 0.25F;
    b[i] = static_cast<float>(i % 5) * 0.5F;
  }
  return optile::bench::run_timed("gemm", options, [&] {
    for (int i = 0; i < kProducts; ++i) multiply(a, b, c, side);
    return static_cast<double>(c[size / 2]);
  });
}
