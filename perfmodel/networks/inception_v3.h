// Inception-v3 (Szegedy et al. 2015) with its auxiliary head, as the ImageNet trainer of the
// TensorFlow model garden builds it: batch normalisation by hand without a scale, RMSProp.
#pragma once

#include "perfmodel/networks/tape.h"

namespace optile::perfmodel::networks {

struct InceptionV3 {
  int64_t batch = 16;
  int64_t image = 299;
  int64_t classes = 1001;
};

Tape inception_v3(const InceptionV3& size = {});

}  // namespace optile::perfmodel::networks
