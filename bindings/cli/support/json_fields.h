// Fields of the daemon's answers, which may be null or of another kind than expected. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace optile::cli {

using Json = nlohmann::json;

// A JSON null stands where nothing is known.
inline std::string text_of(const Json& object, const char* key, const std::string& otherwise = "") {
  const Json value = object.value(key, Json());
  if (value.is_string()) return value.get<std::string>();
  return value.is_null() ? otherwise : value.dump();
}

inline Json list_of(const Json& object, const char* key) {
  return object.value(key, Json::array());
}

inline double number_of(const Json& object, const char* key) {
  const Json value = object.value(key, Json());
  return value.is_number() ? value.get<double>() : 0;
}

}  // namespace optile::cli
