// DCGAN for MNIST with labels (Radford et al. 2015; the implementation that the paper names): 5x5
// convolutions of stride 2, fused batch normalisation, Adam. One step is what that program does for
// a batch: the discriminator once, the generator twice, each in a run of its own.
#pragma once

#include "perfmodel/networks/tape.h"

namespace optile::perfmodel::networks {

struct Dcgan {
  int64_t batch = 64;
  int64_t image = 28;
  int generator_runs = 2;
};

Tape dcgan(const Dcgan& size = {});

}  // namespace optile::perfmodel::networks
