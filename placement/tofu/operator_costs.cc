#include "placement/tofu/operator_costs.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace optile::placement::tofu {

namespace {

// Which piece of every index or dimension one of 2^levels workers has; the first halving decides
// by the worker's highest bit.
Pieces pieces_of(const History& history, std::size_t rank, std::size_t worker) {
  Pieces pieces(rank);
  for (std::size_t level = 0; level < history.size(); ++level) {
    if (history[level] < 0) continue;
    Piece& piece = pieces[static_cast<std::size_t>(history[level])];
    const std::size_t bit = worker >> (history.size() - 1 - level) & 1;
    piece = {piece.part * 2 + static_cast<std::int64_t>(bit), piece.of * 2};
  }
  return pieces;
}

Box held_box(const Shape& shape, const History& history, std::size_t worker) {
  const Pieces pieces = pieces_of(history, shape.size(), worker);
  Box box;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t size = shape[i] / pieces[i].of;
    box.push_back({size * pieces[i].part, size * (pieces[i].part + 1) - 1});
  }
  return box;
}

std::vector<Box> held_boxes(const Shape& shape, const History& history) {
  std::vector<Box> boxes;
  const std::size_t workers = std::size_t{1} << history.size();
  for (std::size_t w = 0; w < workers; ++w) boxes.push_back(held_box(shape, history, w));
  return boxes;
}

History longer(const History& history, int last) {
  History made = history;
  made.push_back(last);
  return made;
}

bool same(const Box& one, const Box& other) {
  return std::equal(one.begin(), one.end(), other.begin(), [](const Range& a, const Range& b) {
    return a.first == b.first && a.last == b.last;
  });
}

// Bits of the workers that the levels with -1 belong to: workers that differ there alone have the
// same.
std::size_t idle_bits(const History& history) {
  std::size_t bits = 0;
  for (const int at : history) bits = bits * 2 + static_cast<std::size_t>(at < 0);
  return bits;
}

// Every worker fetches what it holds and did not make.
std::int64_t handed_on(const std::vector<Box>& made, const std::vector<Box>& held) {
  std::int64_t moved = 0;
  for (std::size_t w = 0; w < held.size(); ++w) {
    moved += volume(held[w]) - common_volume(made[w], held[w]);
  }
  return moved;
}

// Parts that are combined: each is sent to one of those that hold its place, unless one of them
// made it, and the results from there to the others that hold it.
std::int64_t combined(const std::vector<Box>& made, std::size_t idle, const std::vector<Box>& held,
                      std::size_t copied) {
  std::int64_t moved = 0;
  for (std::size_t w = 0; w < made.size(); ++w) {
    if ((w & idle) == 0) moved += volume(made[w]);
  }
  for (std::size_t first = 0; first < held.size(); ++first) {
    if ((first & copied) != 0) {
      moved += volume(held[first]);
      continue;
    }
    std::vector<const Box*> distinct;
    for (std::size_t w = 0; w < held.size(); ++w) {
      if ((w & ~copied) != first) continue;
      const bool seen = std::any_of(distinct.begin(), distinct.end(),
                                    [&](const Box* box) { return same(*box, made[w]); });
      if (seen) continue;
      distinct.push_back(&made[w]);
      moved -= common_volume(made[w], held[first]);
    }
  }
  return moved;
}

void append(std::vector<std::int64_t>& key, const Shape& numbers) {
  key.push_back(static_cast<std::int64_t>(numbers.size()));
  key.insert(key.end(), numbers.begin(), numbers.end());
}

}  // namespace

std::vector<int> candidates(const std::vector<int>& among, const Shape& extents,
                            const History& history) {
  const Pieces pieces = pieces_of(history, extents.size(), 0);
  std::vector<int> found;
  for (const int one : among) {
    const auto at = static_cast<std::size_t>(one);
    if (extents[at] % (2 * pieces[at].of) == 0) found.push_back(one);
  }
  if (found.empty()) found.push_back(-1);
  return found;
}

