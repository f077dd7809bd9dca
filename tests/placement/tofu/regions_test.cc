#include "placement/tofu/regions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "placement/tofu/operator_parser.h"
#include "tests/placement/tofu/tracing.h"

namespace optile::placement::tofu {
namespace {

struct Case {
  const char* text;
  Shape output;
  std::vector<Shape> inputs;
};

const std::vector<Case> kPlain{
    {"shift_two(a)[i] = a[i + 2]", {8}, {{10}}},
    {"add(a, b)[i, j] = a[i, j] + b[i, j]", {4, 6}, {{4, 6}, {4, 6}}},
    {"tanh_gradient(y, g)[i] = g[i] * (1 - y[i] * y[i])", {6}, {{6}, {6}}},
    {"transpose(a)[i, j] = a[j, i]", {4, 6}, {{6, 4}}},
    {"bias(a, b)[n, c] = a[n, c] + b[c]", {4, 6}, {{4, 6}, {6}}},
    {"scale(a, s)[i] = a[i] * s[]", {4}, {{4}, {}}},
    {"flip(a)[i] = a[7 - i]", {8}, {{8}}},
    {"crop(a)[i, j] = a[i + 1, j + 2]", {4, 4}, {{6, 8}}},
    {"pad(a)[i] = a[i - 2]", {8}, {{4}}},
    {"stride(a)[i] = a[2 * i + 1]", {4}, {{8}}},
    {"repeat(a)[i, j] = a[i / 2, j]", {8, 4}, {{4, 4}}},
    {"upsample(a)[n, y, x] = a[n, y / 2, x / 2]", {2, 8, 4}, {{2, 4, 2}}},
    {"downsample(a)[i] = (a[2 * i] + a[2 * i + 1]) / 2", {4}, {{8}}},
    {"diagonal(a)[i] = a[i, i]", {6}, {{6, 6}}},
    {"outer(a, b)[i, j] = a[i] * b[j]", {4, 6}, {{4}, {6}}},
    {"difference(a)[i] = a[i + 1] - a[i - 1]", {8}, {{8}}},
    {"batch_norm(x, m, v, g, b)[n, c, y] = (x[n, c, y] - m[c]) / sqrt(v[c]) * g[c] + b[c]",
     {2, 4, 2},
     {{2, 4, 2}, {4}, {4}, {4}, {4}}},
    {"one_hot(a)[i, j] = equal(a[i], j)", {4, 6}, {{4}}},
    {"gate(a)[n, c] = sigmoid(a[n, 0, c]) * tanh(a[n, 1, c])", {2, 4}, {{2, 2, 4}}},
    {"shuffle(a)[g, c, x] = a[c, g, x]", {2, 4, 2}, {{4, 2, 2}}},
    {"constant(a)[i, j] = a[]", {2, 4}, {{}}},
    {"prelu(a, s)[n, c] = max(a[n, c], s[c] * a[n, c])", {2, 4}, {{2, 4}, {4}}},
    {"softmax(a)[i, j] = exp(a[i, j]) / Sum(k: exp(a[i, k]))", {4, 6}, {{4, 6}}},
    {"centred(a)[i] = a[i] - Max(k: a[k])", {6}, {{6}}}};

const std::vector<Case> kReducing{
    {"matmul(a, b)[i, j] = Sum(k: a[i, k] * b[k, j])", {4, 6}, {{4, 8}, {8, 6}}},
    {"conv1d(data, filters)[b, co, x] = Sum(ci, dx: data[b, ci, x + dx] * filters[ci, co, dx])",
     {2, 4, 6},
     {{2, 4, 9}, {4, 4, 4}}},
    {"conv2d(d, f)[b, co, y, x] = Sum(ci, dy, dx: d[b, ci, 2 * y + dy - 1, 2 * x + dx - 1] *"
     " f[co, ci, dy, dx])",
     {2, 2, 4, 2},
     {{2, 2, 8, 4}, {2, 2, 3, 3}}},
    {"conv2d_weights(d, g)[co, ci, dy, dx] = Sum(b, y, x: d[b, ci, y + dy - 1, x + dx - 1] *"
     " g[b, co, y, x])",
     {2, 2, 3, 2},
     {{2, 2, 4, 4}, {2, 2, 4, 4}}},
    {"max_pool(a)[c, x] = Max(dx < 2: a[c, 2 * x + dx])", {4, 4}, {{4, 8}}},
    {"min_pool(a)[c, x] = Min(dx < 4: a[c, x + dx])", {4, 4}, {{4, 7}}},
    {"channel_sum(a)[c] = Sum(n, x: a[n, c, x])", {4}, {{2, 4, 6}}},
    {"row_max(a)[i] = Max(j: a[i, j])", {4}, {{4, 6}}},
    {"row_min(a)[i] = Min(j: a[i, j])", {4}, {{4, 6}}},
    {"row_product(a)[i] = Prod(j: a[i, j])", {4}, {{4, 6}}},
    {"dot(a, b)[] = Sum(i: a[i] * b[i])", {}, {{8}, {8}}},
    {"batch_matmul(a, b)[n, i, j] = Sum(k: a[n, i, k] * b[n, k, j])",
     {2, 4, 2},
     {{2, 4, 4}, {2, 4, 2}}},
    {"nested(a)[i] = Sum(j: Sum(k: a[i, j, k]))", {2}, {{2, 4, 4}}},
    {"squares(a, m)[c] = Sum(n: (a[n, c] - m[c]) * (a[n, c] - m[c]))", {4}, {{6, 4}, {4}}},
    {"bilinear(a, w, b)[n, o] = Sum(i, j: a[n, i] * w[o, i, j] * b[n, j])",
     {2, 2},
     {{2, 4}, {2, 4, 2}, {2, 2}}}};

class Checked {
 public:
  explicit Checked(const Case& one) : op_(parse_operator(one.text).value()), shapes_(one.inputs) {
    for (const Shape& shape : one.inputs) {
      inputs_.push_back(numbered(shape, static_cast<int>(inputs_.size())));
    }
    extents_ = extents_of(op_, one.output, one.inputs).value();
    whole_ = part(Pieces(extents_.size()));
  }

