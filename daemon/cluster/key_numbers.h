// Numbers in keys, which other machines have written. Pure; any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>

namespace optile::daemon {

// So many generations and epochs that one more is a number too.
inline constexpr int64_t kMostTimes = int64_t{1} << 53;

// A whole number, brought into -1 to `most`. Throws nlohmann::json::exception where there is none.
inline int64_t whole_number(const nlohmann::json& object, const char* name, int64_t most) {
  const int64_t number = object.at(name).get_ref<const nlohmann::json::number_integer_t&>();
  return std::clamp<int64_t>(number, -1, most);
}
inline int small_number(const nlohmann::json& object, const char* name) {
  return static_cast<int>(whole_number(object, name, std::numeric_limits<int>::max()));
}

}  // namespace optile::daemon
