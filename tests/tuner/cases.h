// Cases for the tests of this folder.
#pragma once

#include "perfmodel/profile/configuration.h"

namespace optile::tuner {

inline perfmodel::Configuration threads(int width,
                                        perfmodel::Binding binding = perfmodel::Binding::kNone) {
  return {width, binding};
}

}  // namespace optile::tuner
