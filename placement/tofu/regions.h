// Which part of its inputs a part of an operator reads, for all shapes at once: intervals whose
// ends are affine in the extents of the indices (Tofu, symbolic interval analysis). Pure values and
// functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "placement/tofu/operator.h"

namespace optile::placement::tofu {

using Shape = std::vector<std::int64_t>;

inline constexpr std::int64_t kMaxExtent = 1 << 30;
inline constexpr std::int64_t kMaxPieces = 1 << 10;                  // of one index: Piece::of
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;  // of one tensor

// floor((sum of factors[i] * extent of index i + constant) / divisor).
struct Affine {
  std::vector<std::int64_t> factors;
  std::int64_t constant = 0;
  std::int64_t divisor = 1;

  std::int64_t at(const Shape& extents) const;
};

// Both ends belong to it.
struct Interval {
  Affine first;
  Affine last;
};

// The part-th of `of` equal pieces of an index: the paper's halves are {0, 2} and {1, 2}.
struct Piece {
  std::int64_t part = 0;
  std::int64_t of = 1;
};
using Pieces = std::vector<Piece>;  // one for each index of the operator

// What one element of the expression touches, one interval for each dimension of its input.
struct Read {
  int input = 0;
  std::vector<Interval> along;
};

// Of every element in the expression when the indices run over `pieces`. Exact where an index that
// is shared out has an extent that the pieces divide.
std::vector<Read> reads_of(const Operator& op, const Pieces& pieces);

struct Range {
  std::int64_t first = 0;
  std::int64_t last = -1;  // belongs to it; before `first` where it is empty
  std::int64_t size() const { return last < first ? 0 : last - first + 1; }
};
using Box = std::vector<Range>;

std::int64_t volume(const Box& box);
std::int64_t common_volume(const Box& one, const Box& other);

// The smallest box in each input that holds what is read, cut at the input's edges: what lies
// outside is zero and is not fetched.
std::vector<Box> regions_at(const std::vector<Read>& reads, const Shape& extents,
                            const std::vector<Shape>& inputs);

// The piece of the output that the pieces make.
Box output_at(const Operator& op, const Pieces& pieces, const Shape& extents);

// The extent of each index. kInvalid where shapes contradict each other or the description.
base::Result<Shape> extents_of(const Operator& op, const Shape& output,
                               const std::vector<Shape>& inputs);

// The indices along which the operator can be split: those of the output, whose pieces are
// concatenated, and those of a reduction that nothing is done to afterwards, whose results are
// combined by it. One inside an expression (a softmax's sum) is not among them.
std::vector<int> splits_of(const Operator& op);

// Each input is read exactly where the output is written, so that all have one shape and one split.
bool element_wise(const Operator& op);

}  // namespace optile::placement::tofu
