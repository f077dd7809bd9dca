// Networks as they are computed: each operation is written down with its value, and gradients go
// back along the same list. Reset and used again, it keeps its memory, so that networks of one
// shape allocate once. Of one thread.
#pragma once

#include <vector>

#include "placement/policy/matrix.h"
#include "placement/policy/parameters.h"

namespace optile::placement::policy {

class Tape {
 public:
  using Var = int;  // an operation's place in the list; valid until the next reset

  explicit Tape(Parameters& parameters) : parameters_(parameters) {}

  // Forgets all operations; gradients of parameters stay where they were added.
  void reset();

  Var constant(const Matrix& value);
  Var parameter(int index);  // written down once, however often it is asked for

  Var product(Var a, Var b);
  Var product_transposed(Var a, Var b);  // a times b transposed
  Var sum(Var a, Var b);
  Var sum_row(Var a, Var row);  // `row` is added to each row of a
  Var times(Var a, Var b);      // element by element
  Var times_row(Var a, Var row);
  Var scaled(Var a, double factor);
  Var tanh(Var a);
  Var sigmoid(Var a);
  Var relu(Var a);
  Var softmax(Var a);      // of each row
  Var log_softmax(Var a);  // of each row
  Var beside(Var a, Var b);
  Var above(Var a, Var b);
  Var columns(Var a, int first, int count);
  Var rows(Var a, int first, int count);
  Var row(Var a, int index) { return rows(a, index, 1); }
  Var mean_of_all(Var a);  // of the rows
  // Of the rows listed, 0 for an empty list. The lists have to live until the next reset.
  Var mean(Var a, const RowLists& lists);
  Var maximum(Var a, const RowLists& lists);
  Var linear(Var a, int weights, int bias) {
    return sum_row(product(a, parameter(weights)), parameter(bias));
  }

  const Matrix& value(Var at) const { return list_[static_cast<std::size_t>(at)].value; }

  // What the loss changes by with each element of a value; several values may be given.
  void set_gradient(Var at, const Matrix& gradient);
  // Adds to the parameters' gradients. Once between two resets.
  void backward();

 private:
  enum class Kind {
    kConstant,
    kParameter,
    kProduct,
    kProductTransposed,
    kSum,
    kSumRow,
    kTimes,
    kTimesRow,
    kScaled,
    kTanh,
    kSigmoid,
    kRelu,
    kSoftmax,
    kLogSoftmax,
    kBeside,
    kAbove,
    kColumns,
    kRows,
    kMeanOfAll,
    kMean,
    kMaximum
  };
  struct Operation {
    Kind kind = Kind::kConstant;
    Var a = -1;
    Var b = -1;
    int index = 0;  // of a parameter, or the first row or column
    double factor = 0;
    const RowLists* lists = nullptr;
    bool has_gradient = false;
    Matrix value, gradient;
    std::vector<std::int32_t> chosen;  // of a maximum: the row behind each element, or -1
  };

  Operation& at(Var var) { return list_[static_cast<std::size_t>(var)]; }
  Var add(Kind kind, Var a = -1, Var b = -1);
  // The gradient of an input, zero if nothing has been added yet.
  Matrix& into(Var var);
  void back(const Operation& from);
  void back_rows(const Operation& from);
  void back_lists(const Operation& from);

  Parameters& parameters_;
  std::vector<Operation> list_;
  std::size_t used_ = 0;
  std::vector<Var> parameter_vars_;  // -1: not asked for since the reset
};

}  // namespace optile::placement::policy
