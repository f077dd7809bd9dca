#include "daemon/client/width_numerics.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "bindings/abi/layout.h"
#include "bindings/abi/limits.h"

namespace optile::daemon {
namespace {

// Sorted. Of PyTorch, as its bridge names them.
constexpr std::array<std::string_view, 35> kSameBits = {
    "AbsBackward0",    "AddBackward0", "DivBackward0", "MulBackward0",      "NegBackward0",
    "ReluBackward0",   "SubBackward0", "aten::abs",    "aten::add",         "aten::add_",
    "aten::cat",       "aten::clamp",  "aten::clone",  "aten::contiguous",  "aten::copy_",
    "aten::div",       "aten::div_",   "aten::fill_",  "aten::masked_fill", "aten::maximum",
    "aten::minimum",   "aten::mul",    "aten::mul_",   "aten::neg",         "aten::neg_",
    "aten::ones_like", "aten::relu",   "aten::relu_",  "aten::sqrt",        "aten::stack",
    "aten::sub",       "aten::sub_",   "aten::where",  "aten::zero_",       "aten::zeros_like"};
static_assert(std::is_sorted(kSameBits.begin(), kSameBits.end()));

// Plain tensors in single precision, and masks: what was measured. A text that is cut, or says that
// something could not be told, may hide another type. "[8,16] [8,16]Bool "
bool is_as_measured(std::string_view shape) {
  if (shape.empty() || shape.size() + 1 >= OPTILE_SHAPE_BYTES) return false;
  if (shape.find('?') != std::string_view::npos) return false;
  bool tensors = false;
  for (std::size_t end = shape.find(']'); end != std::string_view::npos; end = shape.find(']')) {
    tensors = true;
    shape.remove_prefix(end + 1);
    const std::string_view type = shape.substr(0, shape.find(' '));
    if (!type.empty() && type != "Bool") return false;
  }
  return tensors;
}

}  // namespace

bool same_bits_at_every_width(const perfmodel::OpDescription& op) {
  if (op.probe != OPTILE_PROBE_TORCH || op.region || op.nested) return false;
  return std::binary_search(kSameBits.begin(), kSameBits.end(), std::string_view(op.name)) &&
         is_as_measured(op.shape);
}

}  // namespace optile::daemon
