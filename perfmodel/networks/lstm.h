// The language model of the Penn Treebank tutorial, "small" (Zaremba et al. 2014): two layers of
// 200, unrolled over 20 words, a vocabulary of 10,000, plain gradient descent behind a clip of the
// global norm. The cells are written out, since Table VI of the paper lists their Mul and BiasAdd.
#pragma once

#include "perfmodel/networks/tape.h"

namespace optile::perfmodel::networks {

struct Lstm {
  int64_t batch = 20;
  int64_t steps = 20;
  int64_t hidden = 200;
  int64_t layers = 2;
  int64_t vocabulary = 10000;
};

Tape lstm(const Lstm& size = {});

}  // namespace optile::perfmodel::networks
