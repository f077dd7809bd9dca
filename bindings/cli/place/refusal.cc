#include "bindings/cli/place/refusal.h"

#include <iostream>

#include "bindings/cli/support/child_process.h"

namespace optile::cli {

int refuse(const std::string& why) {
  std::cerr << "optile: " << why << "\n";
  return kOwnFailure;
}

}  // namespace optile::cli
