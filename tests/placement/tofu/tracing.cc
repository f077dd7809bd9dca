#include "tests/placement/tofu/tracing.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace optile::placement::tofu {

namespace {

std::size_t count(const Shape& shape) {
  std::size_t all = 1;
  for (const std::int64_t extent : shape) all *= static_cast<std::size_t>(extent);
  return all;
}

std::size_t offset(const Shape& shape, const std::vector<std::int64_t>& at) {
  std::size_t place = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    place = place * static_cast<std::size_t>(shape[i]) + static_cast<std::size_t>(at[i]);
  }
  return place;
}

double of_one(const std::string& name, double x) {
  if (name == "exp") return std::exp(x);
  if (name == "log") return std::log(x);
  if (name == "sqrt") return std::sqrt(x);
  if (name == "tanh") return std::tanh(x);
  if (name == "sigmoid") return 1 / (1 + std::exp(-x));
  if (name == "relu") return std::max(x, 0.0);
  if (name == "abs") return std::abs(x);
  return static_cast<double>(x > 0) - static_cast<double>(x < 0);
}

double of_two(const std::string& name, double x, double y) {
  if (name == "+") return x + y;
  if (name == "-") return x - y;
  if (name == "*") return x * y;
  if (name == "/") return x / y;
  if (name == "pow") return std::pow(x, y);
  if (name == "max") return std::max(x, y);
  if (name == "min") return std::min(x, y);
  if (name == "greater") return static_cast<double>(x > y);
  return static_cast<double>(x == y);
}

double neutral(Reducer reducer) {
  switch (reducer) {
    case Reducer::kSum:
      return 0;
    case Reducer::kMax:
      return -std::numeric_limits<double>::infinity();
    case Reducer::kMin:
      return std::numeric_limits<double>::infinity();
    case Reducer::kProd:
      return 1;
  }
  return 0;
}

// The next index in `part`, the last one fastest; false after the last.
bool advance(const std::vector<int>& over, const std::vector<Range>& part,
             std::vector<std::int64_t>& at) {
  for (std::size_t i = over.size(); i-- > 0;) {
    const auto index = static_cast<std::size_t>(over[i]);
    if (++at[index] <= part[index].last) return true;
    at[index] = part[index].first;
  }
  return false;
}

}  // namespace

double combine(Reducer reducer, double one, double other) {
  switch (reducer) {
    case Reducer::kSum:
      return one + other;
    case Reducer::kMax:
      return std::max(one, other);
    case Reducer::kMin:
      return std::min(one, other);
    case Reducer::kProd:
      return one * other;
  }
  return 0;
}

Tensor numbered(const Shape& shape, int salt) {
  Tensor made{shape, std::vector<double>(count(shape))};
  for (std::size_t i = 0; i < made.values.size(); ++i) {
    made.values[i] =
        0.5 + static_cast<double>((i * 37 + static_cast<std::size_t>(salt) * 11) % 101) / 101;
  }
  return made;
}

Tracer::Tracer(const Operator& op, const std::vector<Tensor>& inputs, Shape extents)
    : op_(op), inputs_(inputs), extents_(std::move(extents)), at_(extents_.size()) {}

Tensor Tracer::run(const std::vector<Range>& part) {
  part_ = part;
  touched_.clear();
  for (const Tensor& input : inputs_) touched_.emplace_back(input.shape.size());
  Tensor output{Shape(extents_.begin(), extents_.begin() + op_.outputs), {}};
  output.values.assign(count(output.shape), std::nan(""));
  std::vector<int> over;
  for (int i = 0; i < op_.outputs; ++i) over.push_back(i);
  for (std::size_t i = 0; i < at_.size(); ++i) at_[i] = part_[i].first;
  do {
    output.values[offset(output.shape, at_)] = value(op_.body);
  } while (advance(over, part_, at_));
  return output;
}

double Tracer::value(const Expression& expression) {
  switch (expression.kind) {
    case Expression::Kind::kNumber:
      return expression.number;
    case Expression::Kind::kIndex:
      return static_cast<double>(at_[static_cast<std::size_t>(expression.index)]);
    case Expression::Kind::kElement:
      return element(expression);
    case Expression::Kind::kReduction:
      return reduced(expression);
    case Expression::Kind::kFunction:
      break;
  }
  const double first = value(expression.parts[0]);
  if (expression.parts.size() == 1) return of_one(expression.function, first);
  return of_two(expression.function, first, value(expression.parts[1]));
}

double Tracer::element(const Expression& expression) {
  const auto input = static_cast<std::size_t>(expression.input);
  std::vector<std::int64_t> place;
  for (const Shift& shift : expression.shifts) {
    double sum = static_cast<double>(shift.constant);
    for (const Shift::Term& term : shift.terms) {
      sum += static_cast<double>(term.factor * at_[static_cast<std::size_t>(term.index)]);
    }
    place.push_back(
        static_cast<std::int64_t>(std::floor(sum / static_cast<double>(shift.divisor))));
  }
  const Shape& shape = inputs_[input].shape;
  for (std::size_t i = 0; i < place.size(); ++i) {
    if (place[i] < 0 || place[i] >= shape[i]) return 0;
  }
  Box& box = touched_[input];
  const bool first = volume(box) == 0;
  for (std::size_t i = 0; i < place.size(); ++i) {
    box[i].first = first ? place[i] : std::min(box[i].first, place[i]);
    box[i].last = first ? place[i] : std::max(box[i].last, place[i]);
  }
  return inputs_[input].values[offset(shape, place)];
}

double Tracer::reduced(const Expression& expression) {
  double result = neutral(expression.reducer);
  for (const int index : expression.over) {
    at_[static_cast<std::size_t>(index)] = part_[static_cast<std::size_t>(index)].first;
  }
  do {
    result = combine(expression.reducer, result, value(expression.parts[0]));
  } while (advance(expression.over, part_, at_));
  return result;
}

}  // namespace optile::placement::tofu
