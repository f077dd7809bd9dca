// A heap with the smallest on top, whose memory can be copied and used again.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

namespace optile::placement {

template <typename Value>
class MinHeap {
 public:
  bool empty() const { return values_.empty(); }
  const Value& top() const { return values_.front(); }
  void push(Value value) {
    values_.push_back(value);
    std::push_heap(values_.begin(), values_.end(), std::greater<>());
  }
  Value pop() {
    std::pop_heap(values_.begin(), values_.end(), std::greater<>());
    const Value value = values_.back();
    values_.pop_back();
    return value;
  }
  void clear() { values_.clear(); }

 private:
  std::vector<Value> values_;
};

}  // namespace optile::placement
