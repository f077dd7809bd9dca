#include "placement/policy/policy_file.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/hash.h"
#include "base/result.h"
#include "placement/cluster.h"
#include "placement/import/json_reader.h"
#include "placement/policy/policy.h"

namespace optile::placement::policy {
namespace {

using base::invalid;

// Over everything that the file says, so that no digit changes unnoticed.
std::string check_of(const SavedPolicy& saved) {
  const std::string method = name_of(saved.method);
  std::uint64_t hash = base::hash_bytes(method.data(), method.size());
  hash = base::hash_word(static_cast<std::uint64_t>(saved.devices), hash);
  for (const SavedPolicy::Matrix& one : saved.matrices) {
    hash = base::hash_bytes(one.name.data(), one.name.size(), hash);
    hash = base::hash_word(static_cast<std::uint64_t>(one.rows), hash);
    hash = base::hash_word(static_cast<std::uint64_t>(one.columns), hash);
    hash = base::hash_bytes(one.values.data(), one.values.size() * sizeof(double), hash);
  }
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

SavedPolicy::Matrix matrix_of(const Json& json, const std::string& where, JsonReader& reader) {
  SavedPolicy::Matrix matrix;
  if (!json.is_object()) reader.fail(where, "has to be an object");
  if (!reader.ok()) return matrix;
  matrix.name = reader.text_or(json, "name", "", where);
  constexpr long long kMost = 1 << 20;
  const long long rows = reader.integer(json, "rows", where);
  const long long columns = reader.integer(json, "columns", where);
  const Json& values = reader.list(json, "values", where);
  if (!reader.ok()) return matrix;
  if (rows < 1 || rows > kMost || columns < 1 || columns > kMost ||
      values.size() != static_cast<std::size_t>(rows * columns)) {
    reader.fail(where, "has another number of values than rows times columns");
    return matrix;
  }
  matrix.rows = static_cast<int>(rows);
  matrix.columns = static_cast<int>(columns);
  matrix.values.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i].is_number() || !std::isfinite(values[i].get<double>())) {
      reader.fail(where + ".values[" + std::to_string(i) + "]", "has to be a finite number");
      return matrix;
    }
    matrix.values.push_back(values[i].get<double>());
  }
  return matrix;
}

}  // namespace

std::string policy_text(const SavedPolicy& saved) {
  Json json = {{"optile_policy", kPolicyFileVersion},
               {"method", name_of(saved.method)},
               {"devices", saved.devices},
               {"check", check_of(saved)}};
  for (const SavedPolicy::Matrix& one : saved.matrices) {
    json["matrices"].push_back(
        {{"name", one.name}, {"rows", one.rows}, {"columns", one.columns}, {"values", one.values}});
  }
  return json.dump() + "\n";
}

base::Result<SavedPolicy> read_policy(std::string_view text) {
  const base::Result<Json> json = parse_json(text);
  if (!json.ok()) return json.error();
  if (!json.value().is_object() || !json.value().contains("optile_policy")) {
    return invalid("this is no saved policy: make one by optile place train");
  }
  JsonReader reader;
  const long long version = reader.integer(json.value(), "optile_policy", "");
  if (reader.ok() && version != kPolicyFileVersion) {
    return invalid("the policy has version " + std::to_string(version) + ", this optile reads " +
                   std::to_string(kPolicyFileVersion) + ": train it anew");
  }
  SavedPolicy saved;
  const std::string name = reader.text_or(json.value(), "method", "", "");
  const long long devices = reader.integer(json.value(), "devices", "");
  const std::string check = reader.text_or(json.value(), "check", "", "");
  const Json& matrices = reader.list(json.value(), "matrices", "");
  if (!reader.ok()) return reader.error();
  const std::optional<Method> method = choice_of<Method>(name);
  if (!method) return invalid("there is no policy named " + name);
  saved.method = *method;
  if (devices < 1 || devices > kMaxDevices) return invalid("devices: out of range");
  saved.devices = static_cast<int>(devices);
  for (std::size_t i = 0; i < matrices.size() && reader.ok(); ++i) {
    saved.matrices.push_back(matrix_of(matrices[i], "matrices[" + std::to_string(i) + "]", reader));
  }
  if (!reader.ok()) return reader.error();
  if (check != check_of(saved)) {
    return invalid("the policy was changed or damaged after it was saved: its check is wrong");
  }
  const base::Result<std::unique_ptr<Policy>> whole = restored_policy(saved);
  if (!whole.ok()) return whole.error();
  return saved;
}

SavedPolicy saved_policy(Method method, int devices, const Policy& policy) {
  SavedPolicy saved{method, devices, {}};
  for (const Parameters::One& one : policy.parameters().all()) {
    saved.matrices.push_back({one.name,
                              static_cast<int>(one.value.rows()),
                              static_cast<int>(one.value.cols()),
                              {one.value.data(), one.value.data() + one.value.size()}});
  }
  return saved;
}

base::Result<std::unique_ptr<Policy>> restored_policy(const SavedPolicy& saved) {
  std::unique_ptr<Policy> policy = make_policy(saved.method, saved.devices, 0);
  if (policy == nullptr) return invalid("there is no policy named " + name_of(saved.method));
  std::vector<Parameters::One>& all = policy->parameters().all();
  bool fits = all.size() == saved.matrices.size();
  for (std::size_t i = 0; fits && i < all.size(); ++i) {
    const SavedPolicy::Matrix& from = saved.matrices[i];
    fits = from.name == all[i].name && from.rows == all[i].value.rows() &&
           from.columns == all[i].value.cols();
    if (fits) std::copy(from.values.begin(), from.values.end(), all[i].value.data());
  }
  if (!fits) return invalid("the policy's matrices are not those of " + name_of(saved.method));
  return policy;
}

}  // namespace optile::placement::policy
