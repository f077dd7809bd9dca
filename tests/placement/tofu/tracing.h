// Runs a described operator index by index, as slowly and plainly as it is written, and notes what
// it touches: the second opinion on regions.
#pragma once

#include <vector>

#include "placement/tofu/operator.h"
#include "placement/tofu/regions.h"

namespace optile::placement::tofu {

struct Tensor {
  Shape shape;
  std::vector<double> values;  // row-major
};

// Different values everywhere, positive.
Tensor numbered(const Shape& shape, int salt);

class Tracer {
 public:
  Tracer(const Operator& op, const std::vector<Tensor>& inputs, Shape extents);

  // The output where `part` limits each index; only the part's elements are set.
  Tensor run(const std::vector<Range>& part);
  // The smallest boxes around what was touched since the last run began.
  const std::vector<Box>& touched() const { return touched_; }

 private:
  double value(const Expression& expression);
  double element(const Expression& expression);
  double reduced(const Expression& expression);

  const Operator& op_;
  const std::vector<Tensor>& inputs_;
  Shape extents_;
  std::vector<Range> part_;
  std::vector<std::int64_t> at_;
  std::vector<Box> touched_;
};

double combine(Reducer reducer, double one, double other);

}  // namespace optile::placement::tofu
