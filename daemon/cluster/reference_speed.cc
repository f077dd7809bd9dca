#include "daemon/cluster/reference_speed.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <ctime>
#include <vector>

namespace optile::daemon {
namespace {

constexpr std::size_t kSide = 128;  // three such matrices fit into any second-level cache
constexpr std::size_t kLanes = 4;
constexpr std::size_t kRows = 4;     // of a block, which stays in registers
constexpr std::size_t kColumns = 2;  // of Lanes
constexpr int kProducts = 32;
constexpr double kFlopInProduct = 2.0 * kSide * kSide * kSide;

// Spelled out, so that no compiler's choice decides how fast a machine seems.
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));
constexpr std::size_t kLanesInRow = kSide / kLanes;

// The thread's own time on a core: what others take of it does not count.
double thread_seconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void multiply(const std::vector<float>& left, const std::vector<Lanes>& right,
              std::vector<Lanes>& product) {
  for (std::size_t row = 0; row < kSide; row += kRows) {
    for (std::size_t column = 0; column < kLanesInRow; column += kColumns) {
      std::array<std::array<Lanes, kColumns>, kRows> block = {};
      for (std::size_t k = 0; k < kSide; ++k) {
        for (std::size_t r = 0; r < kRows; ++r) {
          const float factor = left[(row + r) * kSide + k];
          for (std::size_t c = 0; c < kColumns; ++c) {
            block[r][c] += factor * right[k * kLanesInRow + column + c];
          }
        }
      }
      for (std::size_t r = 0; r < kRows; ++r) {
        for (std::size_t c = 0; c < kColumns; ++c) {
          product[(row + r) * kLanesInRow + column + c] = block[r][c];
        }
      }
    }
  }
}

}  // namespace

std::optional<double> measure_gflop_per_second(const std::atomic<bool>& stop) {
  const std::vector<float> left(kSide * kSide, 0.5f);
  const std::vector<Lanes> right(kSide * kLanesInRow, Lanes{1, 2, 3, 4});
  std::vector<Lanes> product(kSide * kLanesInRow);
  double best = 0;
  for (int i = 0; i < kProducts; ++i) {
    if (stop) return std::nullopt;
    const double begin = thread_seconds();
    multiply(left, right, product);
    const double seconds = thread_seconds() - begin;
    // Reading the result is what keeps the compiler from leaving the work out.
    const bool right_result = product.front()[0] == 0.5f * kSide;
    if (right_result && seconds > 0) best = std::max(best, kFlopInProduct / seconds * 1e-9);
  }
  return best > 0 ? std::optional(best) : std::nullopt;
}

}  // namespace optile::daemon
