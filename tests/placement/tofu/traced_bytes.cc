#include "tests/placement/tofu/traced_bytes.h"

#include <algorithm>
#include <set>

#include "tests/placement/tofu/tracing.h"

namespace optile::placement::tofu {

namespace {

// Halves the ranges again and again: the first halving is the worker's highest bit.
std::vector<Range> ranges_of(const Shape& extents, const History& history, std::size_t worker) {
  std::vector<Range> ranges;
  for (const std::int64_t extent : extents) ranges.push_back({0, extent - 1});
  for (std::size_t level = 0; level < history.size(); ++level) {
    if (history[level] < 0) continue;
    Range& range = ranges[static_cast<std::size_t>(history[level])];
    const std::int64_t half = range.size() / 2;
    if ((worker >> (history.size() - 1 - level)) % 2 == 1) {
      range.first += half;
    } else {
      range.last -= half;
    }
  }
  return ranges;
}

bool inside(const std::vector<Range>& box, const std::vector<std::int64_t>& at) {
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (at[i] < box[i].first || at[i] > box[i].last) return false;
  }
  return true;
}

template <typename Visit>
void for_places(const std::vector<Range>& box, const Visit& visit) {
  std::vector<std::int64_t> at;
  for (const Range& range : box) {
    if (range.size() == 0) return;
    at.push_back(range.first);
  }
  for (;;) {
    visit(at);
    std::size_t i = box.size();
    while (i > 0 && at[i - 1] == box[i - 1].last) {
      at[i - 1] = box[i - 1].first;
      --i;
    }
    if (i == 0) return;
    ++at[i - 1];
  }
}

// Of one element of the output.
std::int64_t to_hand_on(const std::vector<std::vector<Range>>& made,
                        const std::vector<std::vector<Range>>& held,
                        const std::vector<std::int64_t>& at, int outputs) {
  const bool parts = std::any_of(made.begin(), made.end(), [&](const auto& box) {
    return !std::equal(box.begin() + outputs, box.end(), made[0].begin() + outputs,
                       [](const Range& a, const Range& b) { return a.first == b.first; });
  });
  std::set<std::vector<std::int64_t>> partial;  // by where the reduction begins
  std::int64_t holders = 0;
  std::int64_t made_and_held = 0;
  for (std::size_t w = 0; w < made.size(); ++w) {
    const std::vector<Range> output(made[w].begin(), made[w].begin() + outputs);
    if (inside(output, at)) {
      std::vector<std::int64_t> begins;
      for (std::size_t i = static_cast<std::size_t>(outputs); i < made[w].size(); ++i) {
        begins.push_back(made[w][i].first);
      }
      partial.insert(begins);
    }
    holders += inside(held[w], at) ? 1 : 0;
    made_and_held += inside(held[w], at) && inside(output, at) ? 1 : 0;
  }
  if (!parts) return holders - made_and_held;
  return static_cast<std::int64_t>(partial.size()) - std::min<std::int64_t>(made_and_held, 1) +
         holders - 1;
}

}  // namespace

std::int64_t traced_elements(const OperatorGraph& graph, const GraphOperator& op,
                             const Shape& extents, const History& of_operator,
                             const std::vector<History>& of_tensors) {
  const Operator& description = graph.descriptions[static_cast<std::size_t>(op.description)];
  std::vector<Tensor> inputs;
  for (const int input : op.inputs) {
    inputs.push_back(numbered(graph.tensors[static_cast<std::size_t>(input)].shape, 1));
  }
  std::int64_t moved = 0;
  std::vector<std::vector<Range>> made;
  std::vector<std::vector<Range>> held;
  const Shape& whole = graph.tensors[static_cast<std::size_t>(op.output)].shape;
  for (std::size_t w = 0; w < std::size_t{1} << of_operator.size(); ++w) {
    made.push_back(ranges_of(extents, of_operator, w));
    held.push_back(ranges_of(whole, of_tensors.back(), w));
    Tracer tracer(description, inputs, extents);
    tracer.run(made.back());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto own = ranges_of(inputs[i].shape, of_tensors[i], w);
      for_places(tracer.touched()[i],
                 [&](const std::vector<std::int64_t>& at) { moved += inside(own, at) ? 0 : 1; });
    }
  }
  for_places(ranges_of(whole, {}, 0), [&](const std::vector<std::int64_t>& at) {
    moved += to_hand_on(made, held, at, description.outputs);
  });
  return moved;
}

}  // namespace optile::placement::tofu