  // How many splits were tried: those whose index has an even extent.
  int check() {
    int tried = 0;
    for (const int index : splits_of(op_)) {
      for (const std::int64_t count : {2, 4}) {
        if (extents_[static_cast<std::size_t>(index)] % count != 0) continue;
        check(static_cast<std::size_t>(index), count);
        ++tried;
      }
    }
    return tried;
  }

 private:
  Tensor part(const Pieces& pieces) {
    std::vector<Range> ranges;
    for (std::size_t i = 0; i < extents_.size(); ++i) {
      const std::int64_t size = extents_[i] / pieces[i].of;
      ranges.push_back({size * pieces[i].part, size * (pieces[i].part + 1) - 1});
    }
    Tracer tracer(op_, inputs_, extents_);
    Tensor output = tracer.run(ranges);
    const std::vector<Box> said = regions_at(reads_of(op_, pieces), extents_, shapes_);
    for (std::size_t i = 0; i < said.size(); ++i) {
      for (std::size_t d = 0; d < said[i].size(); ++d) {
        EXPECT_EQ(said[i][d].first, tracer.touched()[i][d].first) << op_.name << " input " << i;
        EXPECT_EQ(said[i][d].last, tracer.touched()[i][d].last) << op_.name << " input " << i;
      }
    }
    return output;
  }

  void check(std::size_t index, std::int64_t count) {
    Tensor joined{whole_.shape, std::vector<double>(whole_.values.size(), std::nan(""))};
    for (std::int64_t nth = 0; nth < count; ++nth) {
      Pieces pieces(extents_.size());
      pieces[index] = {nth, count};
      const Tensor made = part(pieces);
      for (std::size_t i = 0; i < made.values.size(); ++i) {
        if (std::isnan(made.values[i])) continue;
        joined.values[i] = std::isnan(joined.values[i])
                               ? made.values[i]
                               : combine(op_.body.reducer, joined.values[i], made.values[i]);
        EXPECT_TRUE(op_.indices[index].reduced || nth == 0 || joined.values[i] == made.values[i])
            << op_.name << ": pieces along an output index overlap";
      }
    }
    for (std::size_t i = 0; i < joined.values.size(); ++i) {
      EXPECT_NEAR(joined.values[i], whole_.values[i], 1e-9 * std::abs(whole_.values[i]))
          << op_.name << " along " << op_.indices[index].name;
    }
  }

