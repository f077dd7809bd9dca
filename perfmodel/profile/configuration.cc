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

std::vector<Configuration> unbound_cases(int widest) {
  std::vector<Configuration> cases;
  for (int width = 1; width <= widest; ++width) cases.push_back({width, Binding::kNone});
  return cases;
}

}  // namespace optile::perfmodel
