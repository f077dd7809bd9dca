#include "daemon/transport/request_reader.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <set>
#include <utility>
#include <vector>

namespace optile::daemon {
namespace {

using base::invalid;
using Json = nlohmann::json;

constexpr std::size_t kMaxEchoed = 64;  // bytes of a name that is said back

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10;
  return std::nullopt;
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// As it may stand in a message.
std::string echoed(const std::string& name) {
  std::string text;
  for (const char c : name.substr(0, kMaxEchoed)) text += c >= ' ' && c <= '~' ? c : '?';
  return text;
}

std::string number_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.16g", number);
  return text;
}

std::string range_text(const Member& member, const char* what) {
  return std::string("has to be ") + what + " from " + number_text(member.least) + " to " +
         number_text(member.most);
}

bool is_text_list(const Json& value) {
  return value.is_array() &&
         std::all_of(value.begin(), value.end(), [](const Json& one) { return one.is_string(); });
}

bool is_text_map(const Json& value) {
  return value.is_object() &&
         std::all_of(value.begin(), value.end(), [](const Json& one) { return one.is_string(); });
}

bool is_within(const Member& member, const Json& value) {
  const auto number = value.get<double>();
  return number >= member.least && number <= member.most;
}

// What is wrong with the value, as the end of a sentence about it; "" where nothing is.
std::string fault_of(const Member& member, const Json& value) {
  switch (member.kind) {
    case Member::Kind::kFlag:
      return value.is_boolean() ? "" : "has to be true or false";
    case Member::Kind::kTrue:
      return value == true ? "" : "has to be true, or to be left out";
    case Member::Kind::kInteger:
      return value.is_number_integer() && is_within(member, value)
                 ? ""
                 : range_text(member, "a whole number");
    case Member::Kind::kNumber:
      return value.is_number() && is_within(member, value) ? "" : range_text(member, "a number");
    case Member::Kind::kText:
      if (!value.is_string()) return "has to be a text";
      return static_cast<double>(value.get_ref<const std::string&>().size()) >= member.least
                 ? ""
                 : "must not be empty";
    case Member::Kind::kTextOrList:
      return value.is_string() || is_text_list(value) ? "" : "has to be a text or a list of texts";
    case Member::Kind::kTextMap:
      return is_text_map(value) ? "" : "has to be an object of texts";
    case Member::Kind::kOther:
      break;
  }
  return "";
}

std::string names_of(std::span<const Member> members) {
  std::string names;
  for (const Member& member : members)
    names += (names.empty() ? "" : ", ") + std::string(member.name);
  return names;
}

// nullopt for what is no JSON. `twice` becomes a name that an object in it has two of.
std::optional<Json> parse_json(const std::string& text, std::optional<std::string>& twice) {
  std::vector<std::set<std::string>> open;
  const auto note_names = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key) {
      const auto& name = parsed.get_ref<const std::string&>();
      if (!open.back().insert(name).second && !twice) twice = name;
    }
    return true;
  };
  Json json = Json::parse(text, note_names, false);
  if (json.is_discarded()) return std::nullopt;
  return json;
}

}  // namespace

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      const std::optional<unsigned> high = hex_digit(text[i + 1]);
      const std::optional<unsigned> low = hex_digit(text[i + 2]);
      if (high && low) {
        out.push_back(static_cast<char>(*high * 16 + *low));
        i += 2;
        continue;
      }
    }
    out.push_back(text[i]);
  }
  return out;
}

std::optional<uint64_t> parse_id(std::string_view text) {
  uint64_t id = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, id);
  if (text.empty() || error != std::errc() || at != end || id == 0) return std::nullopt;
  return id;
}

base::Result<Query> parse_query(std::string_view text, std::span<const char* const> allowed) {
  Query query;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('&'), text.size());
    const std::string_view pair = text.substr(0, end);
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const std::string name = percent_decoded(pair.substr(0, equals));
    const bool known =
        std::any_of(allowed.begin(), allowed.end(), [&](const char* one) { return name == one; });
    if (!known) {
      return invalid("there is no parameter \"" + echoed(name) + "\" here" +
                     (allowed.empty() ? "; this route takes none"
                                      : "; there is " + std::string(allowed.front())));
    }
    const std::string_view value = pair.substr(std::min(equals + 1, pair.size()));
    if (value.empty()) return invalid("the parameter " + name + " has no value");
    if (!query.emplace(name, percent_decoded(value)).second) {
      return invalid("the parameter " + name + " is said twice");
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return query;
}

base::Result<Json> parse_body(const std::string& text, std::span<const Member> members) {
  std::optional<std::string> twice;
  std::optional<Json> body = parse_json(text, twice);
  if (!body || !body->is_object()) return invalid("the body is not a JSON object");
  if (twice) return invalid("\"" + echoed(*twice) + "\" is said twice");
  if (const base::Status right = check_members(*body, members); !right.ok()) return right.error();
  return std::move(*body);
}

base::Status check_members(const Json& object, std::span<const Member> members) {
  for (const auto& one : object.items()) {
    const std::string& name = one.key();
    const auto member = std::find_if(members.begin(), members.end(),
                                     [&](const Member& each) { return name == each.name; });
    if (member == members.end()) {
      return invalid("there is no \"" + echoed(name) + "\" here; known are " + names_of(members));
    }
    if (const std::string fault = fault_of(*member, one.value()); !fault.empty()) {
      return invalid(std::string(name).append(" ").append(fault));
    }
  }
  return {};
}

bool is_json_type(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (type.ends_with(' ') || type.ends_with('\t')) type.remove_suffix(1);
  constexpr std::string_view kJson = "application/json";
  return content_type.empty() || std::equal(type.begin(), type.end(), kJson.begin(), kJson.end(),
                                            [](char a, char b) { return lower(a) == b; });
}

}  // namespace optile::daemon
