// The matrices of learned policies, the one place that knows Eigen. A row is a node, a group or a
// device.
#pragma once

#define EIGEN_MPL2_ONLY
#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace optile::placement::policy {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// For each row of a result, the rows that it is made from.
class RowLists {
 public:
  RowLists() : first_{0} {}
  void add(std::span<const std::int32_t> rows) {
    items_.insert(items_.end(), rows.begin(), rows.end());
    first_.push_back(items_.size());
  }
  int size() const { return static_cast<int>(first_.size()) - 1; }
  std::span<const std::int32_t> of(int row) const {
    const auto at = static_cast<std::size_t>(row);
    return {items_.data() + first_[at], first_[at + 1] - first_[at]};
  }

 private:
  std::vector<std::size_t> first_;
  std::vector<std::int32_t> items_;
};

}  // namespace optile::placement::policy
