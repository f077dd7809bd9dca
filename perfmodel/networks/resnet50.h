// ResNet-50 (He et al. 2015, table 1): bottlenecks 3, 4, 6, 3. Batch normalisation is written out
// by hand and ReLU as a Select, as in the model garden's CIFAR code of TensorFlow 1.x: the ops of
// the paper's Table VI (Tile, Mul, InputConversion, ToTf) come from nothing else.
#pragma once

#include "perfmodel/networks/tape.h"

namespace optile::perfmodel::networks {

struct Resnet50 {
  int64_t batch = 64;
  int64_t image = 32;  // pixels a side; CIFAR-10's, as the paper trains it
  int64_t classes = 10;
  bool small_stem = true;  // section 4.2 there: a 3x3 convolution, no pooling
};

Tape resnet50(const Resnet50& size = {});

}  // namespace optile::perfmodel::networks
