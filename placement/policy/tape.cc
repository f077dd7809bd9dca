#include "placement/policy/tape.h"

#include <cmath>

namespace optile::placement::policy {

Tape::Var Tape::add(Kind kind, Var a, Var b) {
  if (used_ == list_.size()) list_.emplace_back();
  const auto var = static_cast<Var>(used_++);
  Operation& made = at(var);
  made.kind = kind;
  made.a = a;
  made.b = b;
  made.has_gradient = false;
  return var;
}

void Tape::reset() {
  used_ = 0;
  parameter_vars_.assign(parameters_.all().size(), -1);
}

Tape::Var Tape::constant(const Matrix& value) {
  const Var var = add(Kind::kConstant);
  at(var).value = value;
  return var;
}

Tape::Var Tape::parameter(int index) {
  parameter_vars_.resize(parameters_.all().size(), -1);
  Var& var = parameter_vars_[static_cast<std::size_t>(index)];
  if (var >= 0) return var;
  var = add(Kind::kParameter);
  at(var).index = index;
  at(var).value = parameters_.at(index).value;
  return var;
}

Tape::Var Tape::product(Var a, Var b) {
  const Var var = add(Kind::kProduct, a, b);
  at(var).value.noalias() = value(a) * value(b);
  return var;
}

Tape::Var Tape::product_transposed(Var a, Var b) {
  const Var var = add(Kind::kProductTransposed, a, b);
  at(var).value.noalias() = value(a) * value(b).transpose();
  return var;
}

Tape::Var Tape::sum(Var a, Var b) {
  const Var var = add(Kind::kSum, a, b);
  at(var).value = value(a) + value(b);
  return var;
}

Tape::Var Tape::sum_row(Var a, Var row) {
  const Var var = add(Kind::kSumRow, a, row);
  at(var).value = value(a).rowwise() + value(row).row(0);
  return var;
}

Tape::Var Tape::times(Var a, Var b) {
  const Var var = add(Kind::kTimes, a, b);
  at(var).value = value(a).cwiseProduct(value(b));
  return var;
}

Tape::Var Tape::times_row(Var a, Var row) {
  const Var var = add(Kind::kTimesRow, a, row);
  at(var).value = value(a).array().rowwise() * value(row).row(0).array();
  return var;
}

Tape::Var Tape::scaled(Var a, double factor) {
  const Var var = add(Kind::kScaled, a);
  at(var).factor = factor;
  at(var).value = factor * value(a);
  return var;
}

Tape::Var Tape::tanh(Var a) {
  const Var var = add(Kind::kTanh, a);
  at(var).value = value(a).unaryExpr([](double x) { return std::tanh(x); });
  return var;
}

Tape::Var Tape::sigmoid(Var a) {
  const Var var = add(Kind::kSigmoid, a);
  at(var).value = value(a).unaryExpr([](double x) { return 0.5 * (1 + std::tanh(0.5 * x)); });
  return var;
}

Tape::Var Tape::relu(Var a) {
  const Var var = add(Kind::kRelu, a);
  at(var).value = value(a).cwiseMax(0.0);
  return var;
}

Tape::Var Tape::softmax(Var a) {
  const Var var = add(Kind::kSoftmax, a);
  Matrix& made = at(var).value;
  made = value(a);
  for (Eigen::Index i = 0; i < made.rows(); ++i) {
    auto row = made.row(i).array();
    row = (row - row.maxCoeff()).exp().eval();
    row /= row.sum();
  }
  return var;
}

Tape::Var Tape::log_softmax(Var a) {
  const Var var = add(Kind::kLogSoftmax, a);
  Matrix& made = at(var).value;
  made = value(a);
  for (Eigen::Index i = 0; i < made.rows(); ++i) {
    auto row = made.row(i).array();
    row -= row.maxCoeff();
    row -= std::log(row.exp().sum());
  }
  return var;
}

Tape::Var Tape::beside(Var a, Var b) {
  const Var var = add(Kind::kBeside, a, b);
  Matrix& made = at(var).value;
  made.resize(value(a).rows(), value(a).cols() + value(b).cols());
  made.leftCols(value(a).cols()) = value(a);
  made.rightCols(value(b).cols()) = value(b);
  return var;
}

Tape::Var Tape::above(Var a, Var b) {
  const Var var = add(Kind::kAbove, a, b);
  Matrix& made = at(var).value;
  made.resize(value(a).rows() + value(b).rows(), value(a).cols());
  made.topRows(value(a).rows()) = value(a);
  made.bottomRows(value(b).rows()) = value(b);
  return var;
}

Tape::Var Tape::columns(Var a, int first, int count) {
  const Var var = add(Kind::kColumns, a);
  at(var).index = first;
  at(var).value = value(a).middleCols(first, count);
  return var;
}

Tape::Var Tape::rows(Var a, int first, int count) {
  const Var var = add(Kind::kRows, a);
  at(var).index = first;
  at(var).value = value(a).middleRows(first, count);
  return var;
}

Tape::Var Tape::mean_of_all(Var a) {
  const Var var = add(Kind::kMeanOfAll, a);
  at(var).value = value(a).colwise().mean();
  return var;
}

Tape::Var Tape::mean(Var a, const RowLists& lists) {
  const Var var = add(Kind::kMean, a);
  Operation& made = at(var);
  made.lists = &lists;
  made.value.setZero(lists.size(), value(a).cols());
  for (int i = 0; i < lists.size(); ++i) {
    const auto rows = lists.of(i);
    for (const std::int32_t row : rows) made.value.row(i) += value(a).row(row);
    if (!rows.empty()) made.value.row(i) /= static_cast<double>(rows.size());
  }
  return var;
}

Tape::Var Tape::maximum(Var a, const RowLists& lists) {
  const Var var = add(Kind::kMaximum, a);
  Operation& made = at(var);
  const Matrix& from = value(a);
  const Eigen::Index width = from.cols();
  made.lists = &lists;
  made.value.setZero(lists.size(), width);
  made.chosen.assign(static_cast<std::size_t>(made.value.size()), -1);
  for (int i = 0; i < lists.size(); ++i) {
    for (const std::int32_t row : lists.of(i)) {
      for (Eigen::Index c = 0; c < width; ++c) {
        std::int32_t& best = made.chosen[static_cast<std::size_t>(i * width + c)];
        if (best >= 0 && from(row, c) <= made.value(i, c)) continue;
        best = row;
        made.value(i, c) = from(row, c);
      }
    }
  }
  return var;
}

Matrix& Tape::into(Var var) {
  Operation& to = at(var);
  if (!to.has_gradient) {
    to.gradient.setZero(to.value.rows(), to.value.cols());
    to.has_gradient = true;
  }
  return to.gradient;
}

void Tape::set_gradient(Var at, const Matrix& gradient) {
  into(at) += gradient;
}

void Tape::backward() {
  for (auto var = static_cast<Var>(used_) - 1; var >= 0; --var) {
    const Operation& from = at(var);
    if (!from.has_gradient) continue;
    back(from);
  }
}

void Tape::back(const Operation& from) {
  const Matrix& g = from.gradient;
  switch (from.kind) {
    case Kind::kConstant:
      return;
    case Kind::kParameter:
      parameters_.at(from.index).gradient += g;
      return;
    case Kind::kProduct:
      if (at(from.a).kind != Kind::kConstant) {
        into(from.a).noalias() += g * value(from.b).transpose();
      }
      into(from.b).noalias() += value(from.a).transpose() * g;
      return;
    case Kind::kProductTransposed:
      into(from.a).noalias() += g * value(from.b);
      into(from.b).noalias() += g.transpose() * value(from.a);
      return;
    case Kind::kSum:
      into(from.a) += g;
      into(from.b) += g;
      return;
    case Kind::kSumRow:
      into(from.a) += g;
      into(from.b) += g.colwise().sum();
      return;
    case Kind::kTimes:
      into(from.a) += g.cwiseProduct(value(from.b));
      into(from.b) += g.cwiseProduct(value(from.a));
      return;
    case Kind::kTimesRow:
      into(from.a).array() += g.array().rowwise() * value(from.b).row(0).array();
      into(from.b) += g.cwiseProduct(value(from.a)).colwise().sum();
      return;
    case Kind::kScaled:
      into(from.a) += from.factor * g;
      return;
    case Kind::kTanh:
      into(from.a).array() += g.array() * (1 - from.value.array().square());
      return;
    case Kind::kSigmoid:
      into(from.a).array() += g.array() * from.value.array() * (1 - from.value.array());
      return;
    case Kind::kRelu:
      into(from.a).array() += g.array() * (from.value.array() > 0).cast<double>();
      return;
    case Kind::kSoftmax:
    case Kind::kLogSoftmax:
    case Kind::kBeside:
    case Kind::kAbove:
    case Kind::kColumns:
    case Kind::kRows:
      back_rows(from);
      return;
    case Kind::kMeanOfAll:
    case Kind::kMean:
    case Kind::kMaximum:
      back_lists(from);
      return;
  }
}

void Tape::back_rows(const Operation& from) {
  const Matrix& g = from.gradient;
  Matrix& a = into(from.a);
  if (from.kind == Kind::kSoftmax) {
    for (Eigen::Index i = 0; i < g.rows(); ++i) {
      const double dot = g.row(i).dot(from.value.row(i));
      a.row(i).array() += from.value.row(i).array() * (g.row(i).array() - dot);
    }
  } else if (from.kind == Kind::kLogSoftmax) {
    for (Eigen::Index i = 0; i < g.rows(); ++i) {
      a.row(i).array() += g.row(i).array() - from.value.row(i).array().exp() * g.row(i).sum();
    }
  } else if (from.kind == Kind::kBeside) {
    a += g.leftCols(a.cols());
    Matrix& b = into(from.b);
    b += g.rightCols(b.cols());
  } else if (from.kind == Kind::kAbove) {
    a += g.topRows(a.rows());
    Matrix& b = into(from.b);
    b += g.bottomRows(b.rows());
  } else if (from.kind == Kind::kColumns) {
    a.middleCols(from.index, g.cols()) += g;
  } else {
    a.middleRows(from.index, g.rows()) += g;
  }
}

void Tape::back_lists(const Operation& from) {
  const Matrix& g = from.gradient;
  Matrix& a = into(from.a);
  if (from.kind == Kind::kMeanOfAll) {
    a.rowwise() += g.row(0) / static_cast<double>(a.rows());
    return;
  }
  for (int i = 0; i < from.lists->size(); ++i) {
    if (from.kind == Kind::kMaximum) {
      for (Eigen::Index c = 0; c < g.cols(); ++c) {
        const std::int32_t row = from.chosen[static_cast<std::size_t>(i * g.cols() + c)];
        if (row >= 0) a(row, c) += g(i, c);
      }
      continue;
    }
    const auto rows = from.lists->of(i);
    for (const std::int32_t row : rows) a.row(row) += g.row(i) / static_cast<double>(rows.size());
  }
}

}  // namespace optile::placement::policy
