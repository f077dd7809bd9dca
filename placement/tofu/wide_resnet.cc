#include <functional>
#include <string>
#include <vector>

#include "placement/tofu/graph_builder.h"
#include "placement/tofu/networks.h"

namespace optile::placement::tofu {

namespace {

constexpr const char* kNormalise =
    "normalise(x, m, v, g, b)[n, c, y, z] ="
    " (x[n, c, y, z] - m[c]) / sqrt(v[c]) * g[c] + b[c]";
constexpr const char* kVariance =
    "variance(x, m)[c] = Sum(n, y, z: (x[n, c, y, z] - m[c]) * (x[n, c, y, z] - m[c]))";
constexpr const char* kScaleGradient =
    "scale_gradient(g, x, m, v)[c] ="
    " Sum(n, y, z: g[n, c, y, z] * (x[n, c, y, z] - m[c]) / sqrt(v[c]))";
constexpr const char* kNormaliseGradient =
    "normalise_gradient(g, x, m, v, s, ds, db)[n, c, y, z] = s[c] / sqrt(v[c]) *"
    " (g[n, c, y, z] - db[c] - (x[n, c, y, z] - m[c]) / sqrt(v[c]) * ds[c])";
constexpr const char* kChannelSum = "channel_sum(x)[c] = Sum(n, y, z: x[n, c, y, z])";
constexpr const char* kRelu = "relu(x)[n, c, y, z] = relu(x[n, c, y, z])";
constexpr const char* kReluGradient =
    "relu_gradient(g, x)[n, c, y, z] = g[n, c, y, z] * greater(x[n, c, y, z], 0)";
constexpr const char* kAdd = "add(a, b)[n, c, y, z] = a[n, c, y, z] + b[n, c, y, z]";
constexpr const char* kPool =
    "max_pool(x)[n, c, y, z] = Max(dy < 3, dz < 3: x[n, c, 2 * y + dy - 1, 2 * z + dz - 1])";
constexpr const char* kPoolGradient =
    "max_pool_gradient(g, x, o)[n, c, y, z] = Sum(dy < 3, dz < 3:"
    " g[n, c, (y + 1 - dy) / 2, (z + 1 - dz) / 2] *"
    " equal(x[n, c, y, z], o[n, c, (y + 1 - dy) / 2, (z + 1 - dz) / 2]))";
constexpr const char* kMean = "mean(x)[n, c] = Sum(y, z: x[n, c, y, z])";
constexpr const char* kMeanGradient = "mean_gradient(g)[n, c, y, z] = g[n, c]";
constexpr const char* kDense = "dense(x, w)[n, k] = Sum(c: x[n, c] * w[c, k])";
constexpr const char* kDenseData = "dense_data(g, w)[n, c] = Sum(k: g[n, k] * w[c, k])";
constexpr const char* kDenseWeights = "dense_weights(x, g)[c, k] = Sum(n: x[n, c] * g[n, k])";
constexpr const char* kResnetLoss =
    "softmax_gradient(z, t)[n, k] = exp(z[n, k]) / Sum(j: exp(z[n, j])) - t[n, k]";

class ResnetNetwork {
 public:
  explicit ResnetNetwork(const WideResnet& of) : of_(of) {}

  OperatorGraph build() {
    int x = b_.input("images", {of_.batch, 3, of_.image, of_.image});
    images_ = x;
    x = relu(normalise(convolution(x, of_.channels, 7, 2)));
    x = pool(x);
    int inner = of_.channels * of_.width;
    for (std::size_t stage = 0; stage < of_.blocks.size(); ++stage, inner *= 2) {
      for (int block = 0; block < of_.blocks[stage]; ++block) {
        x = bottleneck(x, inner, block == 0 && stage > 0 ? 2 : 1);
      }
    }
    classify(x);
    while (!backward_.empty()) {
      const auto step = std::move(backward_.back());
      backward_.pop_back();
      step();
    }
    return b_.finish();
  }

 private:
  // Gradients are made in the reverse order; each step finds its own in `gradient_`.
  int& gradient(int tensor) {
    if (gradient_.size() <= static_cast<std::size_t>(tensor)) {
      gradient_.resize(static_cast<std::size_t>(tensor) + 1, -1);
    }
    return gradient_[static_cast<std::size_t>(tensor)];
  }

  void add_gradient(int tensor, int more) {
    const int sum = b_.sum(gradient(tensor), more);
    gradient(tensor) = sum;
  }

  std::string next(const std::string& kind) { return kind + std::to_string(++made_[kind]); }

