// Models of the paper as operator graphs: forward, backward and updates. Pure.
#pragma once

#include <array>

#include "placement/tofu/operator_graph.h"

namespace optile::placement::tofu {

// A residual network with bottlenecks; the defaults are WResNet-152 at ten times the width.
struct WideResnet {
  std::array<int, 4> blocks{3, 8, 36, 3};
  int width = 10;  // times the channels of a ResNet within the bottlenecks and between them
  int channels = 64;
  int image = 224;
  int batch = 8;
  int labels = 1000;
};
OperatorGraph wide_resnet(const WideResnet& of);

// Layers of LSTM cells over a sequence that is unrolled; the defaults are RNN-10.
struct UnrolledLstm {
  int layers = 10;
  int steps = 20;
  int hidden = 6144;
  int batch = 512;
};
OperatorGraph unrolled_lstm(const UnrolledLstm& of);

}  // namespace optile::placement::tofu
