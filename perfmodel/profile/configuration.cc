#include "perfmodel/profile/configuration.h"

namespace optile::perfmodel {

const char* binding_name(Binding binding) {
  switch (binding) {
    case Binding::kNone:
      return "none";
    case Binding::kCompact:
      return "compact";
    case Binding::kSpread:
      return "spread";
    case Binding::kMixed:
      return "mixed";
  }
  return "none";
}

}  // namespace optile::perfmodel