  int convolution(int x, int channels, int kernel, int stride) {
    const Shape in = b_.shape(x);
    const int pad = kernel / 2;
    const std::string name = next("convolution");
    const int w = b_.parameter(name + " filter", {channels, in[1], kernel, kernel});
    const auto at = [&](const char* where, const char* shift) {
      return std::to_string(stride) + " * " + where + " + " + shift + " - " + std::to_string(pad);
    };
    const auto back = [&](const char* where, const char* shift) {
      return std::string("(") + where + " - " + shift + " + " + std::to_string(pad) + ") / " +
             std::to_string(stride);
    };
    const std::string window = at("y", "dy") + ", " + at("z", "dz");
    const int out = b_.apply(
        "convolution(x, w)[n, o, y, z] = Sum(c, dy, dz: x[n, c, " + window + "] * w[o, c, dy, dz])",
        name, {in[0], channels, in[2] / stride, in[3] / stride}, {x, w});
    const std::string data = "convolution_data(g, w)[n, c, y, z] = Sum(o, dy, dz: g[n, o, " +
                             back("y", "dy") + ", " + back("z", "dz") + "] * w[o, c, dy, dz])";
    const std::string weights = "convolution_weights(x, g)[o, c, dy, dz] = Sum(n, y, z: x[n, c, " +
                                window + "] * g[n, o, y, z])";
    backward_.emplace_back([this, x, w, out, data, weights] {
      const int g = gradient(out);
      if (x != images_) add_gradient(x, b_.gradient(data, x, {g, w}));
      b_.update(w, b_.gradient(weights, w, {x, g}));
    });
    return out;
  }

  int normalise(int x) {
    const Shape in = b_.shape(x);
    const std::string name = next("normalisation");
    const int scale = b_.parameter(name + " scale", {in[1]});
    const int shift = b_.parameter(name + " shift", {in[1]});
    const int mean = b_.apply(kChannelSum, name + " mean", {in[1]}, {x});
    const int variance = b_.apply(kVariance, name + " variance", {in[1]}, {x, mean});
    const int out = b_.apply(kNormalise, name, in, {x, mean, variance, scale, shift});
    backward_.emplace_back([this, x, scale, shift, mean, variance, out] {
      const int g = gradient(out);
      const int of_scale = b_.gradient(kScaleGradient, scale, {g, x, mean, variance});
      const int of_shift = b_.gradient(kChannelSum, shift, {g});
      add_gradient(
          x, b_.gradient(kNormaliseGradient, x, {g, x, mean, variance, scale, of_scale, of_shift}));
      b_.update(scale, of_scale);
      b_.update(shift, of_shift);
    });
    return out;
  }

  int relu(int x) {
    const int out = b_.apply(kRelu, next("relu"), Shape(b_.shape(x)), {x});
    backward_.emplace_back([this, x, out] {
      add_gradient(x, b_.gradient(kReluGradient, x, {gradient(out), x}));
    });
    return out;
  }

  int add(int one, int other) {
    const int out = b_.apply(kAdd, next("sum"), Shape(b_.shape(one)), {one, other});
    backward_.emplace_back([this, one, other, out] {
      add_gradient(one, gradient(out));
      add_gradient(other, gradient(out));
    });
    return out;
  }

  int pool(int x) {
    const Shape in = b_.shape(x);
    const int out = b_.apply(kPool, next("pool"), {in[0], in[1], in[2] / 2, in[3] / 2}, {x});
    backward_.emplace_back([this, x, out] {
      add_gradient(x, b_.gradient(kPoolGradient, x, {gradient(out), x, out}));
    });
    return out;
  }

  int bottleneck(int x, int inner, int stride) {
    int y = relu(normalise(convolution(x, inner, 1, 1)));
    y = relu(normalise(convolution(y, inner, 3, stride)));
    const int outer = 4 * inner;
    y = normalise(convolution(y, outer, 1, 1));
    const bool same = stride == 1 && b_.shape(x)[1] == outer;
    return relu(add(y, same ? x : normalise(convolution(x, outer, 1, stride))));
  }

  void classify(int x) {
    const Shape in = b_.shape(x);
    const int mean = b_.apply(kMean, "mean", {in[0], in[1]}, {x});
    const int w = b_.parameter("dense weights", {in[1], of_.labels});
    const int scores = b_.apply(kDense, "scores", {in[0], of_.labels}, {mean, w});
    const int truth = b_.input("labels", {in[0], of_.labels});
    const int g = b_.gradient(kResnetLoss, scores, {scores, truth});
    b_.update(w, b_.gradient(kDenseWeights, w, {mean, g}));
    const int of_mean = b_.gradient(kDenseData, mean, {g, w});
    add_gradient(x, b_.gradient(kMeanGradient, x, {of_mean}));
  }

  WideResnet of_;
  GraphBuilder b_;
  int images_ = 0;
  std::vector<int> gradient_;
  std::vector<std::function<void()>> backward_;
  std::map<std::string, int> made_;
};

}  // namespace

OperatorGraph wide_resnet(const WideResnet& of) {
  return ResnetNetwork(of).build();
}

}  // namespace optile::placement::tofu
