#include <utility>

#include "placement/layers/layer_graph.h"

namespace optile::placement {
namespace {

Windows window(std::int64_t height, std::int64_t width) {
  return {Window{height, 1, height / 2}, Window{width, 1, width / 2}, Window{}};
}

struct Step {
  std::int64_t channels;
  Windows windows;
};

class Inception {
 public:
  explicit Inception(std::int64_t samples)
      : net_("inception_v3", {samples, 3, 299, 299, 1}, 2), at_(LayerGraphBuilder::kImage) {}

  LayerGraph build() && {
    stem();
    for (const std::int64_t pooled : {32, 64, 64}) small_filters(pooled);
    reduce({{{384, square(3, 2)}}, {{64, square(1)}, {96, window(3, 3)}, {96, square(3, 2)}}});
    for (const std::int64_t width : {128, 160, 160, 192}) long_filters(width);
    const Branch longer = {
        {192, square(1)}, {192, window(1, 7)}, {192, window(7, 1)}, {192, square(3, 2)}};
    reduce({{{192, square(1)}, {320, square(3, 2)}}, longer});
    for (int i = 0; i < 2; ++i) wide_filters();
    at_ = net_.pooling("pool", at_, square(8));
    at_ = net_.dense("dense", at_, 1000);
    net_.softmax("softmax", at_);
    return net_.take();
  }

 private:
  using Branch = std::vector<Step>;

  std::string next(const char* kind) {
    return "module" + std::to_string(module_) + "/" + kind + std::to_string(++in_module_);
  }

  void begin_module() {
    ++module_;
    in_module_ = 0;
    ends_.clear();
  }

  void join() { at_ = net_.concatenation(next("join"), ends_); }

  std::uint32_t branch(std::uint32_t from, const Branch& steps) {
    for (const Step& step : steps) {
      from = net_.convolution(next("conv"), from, step.channels, step.windows);
    }
    return from;
  }

  void stem() {
    at_ = branch(at_, {{32, square(3, 2)}, {32, square(3)}, {64, window(3, 3)}});
    at_ = net_.pooling(next("pool"), at_, square(3, 2));
    at_ = branch(at_, {{80, square(1)}, {192, square(3)}});
    at_ = net_.pooling(next("pool"), at_, square(3, 2));
  }

  void pooled_branch(std::int64_t channels) {
    const std::uint32_t pooled = net_.pooling(next("pool"), at_, window(3, 3));
    ends_.push_back(branch(pooled, {{channels, square(1)}}));
  }

  void small_filters(std::int64_t pooled) {
    begin_module();
    ends_.push_back(branch(at_, {{64, square(1)}}));
    ends_.push_back(branch(at_, {{48, square(1)}, {64, window(5, 5)}}));
    ends_.push_back(branch(at_, {{64, square(1)}, {96, window(3, 3)}, {96, window(3, 3)}}));
    pooled_branch(pooled);
    join();
  }

  void long_filters(std::int64_t width) {
    begin_module();
    const Windows row = window(1, 7);
    const Windows column = window(7, 1);
    ends_.push_back(branch(at_, {{192, square(1)}}));
    ends_.push_back(branch(at_, {{width, square(1)}, {width, row}, {192, column}}));
    ends_.push_back(branch(
        at_, {{width, square(1)}, {width, column}, {width, row}, {width, column}, {192, row}}));
    pooled_branch(192);
    join();
  }

  void wide_filters() {
    begin_module();
    ends_.push_back(branch(at_, {{320, square(1)}}));
    fork(branch(at_, {{384, square(1)}}));
    fork(branch(at_, {{448, square(1)}, {384, window(3, 3)}}));
    pooled_branch(192);
    join();
  }

  // Two ways of 3 elements each, across and down, from the same layer, joined.
  void fork(std::uint32_t from) {
    const std::uint32_t across = branch(from, {{384, window(1, 3)}});
    const std::uint32_t down = branch(from, {{384, window(3, 1)}});
    ends_.push_back(net_.concatenation(next("join"), {across, down}));
  }

  void reduce(const std::vector<Branch>& branches) {
    begin_module();
    for (const Branch& steps : branches) ends_.push_back(branch(at_, steps));
    ends_.push_back(net_.pooling(next("pool"), at_, square(3, 2)));
    join();
  }

  LayerGraphBuilder net_;
  std::uint32_t at_;
  int module_ = 0;  // 0: what comes before the first
  int in_module_ = 0;
  std::vector<std::uint32_t> ends_;
};

}  // namespace

LayerGraph inception_v3(std::int64_t samples) {
  return Inception(samples).build();
}

}  // namespace optile::placement
