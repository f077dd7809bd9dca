// Descriptions of operators as text, read strictly:
//   conv1d(data, filters)[b, co, x] = Sum(ci, dx: data[b, ci, x + dx] * filters[ci, co, dx])
// Left: name, inputs, output indices. Right: numbers, indices, elements, + - * /, the functions
// below, and Sum, Max, Min, Prod over indices. `dx < 3` gives a reduced index its extent; otherwise
// some input is read with it alone. Within brackets: sums of indices times whole numbers, and
// `(x + 1) / 2` rounds down.
// Functions: exp log sqrt tanh sigmoid relu abs sign of one; pow max min greater equal of two.
#pragma once

#include <string_view>

#include "base/result.h"
#include "placement/tofu/operator.h"

namespace optile::placement::tofu {

inline constexpr std::size_t kMaxDescription = 1 << 16;  // bytes
inline constexpr int kMaxIndices = 16;                   // of one operator; also of its inputs
inline constexpr int kMaxNesting = 64;
inline constexpr std::int64_t kMaxFactor = 1 << 16;

// kInvalid names line and column. Any thread.
base::Result<Operator> parse_operator(std::string_view text);

// How many arguments a function of expressions takes; 0 where there is none of that name.
int arguments_of(std::string_view function);

}  // namespace optile::placement::tofu
