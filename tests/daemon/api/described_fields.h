// What docs/reference/openapi.yaml says that an answer holds.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace optile::daemon {

// The properties of a schema of docs/reference/openapi.yaml, which is laid out with two spaces a
// level.
inline std::set<std::string> described_fields(const std::string& schema) {
  std::ifstream file(OPTILE_SOURCE_DIR "/docs/reference/openapi.yaml");
  std::set<std::string> fields;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    const std::size_t indent = line.find_first_not_of(' ');
    const std::size_t colon = line.find(':');
    if (indent == std::string::npos || colon == std::string::npos) continue;
    const std::string name = line.substr(indent, colon - indent);
    if (indent == 4) inside = name == schema;
    if (inside && indent == 8) fields.insert(name);
  }
  return fields;
}

inline std::set<std::string> undescribed(const nlohmann::json& object,
                                         const std::vector<std::string>& schemas) {
  std::set<std::string> missing;
  for (const auto& [name, value] : object.items()) missing.insert(name);
  EXPECT_FALSE(missing.empty());
  for (const std::string& schema : schemas) {
    const std::set<std::string> described = described_fields(schema);
    EXPECT_FALSE(described.empty()) << schema;
    for (const std::string& name : described) missing.erase(name);
  }
  return missing;
}

}  // namespace optile::daemon
