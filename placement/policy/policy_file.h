// Learned policies as files: JSON with a version, every matrix by name and shape, and a check over
// all values. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "placement/method.h"

namespace optile::placement::policy {

class Policy;

inline constexpr int kPolicyFileVersion = 1;

// What a file holds; without the types of the matrices behind it.
struct SavedPolicy {
  struct Matrix {
    std::string name;
    int rows = 0;
    int columns = 0;
    std::vector<double> values;  // row by row
  };
  Method method = Method::kAuto;
  int devices = 0;
  std::vector<Matrix> matrices;
};

std::string policy_text(const SavedPolicy& saved);
// kInvalid for what is no policy, of another version, damaged, or not of its method's shape.
base::Result<SavedPolicy> read_policy(std::string_view text);

SavedPolicy saved_policy(Method method, int devices, const Policy& policy);
// kInvalid where names or shapes are not those of the method.
base::Result<std::unique_ptr<Policy>> restored_policy(const SavedPolicy& saved);

}  // namespace optile::placement::policy