const OperatorCosts& CostBook::of(const GraphOperator& op, const Shape& extents,
                                  const std::vector<const History*>& histories) {
  std::vector<std::int64_t> key{op.description};
  append(key, extents);
  for (const int input : op.inputs) {
    append(key, graph_.tensors[static_cast<std::size_t>(input)].shape);
  }
  for (const History* history : histories) {
    key.insert(key.end(), history->begin(), history->end());
  }
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  return known_.emplace(std::move(key), computed(op, extents, histories)).first->second;
}

const std::vector<Read>& CostBook::reads(int description, const Pieces& pieces) {
  std::vector<std::int64_t> key{description};
  for (const Piece& piece : pieces) {
    key.push_back(piece.part);
    key.push_back(piece.of);
  }
  const auto [found, added] = reads_.try_emplace(std::move(key));
  if (added) {
    found->second = reads_of(graph_.descriptions[static_cast<std::size_t>(description)], pieces);
  }
  return found->second;
}

std::vector<CostBook::Worker> CostBook::workers(const GraphOperator& op, const Shape& extents,
                                                const History& history) {
  std::vector<Shape> inputs;
  for (const int input : op.inputs) {
    inputs.push_back(graph_.tensors[static_cast<std::size_t>(input)].shape);
  }
  const Operator& description = graph_.descriptions[static_cast<std::size_t>(op.description)];
  std::vector<Worker> all;
  for (std::size_t w = 0; w < std::size_t{1} << history.size(); ++w) {
    const Pieces pieces = pieces_of(history, extents.size(), w);
    all.push_back({regions_at(reads(op.description, pieces), extents, inputs),
                   output_at(description, pieces, extents)});
  }
  return all;
}

OperatorCosts CostBook::computed(const GraphOperator& op, const Shape& extents,
                                 const std::vector<const History*>& histories) {
  const Operator& description = graph_.descriptions[static_cast<std::size_t>(op.description)];
  std::vector<int> tensors = op.inputs;
  tensors.push_back(op.output);
  // Who holds what, for each tensor and each way to halve it.
  std::vector<std::vector<std::vector<Box>>> held;
  std::vector<std::vector<std::size_t>> copied;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Shape& shape = graph_.tensors[static_cast<std::size_t>(tensors[i])].shape;
    std::vector<int> all(shape.size());
    std::iota(all.begin(), all.end(), 0);
    held.emplace_back();
    copied.emplace_back();
    for (const int way : candidates(all, shape, *histories[i + 1])) {
      const History history = longer(*histories[i + 1], way);
      held.back().push_back(held_boxes(shape, history));
      copied.back().push_back(idle_bits(history));
    }
  }
  OperatorCosts costs;
  for (const int way : candidates(splits_of(description), extents, *histories[0])) {
    const History history = longer(*histories[0], way);
    const std::vector<Worker> parts = workers(op, extents, history);
    const bool reduces = std::any_of(history.begin(), history.end(),
                                     [&](int index) { return index >= description.outputs; });
    std::vector<Box> made(parts.size());
    for (std::size_t w = 0; w < parts.size(); ++w) made[w] = parts[w].output;
    std::vector<std::vector<double>> of_way(tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      for (std::size_t h = 0; h < held[i].size(); ++h) {
        std::int64_t moved = 0;
        for (std::size_t w = 0; w < parts.size() && i < op.inputs.size(); ++w) {
          const Box& box = parts[w].reads[i];
          moved += volume(box) - common_volume(box, held[i][h][w]);
        }
        if (i == op.inputs.size()) {
          moved = reduces ? combined(made, idle_bits(history), held[i][h], copied[i][h])
                          : handed_on(made, held[i][h]);
        }
        of_way[i].push_back(static_cast<double>(moved));
      }
    }
    costs.push_back(std::move(of_way));
  }
  return costs;
}

}  // namespace optile::placement::tofu
