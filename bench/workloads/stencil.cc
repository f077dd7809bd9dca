// A heat equation on a square: Jacobi sweeps with five points, each an OpenMP region. A step is a
// hundred sweeps; memory and caches bound it, not arithmetic. `--batch` is the side of the square.
#include <cmath>
#include <utility>
#include <vector>

#include "bench/workloads/timed_loop.h"

namespace {

constexpr int kSweeps = 100;
constexpr int kSide = 1024;

double sweep(const std::vector<double>& from, std::vector<double>& to, int side) {
  double change = 0;
#pragma omp parallel for reduction(max : change) schedule(static)
  for (int row = 1; row < side - 1; ++row) {
    const std::size_t at = static_cast<std::size_t>(row) * static_cast<std::size_t>(side);
    const auto wide = static_cast<std::size_t>(side);
    for (std::size_t i = at + 1; i < at + wide - 1; ++i) {
      to[i] = 0.25 * (from[i - 1] + from[i + 1] + from[i - wide] + from[i + wide]);
      change = std::fmax(change, std::fabs(to[i] - from[i]));
    }
  }
  return change;
}

}  // namespace

int main(int count, char** words) {
  optile::bench::LoopOptions options = optile::bench::parse_options(count, words);
  const int side = options.batch > 2 ? options.batch : kSide;
  options.batch = side;
  std::vector<double> now(static_cast<std::size_t>(side) * static_cast<std::size_t>(side), 0.0);
  for (int i = 0; i < side; ++i) now[static_cast<std::size_t>(i)] = 1.0;  // one hot edge
  std::vector<double> next = now;
  return optile::bench::run_timed("stencil", options, [&] {
    double change = 0;
    for (int i = 0; i < kSweeps; ++i) {
      change = sweep(now, next, side);
      std::swap(now, next);
    }
    return change;
  });
}
