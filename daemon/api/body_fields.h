// Members of a request's body, which its route has checked. Pure.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "bindings/abi/api_fields.h"
#include "bindings/abi/limits.h"
#include "daemon/transport/attach_request.h"
#include "daemon/transport/request_reader.h"

namespace optile::daemon {

// Of several routes.
inline constexpr Member kShare = {field::kShare, Member::Kind::kNumber, 0.001,
                                  OPTILE_MAX_SHARE_MILLI / 1000.0};

// "" where there is none.
inline std::string text_at(const nlohmann::json& json, const char* name, std::size_t most = 4096) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_string()) return "";
  const std::string text = found->get<std::string>();
  return clean_text(text.data(), std::min(text.size(), most));
}

inline bool flag_at(const nlohmann::json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_boolean() && found->get<bool>();
}

}  // namespace optile::daemon
