#include "bindings/preload/probes/torch/op_key.h"

#include <c10/core/ScalarType.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/hash.h"

namespace optile::torch_bridge {
namespace {

constexpr std::size_t kListed = 4;  // tensors of a list that take part; its length always does
constexpr uint64_t kUnknownInput = 0x3f;

// Others answer by the program's own Python code, or by an exception.
bool tells_its_sizes(const at::Tensor& tensor) {
  return !tensor.key_set().has(c10::DispatchKey::Python) && !tensor.is_nested();
}

uint64_t hash_tensor(const at::Tensor& tensor, uint64_t seed) {
  if (!tensor.defined()) return base::hash_word(1, seed);
  if (!tells_its_sizes(tensor)) return base::hash_word(kUnknownInput, seed);
  uint64_t hash = base::hash_word(static_cast<uint64_t>(tensor.scalar_type()) + 2, seed);
  for (const int64_t size : tensor.sizes())
    hash = base::hash_word(static_cast<uint64_t>(size), hash);
  return hash;
}

// Integer lists are strides, paddings, sizes: part of the shape. Single integers are often
// positions (select, slice) and would make a new op of every one.
uint64_t hash_input(const c10::IValue& input, uint64_t seed) {
  if (input.isTensor()) return hash_tensor(input.toTensor(), seed);
  if (input.isTensorList()) {
    const auto list = input.toTensorList();
    uint64_t hash = base::hash_word(list.size() + 3, seed);
    for (std::size_t i = 0; i < list.size() && i < kListed; ++i) {
      hash = hash_tensor(list.get(i), hash);
    }
    return hash;
  }
  if (input.isIntList()) {
    uint64_t hash = base::hash_word(5, seed);
    for (const int64_t number : input.toIntList()) {
      hash = base::hash_word(static_cast<uint64_t>(number), hash);
    }
    return hash;
  }
  return seed;
}

// Text that is cut where its field ends.
class Field {
 public:
  Field(char* text, std::size_t bytes) : text_(text), bytes_(bytes) { text_[0] = '\0'; }

  void add(const char* piece) {
    const int written = std::snprintf(text_ + used_, bytes_ - used_, "%s", piece);
    if (written > 0) used_ = std::min(used_ + static_cast<std::size_t>(written), bytes_ - 1);
  }

 private:
  char* text_;
  std::size_t bytes_;
  std::size_t used_ = 0;
};

void describe_tensor(const at::Tensor& tensor, Field& field) {
  if (!tensor.defined()) return;
  if (!tells_its_sizes(tensor)) return field.add("? ");
  field.add("[");
  bool first = true;
  for (const int64_t size : tensor.sizes()) {
    char number[24];
    std::snprintf(number, sizeof number, first ? "%lld" : ",%lld", static_cast<long long>(size));
    field.add(number);
    first = false;
  }
  field.add("]");
  if (tensor.scalar_type() != at::kFloat) field.add(c10::toString(tensor.scalar_type()));
  if (tensor.layout() != at::kStrided) field.add("not_strided");
  field.add(" ");
}

}  // namespace

uint64_t key_of_name(const char* name) {
  const uint64_t hash = base::hash_bytes(name, std::strlen(name));
  return hash == 0 ? 1 : hash;
}

uint64_t key_of_instance(const at::RecordFunction& op) {
  uint64_t hash = base::hash_word(static_cast<uint64_t>(op.scope()), key_of_name(op.name()));
  try {
    for (const c10::IValue& input : op.inputs()) hash = hash_input(input, hash);
  } catch (...) {
    hash = base::hash_word(kUnknownInput, hash);
  }
  return hash == 0 ? 1 : hash;
}

void describe_name(const void* record_function, char name[OPTILE_NAME_BYTES],
                   char shape[OPTILE_SHAPE_BYTES]) {
  const auto& op = *static_cast<const at::RecordFunction*>(record_function);
  std::snprintf(name, OPTILE_NAME_BYTES, "%s", op.name());
  shape[0] = '\0';
}

void describe_instance(const void* record_function, char name[OPTILE_NAME_BYTES],
                       char shape[OPTILE_SHAPE_BYTES]) {
  describe_name(record_function, name, shape);
  const auto& op = *static_cast<const at::RecordFunction*>(record_function);
  Field field(shape, OPTILE_SHAPE_BYTES);
  try {
    for (const c10::IValue& input : op.inputs()) {
      if (input.isTensor()) {
        describe_tensor(input.toTensor(), field);
      } else if (input.isTensorList()) {
        const auto list = input.toTensorList();
        char count[24];
        std::snprintf(count, sizeof count, "%zu x ", list.size());
        field.add(count);
        if (!list.empty()) describe_tensor(list.get(0), field);
      }
    }
  } catch (...) {
    field.add("?");
  }
}

}  // namespace optile::torch_bridge
