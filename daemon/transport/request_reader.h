// What a request of the API may hold: parameters and members by name, each of one kind, and nothing
// beside them. docs/reference/openapi.yaml says the same. Pure; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace optile::daemon {

// The largest integer that every reader of JSON keeps exactly.
inline constexpr double kMaxRequestInteger = 9007199254740991.0;

struct Member {
  enum class Kind {
    kFlag,
    kTrue,     // said, or left out
    kInteger,  // from `least` to `most`
    kNumber,   // likewise
    kText,     // of `least` bytes at the fewest
    kTextOrList,
    kTextMap,
    kOther  // its reader looks at it
  };
  const char* name;
  Kind kind;
  double least = 0;
  double most = kMaxRequestInteger;
};

using Query = std::map<std::string, std::string>;

// The part of a target behind its '?'. Everything is kInvalid that is not allowed, said twice, or
// without a value.
base::Result<Query> parse_query(std::string_view text, std::span<const char* const> allowed);

// An object with some of those members, none of them twice. kInvalid says what is wrong with it.
base::Result<nlohmann::json> parse_body(const std::string& text, std::span<const Member> members);

// The same of an object within a body.
base::Status check_members(const nlohmann::json& object, std::span<const Member> members);

// Whether the value of a Content-Type header means JSON; one that is not there may.
bool is_json_type(std::string_view content_type);

// %41 → A; what is malformed stays as it is.
std::string percent_decoded(std::string_view text);

// Digits alone, from 1 on.
std::optional<uint64_t> parse_id(std::string_view text);

}  // namespace optile::daemon
