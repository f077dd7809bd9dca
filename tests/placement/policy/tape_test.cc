// Every operation's gradient against finite differences, and what a reset keeps.
#include "placement/policy/tape.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace optile::placement::policy {
namespace {

constexpr double kShift = 1e-6;
constexpr double kClose = 1e-6;

// Two parameters, a (3 x 4) and b (another shape), without an element near 0, where relu breaks.
Parameters made_parameters(int rows, int columns) {
  Random random(7);
  Parameters parameters;
  parameters.add_weights("a", 3, 4, random);
  parameters.add_weights("b", rows, columns, random);
  for (Parameters::One& one : parameters.all()) {
    one.value = one.value.unaryExpr([](double x) { return x + (x < 0 ? -0.05 : 0.05); });
  }
  return parameters;
}

using Network = std::function<Tape::Var(Tape&, Tape::Var a, Tape::Var b)>;

// The loss is the sum of the result's elements, each at a weight of its own.
Matrix weights_of(const Matrix& value) {
  Matrix weights(value.rows(), value.cols());
  for (Eigen::Index i = 0; i < weights.size(); ++i)
    weights(i) = 0.3 + 0.17 * static_cast<double>(i);
  return weights;
}

double loss_of(Parameters& parameters, const Network& network) {
  Tape tape(parameters);
  const Matrix& value = tape.value(network(tape, tape.parameter(0), tape.parameter(1)));
  return value.cwiseProduct(weights_of(value)).sum();
}

void expect_true_gradients(const char* what, int rows, int columns, const Network& network) {
  Parameters parameters = made_parameters(rows, columns);
  Tape tape(parameters);
  for (int round = 1; round <= 2; ++round) {  // the second time on memory that was used
    tape.reset();
    const Tape::Var out = network(tape, tape.parameter(0), tape.parameter(1));
    tape.set_gradient(out, weights_of(tape.value(out)));
    tape.backward();
  }
  double largest = 0;
  for (Parameters::One& one : parameters.all()) {
    for (Eigen::Index i = 0; i < one.value.size(); ++i) {
      const double before = one.value(i);
      one.value(i) = before + kShift;
      const double above = loss_of(parameters, network);
      one.value(i) = before - kShift;
      const double below = loss_of(parameters, network);
      one.value(i) = before;
      const double expected = (above - below) / (2 * kShift);
      EXPECT_NEAR(one.gradient(i), 2 * expected, kClose) << what << ": " << one.name << i;
      largest = std::max(largest, std::abs(expected));
    }
  }
  EXPECT_GT(largest, 1e-3) << what;
}

TEST(Tape, GradientsOfProductsAndSumsMatchFiniteDifferences) {
  using Var = Tape::Var;
  expect_true_gradients("product", 4, 2, [](Tape& t, Var a, Var b) { return t.product(a, b); });
  expect_true_gradients("product_transposed", 5, 4,
                        [](Tape& t, Var a, Var b) { return t.product_transposed(a, b); });
  expect_true_gradients("sum", 3, 4, [](Tape& t, Var a, Var b) { return t.sum(a, b); });
  expect_true_gradients("sum of one", 3, 4, [](Tape& t, Var a, Var) { return t.sum(a, a); });
  expect_true_gradients("sum_row", 1, 4, [](Tape& t, Var a, Var b) { return t.sum_row(a, b); });
  expect_true_gradients("times", 3, 4, [](Tape& t, Var a, Var b) { return t.times(a, b); });
  expect_true_gradients("times_row", 1, 4, [](Tape& t, Var a, Var b) { return t.times_row(a, b); });
  expect_true_gradients("scaled", 1, 1, [](Tape& t, Var a, Var) { return t.scaled(a, -1.5); });
}

TEST(Tape, GradientsOfFunctionsMatchFiniteDifferences) {
  using Var = Tape::Var;
  expect_true_gradients("tanh", 1, 1, [](Tape& t, Var a, Var) { return t.tanh(a); });
  expect_true_gradients("sigmoid", 1, 1, [](Tape& t, Var a, Var) { return t.sigmoid(a); });
  expect_true_gradients("relu", 1, 1, [](Tape& t, Var a, Var) { return t.relu(a); });
  expect_true_gradients("softmax", 1, 1, [](Tape& t, Var a, Var) { return t.softmax(a); });
  expect_true_gradients("log_softmax", 1, 1, [](Tape& t, Var a, Var) { return t.log_softmax(a); });
}

TEST(Tape, GradientsOfSlicesAndMeansMatchFiniteDifferences) {
  using Var = Tape::Var;
  expect_true_gradients("beside", 3, 2, [](Tape& t, Var a, Var b) { return t.beside(a, b); });
  expect_true_gradients("above", 2, 4, [](Tape& t, Var a, Var b) { return t.above(a, b); });
  expect_true_gradients("columns", 1, 1, [](Tape& t, Var a, Var) { return t.columns(a, 1, 2); });
  expect_true_gradients("rows", 1, 1, [](Tape& t, Var a, Var) { return t.rows(a, 1, 2); });
  expect_true_gradients("row", 1, 1, [](Tape& t, Var a, Var) { return t.row(a, 2); });
  expect_true_gradients("mean_of_all", 1, 1, [](Tape& t, Var a, Var) { return t.mean_of_all(a); });
  RowLists lists;
  lists.add(std::vector<std::int32_t>{0, 2});
  lists.add({});
  lists.add(std::vector<std::int32_t>{1});
  lists.add(std::vector<std::int32_t>{0, 1, 2});
  expect_true_gradients("mean", 1, 1, [&](Tape& t, Var a, Var) { return t.mean(a, lists); });
  expect_true_gradients("maximum", 1, 1, [&](Tape& t, Var a, Var) { return t.maximum(a, lists); });
}

TEST(Tape, GradientsOfSharedInputsMatchFiniteDifferences) {
  expect_true_gradients("network", 4, 4, [](Tape& t, Tape::Var a, Tape::Var b) {
    const Tape::Var hidden = t.tanh(t.product(a, b));
    const Tape::Var scores = t.softmax(t.product_transposed(hidden, a));
    return t.log_softmax(t.sum(t.product(scores, hidden), t.times(a, hidden)));
  });
}

TEST(Tape, SoftmaxOfLargeNumbersIsFinite) {
  Parameters parameters;
  Tape tape(parameters);
  Matrix large(1, 3);
  large << 1e4, -1e4, 1e4 - 1;
  const Matrix& logs = tape.value(tape.log_softmax(tape.constant(large)));
  EXPECT_NEAR(std::exp(logs(0, 0)) + std::exp(logs(0, 2)), 1, 1e-12);
  EXPECT_EQ(std::exp(logs(0, 1)), 0);
}

TEST(Parameters, StepDescendsAndSkipsNonFiniteGradients) {
  Parameters parameters;
  const int x = parameters.add_constant("x", 1, 2, 3);
  for (int i = 0; i < 2000; ++i) {
    parameters.at(x).gradient = 2 * parameters.at(x).value;  // of the sum of squares
    parameters.step(0.01, 1);
  }
  EXPECT_LT(parameters.at(x).value.norm(), 1e-2);
  const Matrix before = parameters.at(x).value;
  parameters.at(x).gradient(0, 0) = std::nan("");
  parameters.step(0.01, 1);
  EXPECT_EQ(parameters.at(x).value, before);
  EXPECT_EQ(parameters.at(x).gradient.norm(), 0);
}

}  // namespace
}  // namespace optile::placement::policy
