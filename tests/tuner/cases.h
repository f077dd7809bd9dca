// Cases for the tests of this folder.
#pragma once

#include "perfmodel/profile/case.h"

namespace optile::tuner {

inline perfmodel::Case threads(int width, perfmodel::Binding binding = perfmodel::Binding::kNone) {
  return {width, binding};
}

}  // namespace optile::tuner
