// Descriptions of operators, as the networks of `optile split` have them. Whatever is said must
// hold for extents of any size, and for small ones hold all that the operator touches when it is
// run.
#include <algorithm>
#include <string>

#include "placement/tofu/operator_parser.h"
#include "placement/tofu/regions.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/placement/tofu/tracing.h"

namespace {

using namespace optile::placement::tofu;
using optile::fuzz::require;

constexpr std::int64_t kMostSteps = 4096;      // of a traced operator
constexpr std::int64_t kLongestSaid = 4;       // of an index, to be traced
constexpr std::int64_t kUntied = 5;            // a dimension that no index is tied to
constexpr std::size_t kMostExpressions = 512;  // evaluated in each step

std::size_t expressions(const Expression& in) {
  std::size_t count = 1;
  for (const Expression& part : in.parts) count += expressions(part);
  return count;
}

void tie(const Expression& in, const Shape& extents, std::vector<Shape>& inputs) {
  for (std::size_t i = 0; i < in.shifts.size(); ++i) {
    if (!in.shifts[i].plain()) continue;
    const auto index = static_cast<std::size_t>(in.shifts[i].terms[0].index);
    inputs[static_cast<std::size_t>(in.input)][i] = extents[index];
  }
  for (const Expression& part : in.parts) tie(part, extents, inputs);
}

bool within(const Range& inner, const Range& outer) {
  return inner.size() == 0 || (inner.first >= outer.first && inner.last <= outer.last);
}

// Its index `halved` in two, or nothing where that is -1.
void trace(const Operator& op, const Shape& extents, const std::vector<Tensor>& inputs, int halved,
           std::int64_t part) {
  Pieces pieces(op.indices.size());
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (static_cast<int>(i) == halved) pieces[i] = {part, 2};
    const std::int64_t size = extents[i] / pieces[i].of;
    ranges.push_back({size * pieces[i].part, size * (pieces[i].part + 1) - 1});
  }
  std::vector<Shape> shapes;
  shapes.reserve(inputs.size());
  for (const Tensor& input : inputs) shapes.push_back(input.shape);
  const std::vector<Box> said = regions_at(reads_of(op, pieces), extents, shapes);
  Tracer tracer(op, inputs, extents);
  tracer.run(ranges);
  const Box output = output_at(op, pieces, extents);
  for (std::size_t i = 0; i < output.size(); ++i) {
    require(output[i].first == ranges[i].first && output[i].last == ranges[i].last,
            "a piece of the output is where it was run");
  }
  for (std::size_t i = 0; i < said.size(); ++i) {
    for (std::size_t d = 0; d < said[i].size(); ++d) {
      require(within(tracer.touched()[i][d], said[i][d]), "what is touched is in the region");
      require(said[i][d].size() == 0 || within(said[i][d], {0, shapes[i][d] - 1}),
              "a region is within its input");
      require(!element_wise(op) || within(said[i][d], output[d]), "element-wise reads where it is");
    }
  }
}

void run(const Operator& op) {
  Shape output;
  std::int64_t steps = 1;
  Shape extents;
  for (const Index& index : op.indices) {
    if (index.extent > kLongestSaid) return;
    extents.push_back(index.extent > 0 ? index.extent : op.indices.size() <= 4 ? 4 : 2);
    steps *= extents.back();
    if (!index.reduced) output.push_back(extents.back());
  }
  if (steps > kMostSteps || expressions(op.body) > kMostExpressions) return;
  std::vector<Shape> shapes;
  for (const int rank : op.ranks) shapes.emplace_back(static_cast<std::size_t>(rank), kUntied);
  tie(op.body, extents, shapes);
  std::vector<Tensor> inputs;
  std::int64_t elements = 0;
  for (const Shape& shape : shapes) {
    std::int64_t size = 1;
    for (const std::int64_t extent : shape) {
      size = std::min(size * extent, kMostSteps + 1);
    }
    elements += size;
    if (elements > kMostSteps) return;
  }
  const auto known = extents_of(op, output, shapes);
  if (!known.ok()) {  // two indices may be tied to one dimension
    require(known.message().starts_with(op.name + ": "), "a refusal names the operator");
    return;
  }
  require(known.value() == extents, "extents are those of the shapes");
  for (const Shape& shape : shapes) {
    inputs.push_back(numbered(shape, static_cast<int>(inputs.size())));
  }
  trace(op, extents, inputs, -1, 0);
  for (const int index : splits_of(op)) {
    if (extents[static_cast<std::size_t>(index)] % 2 != 0) continue;
    for (const std::int64_t part : {0, 1}) trace(op, extents, inputs, index, part);
  }
}

// Of the largest extents and the smallest pieces: no sum may overflow.
void at_the_limits(const Operator& op) {
  const Shape largest(op.indices.size(), kMaxExtent);
  for (const std::int64_t part : {std::int64_t{0}, kMaxPieces - 1}) {
    const Pieces pieces(op.indices.size(), Piece{part, kMaxPieces});
    for (const Read& read : reads_of(op, pieces)) {
      for (const Interval& along : read.along) {
        require(along.first.at(largest) <= along.last.at(largest), "an interval has two ends");
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto op = parse_operator({reinterpret_cast<const char*>(data), size});
  if (!op.ok()) {
    require(op.message().starts_with("line "), "a refusal says where");
    return 0;
  }
  const Operator& read = op.value();
  require(read.ranks.size() == read.inputs.size(), "each input has a rank");
  for (const int index : splits_of(read)) {
    require(index >= 0 && static_cast<std::size_t>(index) < read.indices.size(), "splits exist");
  }
  at_the_limits(read);
  run(read);
  return 0;
}

std::vector<std::string> optile::fuzz::seeds() {
  return {"shift_two(a)[i] = a[i + 2]",
          "conv1d(d, f)[b, co, x] = Sum(ci, dx: d[b, ci, x + dx] * f[ci, co, dx])",
          R"(conv2d(d, f)[b, co, y, x] =
           Sum(ci, dy, dx: d[b, ci, 2 * y + dy - 1, 2 * x + dx - 1] * f[co, ci, dy, dx]))",
          "max_pool(a)[c, x] = Max(dx < 2: a[c, 2 * x + dx])",
          "upsample(a)[n, y, x] = a[n, y / 2, (x + 1) / 2]",
          "softmax(a)[i, j] = exp(a[i, j]) / Sum(k: exp(a[i, k]))",
          "nested(a)[i] = Sum(j: Sum(k: a[i, j, k]))",
          "prelu(a, s)[n, c] = max(a[n, c], s[c] * a[n, c]) - 1.5e-3",
          "flip(a)[i] = a[-i * 3 + 7]",
          "least(a)[] = Min(i < 4: Prod(j: a[i * 2, j] / (1 + sigmoid(a[0, j]))))",
          "gate(a)[n, c] = sigmoid(a[n, 0, c]) * tanh(a[n, 1, c])",
          "far(a)[i] = a[65536 * i - 3 * i - 65536] + i"};
}