  Operator op_;
  std::vector<Shape> shapes_;
  std::vector<Tensor> inputs_;
  Shape extents_;
  Tensor whole_;
};

TEST(TofuRegionsTest, RegionsMatchTracingAndPartsRebuildOutput) {
  EXPECT_GE(kPlain.size() + kReducing.size(), 30U);
  for (const auto* cases : {&kPlain, &kReducing}) {
    for (const Case& one : *cases)
      EXPECT_GT(Checked(one).check() + (one.output.empty() ? 1 : 0), 0);
  }
}

TEST(TofuRegionsTest, ReducingOperatorsSplitAlongReductionIndex) {
  EXPECT_GE(kReducing.size(), 11U);
  for (const Case& one : kReducing) {
    const Operator op = parse_operator(one.text).value();
    EXPECT_TRUE(op.indices[static_cast<std::size_t>(splits_of(op).back())].reduced) << one.text;
  }
  for (const Case& one : kPlain) {
    const Operator op = parse_operator(one.text).value();
    EXPECT_EQ(splits_of(op).size(), one.output.size()) << one.text;
  }
}

TEST(TofuRegionsTest, IntervalsAreAffineInExtents) {
  const Operator op = parse_operator("s(a)[i] = a[i + 2]").value();
  const auto reads = reads_of(op, {{1, 2}});
  EXPECT_EQ(reads[0].along[0].first.at({10}), (10 + 4) / 2);
  EXPECT_EQ(reads[0].along[0].first.at({6}), (6 + 4) / 2);
  EXPECT_EQ(reads[0].along[0].last.at({10}), 10 + 1);
  EXPECT_EQ(reads[0].along[0].last.at({6}), 6 + 1);
  const Operator plain = parse_operator("p(a)[i] = a[i]").value();
  const auto second_half = reads_of(plain, {{1, 2}});
  EXPECT_EQ(second_half[0].along[0].first.at({10}), 10 / 2);
  EXPECT_EQ(second_half[0].along[0].first.at({6}), 6 / 2);
  // The paper's numbers: B over [0, 4] needs A over [2, 6].
  const auto first = reads_of(op, {{0, 2}});
  EXPECT_EQ(first[0].along[0].first.at({10}), 2);
  EXPECT_EQ(first[0].along[0].last.at({10}), 6);
}

TEST(TofuRegionsTest, ElementWiseOperatorsReadAtOutputIndices) {
  EXPECT_TRUE(element_wise(parse_operator(kPlain[1].text).value()));
  EXPECT_FALSE(element_wise(parse_operator(kPlain[3].text).value()));
  EXPECT_FALSE(element_wise(parse_operator(kPlain[4].text).value()));
  EXPECT_FALSE(element_wise(parse_operator(kReducing[0].text).value()));
}

TEST(TofuRegionsTest, RejectsContradictoryShapes) {
  const Operator op = parse_operator(kReducing[0].text).value();
  const auto clash = extents_of(op, {4, 6}, {{4, 8}, {7, 6}});
  ASSERT_FALSE(clash.ok());
  EXPECT_EQ(clash.message(), "matmul: the index k runs to 8, but dimension 0 of b to 7");
  EXPECT_FALSE(extents_of(op, {4}, {{4, 8}, {8, 6}}).ok());
  EXPECT_FALSE(extents_of(op, {4, 6}, {{4, 8}}).ok());
  EXPECT_FALSE(extents_of(op, {4, 6}, {{4, 8, 1}, {8, 6}}).ok());
  EXPECT_FALSE(extents_of(op, {4, 0}, {{4, 8}, {8, 0}}).ok());
}

}  // namespace
}  // namespace optile::placement::tofu
