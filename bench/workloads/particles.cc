// Particles in a field: pushed all at once, which every core helps with; laid onto a grid with
// atomic additions, where threads get in each other's way; and the grid smoothed many times, which
// is over before most threads have woken. A step is one of each. `--batch` is the number of
// particles, in thousands. What is laid down are whole numbers, so the figure is the same at every
// width.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/workloads/timed_loop.h"

namespace {

constexpr int kThousands = 300;
constexpr int kSide = 32;  // of the grid
constexpr int kCells = kSide * kSide;
constexpr int kSweeps = 60;
constexpr double kTime = 0.01;
constexpr double kOfWeight = 1.0 / 1024;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

struct Particles {
  explicit Particles(int count) : x(at(count)), y(at(count)), u(at(count)), v(at(count)) {
    uint32_t state = 99;
    const auto draw = [&state] {
      state = state * 1664525u + 1013904223u;
      return static_cast<double>(state >> 8) / (1 << 24);
    };
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = kSide * draw();
      y[i] = kSide * draw();
      u[i] = draw() - 0.5;
      v[i] = draw() - 0.5;
    }
  }
  std::vector<double> x, y, u, v;
};

int cell_of(double x, double y) {
  return static_cast<int>(y) % kSide * kSide + static_cast<int>(x) % kSide;
}

double wrapped(double where) {
  return where < 0 ? where + kSide : where >= kSide ? where - kSide : where;
}

void push(Particles& all, const std::vector<double>& field) {
  const int count = static_cast<int>(all.x.size());
#pragma omp parallel for schedule(static)
  for (int i = 0; i < count; ++i) {
    const double force = field[at(cell_of(all.x[at(i)], all.y[at(i)]))];
    all.u[at(i)] += kTime * force * std::sin(all.x[at(i)]);
    all.v[at(i)] += kTime * force * std::cos(all.y[at(i)]);
    all.x[at(i)] = wrapped(all.x[at(i)] + kTime * all.u[at(i)]);
    all.y[at(i)] = wrapped(all.y[at(i)] + kTime * all.v[at(i)]);
  }
}

// A part of them, as a diagnostic does.
void lay_down(const Particles& all, std::vector<int64_t>& weight) {
  const int count = static_cast<int>(all.x.size()) / 8;
#pragma omp parallel for schedule(static)
  for (int i = 0; i < count; ++i) {
    const int cell = cell_of(all.x[at(i)], all.y[at(i)]);
#pragma omp atomic
    weight[at(cell)] += 1 + cell % 3;
  }
}

void smooth(std::vector<double>& field, std::vector<double>& next) {
#pragma omp parallel for schedule(static)
  for (int row = 0; row < kSide; ++row) {
    for (int column = 0; column < kSide; ++column) {
      const int above = (row + kSide - 1) % kSide * kSide + column;
      const int below = (row + 1) % kSide * kSide + column;
      const int left = row * kSide + (column + kSide - 1) % kSide;
      const int right = row * kSide + (column + 1) % kSide;
      next[at(row * kSide + column)] =
          0.25 * (field[at(above)] + field[at(below)] + field[at(left)] + field[at(right)]);
    }
  }
  field.swap(next);
}

}  // namespace

int main(int count, char** words) {
  optile::bench::LoopOptions options = optile::bench::parse_options(count, words);
  options.batch = options.batch > 0 ? options.batch : kThousands;
  Particles all(options.batch * 1000);
  std::vector<double> field(at(kCells), 0.0);
  std::vector<double> next = field;
  std::vector<int64_t> weight(at(kCells), 0);
  return optile::bench::run_timed("particles", options, [&] {
    push(all, field);
    weight.assign(weight.size(), 0);
    lay_down(all, weight);
    for (int i = 0; i < kCells; ++i) {
      field[at(i)] = kOfWeight * static_cast<double>(weight[at(i)]);
    }
    for (int i = 0; i < kSweeps; ++i) smooth(field, next);
    double sum = 0;
    for (const double one : field) sum += one;
    return sum;
  });
}
