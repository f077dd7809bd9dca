#include "placement/tofu/regions.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>

namespace optile::placement::tofu {

namespace {

std::int64_t floor_divided(std::int64_t value, std::int64_t divisor) {
  const std::int64_t down = value / divisor;
  return down * divisor > value ? down - 1 : down;
}

Affine constant(std::size_t indices, std::int64_t value) {
  return {std::vector<std::int64_t>(indices, 0), value, 1};
}

// Exact: both are whole numbers wherever they are used, as long as no shift was divided yet.
Affine plus(const Affine& one, const Affine& other, std::int64_t times) {
  Affine sum = constant(one.factors.size(), 0);
  sum.divisor = std::lcm(one.divisor, other.divisor);
  const std::int64_t left = sum.divisor / one.divisor;
  const std::int64_t right = sum.divisor / other.divisor * times;
  for (std::size_t i = 0; i < sum.factors.size(); ++i) {
    sum.factors[i] = one.factors[i] * left + other.factors[i] * right;
  }
  sum.constant = one.constant * left + other.constant * right;
  return sum;
}

Interval range_of(std::size_t indices, std::size_t index, const Piece& piece) {
  Interval range{constant(indices, 0), constant(indices, -piece.of)};
  range.first.factors[index] = piece.part;
  range.last.factors[index] = piece.part + 1;
  range.first.divisor = range.last.divisor = piece.of;
  return range;
}

Interval interval_of(const Shift& shift, const std::vector<Interval>& ranges) {
  Interval made{constant(ranges.size(), shift.constant), constant(ranges.size(), shift.constant)};
  for (const Shift::Term& term : shift.terms) {
    const Interval& range = ranges[static_cast<std::size_t>(term.index)];
    const bool rising = term.factor > 0;
    made.first = plus(made.first, rising ? range.first : range.last, term.factor);
    made.last = plus(made.last, rising ? range.last : range.first, term.factor);
  }
  made.first.divisor *= shift.divisor;
  made.last.divisor *= shift.divisor;
  return made;
}

void for_elements(const Expression& in, const std::function<void(const Expression&)>& visit) {
  if (in.kind == Expression::Kind::kElement) visit(in);
  for (const Expression& part : in.parts) for_elements(part, visit);
}

bool same_place(const Expression& element, int outputs) {
  if (static_cast<int>(element.shifts.size()) != outputs) return false;
  for (int i = 0; i < outputs; ++i) {
    const Shift& shift = element.shifts[static_cast<std::size_t>(i)];
    if (!shift.plain() || shift.terms[0].index != i) return false;
  }
  return true;
}

}  // namespace

std::int64_t Affine::at(const Shape& extents) const {
  std::int64_t sum = constant;
  for (std::size_t i = 0; i < factors.size(); ++i) sum += factors[i] * extents[i];
  return floor_divided(sum, divisor);
}

std::vector<Read> reads_of(const Operator& op, const Pieces& pieces) {
  std::vector<Interval> ranges;
  for (std::size_t i = 0; i < op.indices.size(); ++i) {
    ranges.push_back(range_of(op.indices.size(), i, pieces[i]));
  }
  std::vector<Read> reads;
  for_elements(op.body, [&](const Expression& element) {
    Read read{element.input, {}};
    for (const Shift& shift : element.shifts) read.along.push_back(interval_of(shift, ranges));
    reads.push_back(std::move(read));
  });
  return reads;
}

std::int64_t volume(const Box& box) {
  std::int64_t size = 1;
  for (const Range& range : box) size *= range.size();
  return size;
}

std::int64_t common_volume(const Box& one, const Box& other) {
  std::int64_t size = 1;
  for (std::size_t i = 0; i < one.size(); ++i) {
    const Range common{std::max(one[i].first, other[i].first),
                       std::min(one[i].last, other[i].last)};
    size *= common.size();
  }
  return size;
}

std::vector<Box> regions_at(const std::vector<Read>& reads, const Shape& extents,
                            const std::vector<Shape>& inputs) {
  std::vector<Box> boxes;
  boxes.reserve(inputs.size());
  for (const Shape& shape : inputs) boxes.emplace_back(shape.size());
  std::vector<bool> begun(inputs.size());
  for (const Read& read : reads) {
    const auto input = static_cast<std::size_t>(read.input);
    Box& box = boxes[input];
    Box touched(box.size());
    for (std::size_t i = 0; i < box.size(); ++i) {
      touched[i] = {std::max<std::int64_t>(read.along[i].first.at(extents), 0),
                    std::min(read.along[i].last.at(extents), inputs[input][i] - 1)};
    }
    if (volume(touched) == 0 && !touched.empty()) continue;
    for (std::size_t i = 0; i < box.size(); ++i) {
      box[i].first = begun[input] ? std::min(box[i].first, touched[i].first) : touched[i].first;
      box[i].last = begun[input] ? std::max(box[i].last, touched[i].last) : touched[i].last;
    }
    begun[input] = true;
  }
  return boxes;
}

Box output_at(const Operator& op, const Pieces& pieces, const Shape& extents) {
  Box box;
  for (std::size_t i = 0; i < static_cast<std::size_t>(op.outputs); ++i) {
    const Interval range = range_of(extents.size(), i, pieces[i]);
    box.push_back({range.first.at(extents), range.last.at(extents)});
  }
  return box;
}

base::Result<Shape> extents_of(const Operator& op, const Shape& output,
                               const std::vector<Shape>& inputs) {
  const auto wrong = [&](const std::string& what) {
    return base::Error{base::ErrorKind::kInvalid, op.name + ": " + what};
  };
  if (output.size() != static_cast<std::size_t>(op.outputs)) {
    return wrong("the output has " + std::to_string(output.size()) + " dimensions, described are " +
                 std::to_string(op.outputs));
  }
  if (inputs.size() != op.inputs.size()) {
    return wrong(std::to_string(inputs.size()) + " inputs, described are " +
                 std::to_string(op.inputs.size()));
  }
  Shape extents = output;
  for (std::size_t i = output.size(); i < op.indices.size(); ++i) {
    extents.push_back(op.indices[i].extent);
  }
  std::string problem;
  for_elements(op.body, [&](const Expression& element) {
    const auto input = static_cast<std::size_t>(element.input);
    if (inputs[input].size() != element.shifts.size()) {
      problem = op.inputs[input] + " has " + std::to_string(inputs[input].size()) +
                " dimensions, described are " + std::to_string(element.shifts.size());
      return;
    }
    for (std::size_t i = 0; i < element.shifts.size(); ++i) {
      if (!element.shifts[i].plain()) continue;
      const auto index = static_cast<std::size_t>(element.shifts[i].terms[0].index);
      if (extents[index] == 0) extents[index] = inputs[input][i];
      if (extents[index] == inputs[input][i]) continue;
      problem = "the index " + op.indices[index].name + " runs to " +
                std::to_string(extents[index]) + ", but dimension " + std::to_string(i) + " of " +
                op.inputs[input] + " to " + std::to_string(inputs[input][i]);
    }
  });
  if (!problem.empty()) return wrong(problem);
  for (const std::int64_t extent : extents) {
    if (extent < 1 || extent > kMaxExtent) {
      return wrong("an extent of " + std::to_string(extent) + " is not among 1 to 2^30");
    }
  }
  return extents;
}

std::vector<int> splits_of(const Operator& op) {
  std::vector<int> splits(static_cast<std::size_t>(op.outputs));
  std::iota(splits.begin(), splits.end(), 0);
  const Expression* at = &op.body;
  while (at->kind == Expression::Kind::kReduction && at->reducer == op.body.reducer) {
    splits.insert(splits.end(), at->over.begin(), at->over.end());
    at = &at->parts[0];
  }
  return splits;
}

bool element_wise(const Operator& op) {
  bool wise = static_cast<int>(op.indices.size()) == op.outputs;
  for_elements(op.body,
               [&](const Expression& element) { wise = wise && same_place(element, op.outputs); });
  return wise;
}

}  // namespace optile::placement::tofu
