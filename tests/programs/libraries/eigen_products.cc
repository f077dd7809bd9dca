// Products of Eigen's on whole numbers, which come out the same at any width.
#include <Eigen/Dense>
#include <cstdio>

namespace {

constexpr int kSize = 192;
constexpr int kSteps = 150;

}  // namespace

int main() {
  Eigen::MatrixXd numbers(kSize, kSize);
  for (int column = 0; column < kSize; column++) {
    for (int row = 0; row < kSize; row++) numbers(row, column) = (row * 7 + column * 3) % 5 - 2;
  }
  double total = 0;
  for (int step = 0; step < kSteps; step++) {
    const Eigen::MatrixXd product = numbers * numbers.transpose();
    total += product.cwiseAbs().sum();
  }
  std::printf("%.0f\n", total);
  return 0;
}
