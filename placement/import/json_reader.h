// Reading of untrusted JSON with the path of what is wrong. Pure.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace optile::placement {

using Json = nlohmann::json;

// With line and column where it is no JSON, and a limit on nesting.
base::Result<Json> parse_json(std::string_view text);

// Where an element of a list is, for messages: "nodes[3]".
std::string place_in(const std::string& list, std::size_t index);

// Collects the first problem, so that a reader can go through its fields and ask once.
class JsonReader {
 public:
  bool ok() const { return !error_; }
  base::Error error() const { return *error_; }
  void fail(const std::string& where, const std::string& what);

  // The member, which has to be there.
  const Json& member(const Json& object, const char* key, const std::string& where);
  double number(const Json& object, const char* key, const std::string& where);
  double number_or(const Json& object, const char* key, double otherwise, const std::string& where);
  long long integer(const Json& object, const char* key, const std::string& where);
  long long integer_or(const Json& object, const char* key, long long otherwise,
                       const std::string& where);
  // true, false, 0 or 1.
  bool flag_or(const Json& object, const char* key, bool otherwise, const std::string& where);
  std::string text_or(const Json& object, const char* key, const std::string& otherwise,
                      const std::string& where);
  const Json& list(const Json& object, const char* key, const std::string& where);

 private:
  std::optional<base::Error> error_;
};

}  // namespace optile::placement
