// A heat equation on a square by two grids: a few sweeps over the fine one, which want every core,
// and many over a coarse one, which is over before most threads have woken. A step is one such
// cycle. `--batch` is the side of the fine grid. The figure is the same at every width.
#include <cstddef>
#include <utility>
#include <vector>

#include "bench/workloads/timed_loop.h"

namespace {

constexpr int kSide = 1024;
constexpr int kCoarsening = 32;
constexpr int kFineSweeps = 4;
constexpr int kCoarseSweeps = 120;

struct Grid {
  explicit Grid(int wide)
      : side(wide), now(static_cast<std::size_t>(wide) * static_cast<std::size_t>(wide), 0.0) {
    for (int i = 0; i < side; ++i) now[static_cast<std::size_t>(i)] = 1.0;  // one hot edge
    next = now;
  }
  std::size_t at(int row, int column) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(side) +
           static_cast<std::size_t>(column);
  }
  int side;
  std::vector<double> now;
  std::vector<double> next;
};

double mean(const Grid& grid, int row, int column) {
  return 0.25 * (grid.now[grid.at(row - 1, column)] + grid.now[grid.at(row + 1, column)] +
                 grid.now[grid.at(row, column - 1)] + grid.now[grid.at(row, column + 1)]);
}

// Each grid has a region of its own, as programs have that were written for both.
void sweep_fine(Grid& grid) {
#pragma omp parallel for schedule(static)
  for (int row = 1; row < grid.side - 1; ++row) {
    for (int column = 1; column < grid.side - 1; ++column) {
      grid.next[grid.at(row, column)] = mean(grid, row, column);
    }
  }
  std::swap(grid.now, grid.next);
}

void sweep_coarse(Grid& grid) {
#pragma omp parallel for schedule(static)
  for (int row = 1; row < grid.side - 1; ++row) {
    for (int column = 1; column < grid.side - 1; ++column) {
      grid.next[grid.at(row, column)] = mean(grid, row, column);
    }
  }
  std::swap(grid.now, grid.next);
}

void restrict_to(const Grid& fine, Grid& coarse) {
  for (int row = 1; row < coarse.side - 1; ++row) {
    for (int column = 1; column < coarse.side - 1; ++column) {
      coarse.now[coarse.at(row, column)] =
          fine.now[fine.at(row * kCoarsening, column * kCoarsening)];
    }
  }
}

void prolong(const Grid& coarse, Grid& fine) {
  for (int row = 1; row < coarse.side - 1; ++row) {
    for (int column = 1; column < coarse.side - 1; ++column) {
      fine.now[fine.at(row * kCoarsening, column * kCoarsening)] =
          coarse.now[coarse.at(row, column)];
    }
  }
}

}  // namespace

int main(int count, char** words) {
  optile::bench::LoopOptions options = optile::bench::parse_options(count, words);
  options.batch = options.batch > 4 * kCoarsening ? options.batch : kSide;
  Grid fine(options.batch);
  Grid coarse(options.batch / kCoarsening);
  return optile::bench::run_timed("jacobi", options, [&] {
    for (int i = 0; i < kFineSweeps; ++i) sweep_fine(fine);
    restrict_to(fine, coarse);
    for (int i = 0; i < kCoarseSweeps; ++i) sweep_coarse(coarse);
    prolong(coarse, fine);
    double heat = 0;
    for (int row = 0; row < coarse.side; ++row) {
      heat += coarse.now[coarse.at(row, coarse.side / 2)];
    }
    return heat;
  });
}
