#include "placement/import/json_reader.h"

#include <cmath>

namespace optile::placement {
namespace {

constexpr int kMaxDepth = 64;

const Json& nothing() {
  static const Json null;
  return null;
}

const Json& no_list() {
  static const Json list = Json::array();
  return list;
}

std::string position(std::string_view text, std::size_t byte) {
  std::size_t line = 1;
  std::size_t column = 1;
  for (std::size_t i = 0; i + 1 < byte && i < text.size(); ++i) {
    if (text[i] == '\n') {
      ++line;
      column = 1;
    } else {
      ++column;
    }
  }
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

// Counted beforehand: a parser that is asked to look at every value goes through all earlier
// members of a list for each of them.
bool too_deep(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (quoted) {
      if (letter == '\\') ++i;
      if (letter == '"') quoted = false;
    } else if (letter == '"') {
      quoted = true;
    } else if (letter == '[' || letter == '{') {
      if (++depth > kMaxDepth + 1) return true;
    } else if (letter == ']' || letter == '}') {
      --depth;
    }
  }
  return false;
}

}  // namespace

base::Result<Json> parse_json(std::string_view text) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return base::Error{base::ErrorKind::kInvalid, "the file is empty"};
  }
  if (too_deep(text)) {
    return base::Error{base::ErrorKind::kInvalid, "the JSON is nested more than 64 deep"};
  }
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    const bool ended = error.byte > text.size();
    return base::Error{base::ErrorKind::kInvalid,
                       position(text, error.byte) +
                           (ended ? ": the file ends in the middle of its JSON: it is truncated"
                                  : ": this is no JSON")};
  } catch (const Json::exception& error) {  // a number that no double holds
    return base::Error{base::ErrorKind::kInvalid,
                       std::string("the JSON cannot be read: ") + error.what()};
  }
}

std::string place_in(const std::string& list, std::size_t index) {
  return list + "[" + std::to_string(index) + "]";
}

void JsonReader::fail(const std::string& where, const std::string& what) {
  if (!error_) error_ = base::Error{base::ErrorKind::kInvalid, where + ": " + what};
}

const Json& JsonReader::member(const Json& object, const char* key, const std::string& where) {
  if (!object.is_object()) {
    fail(where, "an object is expected");
    return nothing();
  }
  const auto found = object.find(key);
  if (found == object.end()) {
    fail(where, std::string(key) + " is missing");
    return nothing();
  }
  return *found;
}

double JsonReader::number(const Json& object, const char* key, const std::string& where) {
  const Json& value = member(object, key, where);
  if (!ok()) return 0;
  if (!value.is_number() || !std::isfinite(value.get<double>())) {
    fail(where + "." + key, "a number is expected");
    return 0;
  }
  return value.get<double>();
}

double JsonReader::number_or(const Json& object, const char* key, double otherwise,
                             const std::string& where) {
  if (object.is_object() && !object.contains(key)) return otherwise;
  return number(object, key, where);
}

long long JsonReader::integer(const Json& object, const char* key, const std::string& where) {
  const double value = number(object, key, where);
  if (ok() && (value != std::floor(value) || std::abs(value) > 1e15)) {
    fail(where + "." + key, "a whole number is expected");
  }
  return ok() ? static_cast<long long>(value) : 0;
}

long long JsonReader::integer_or(const Json& object, const char* key, long long otherwise,
                                 const std::string& where) {
  if (object.is_object() && !object.contains(key)) return otherwise;
  return integer(object, key, where);
}

bool JsonReader::flag_or(const Json& object, const char* key, bool otherwise,
                         const std::string& where) {
  if (object.is_object() && !object.contains(key)) return otherwise;
  const Json& value = member(object, key, where);
  if (value.is_boolean()) return value.get<bool>();
  const long long number = integer(object, key, where);
  if (ok() && number != 0 && number != 1) fail(where + "." + key, "true or false is expected");
  return number == 1;
}

std::string JsonReader::text_or(const Json& object, const char* key, const std::string& otherwise,
                                const std::string& where) {
  if (object.is_object() && !object.contains(key)) return otherwise;
  const Json& value = member(object, key, where);
  if (ok() && !value.is_string()) fail(where + "." + key, "a text is expected");
  return ok() ? value.get<std::string>() : otherwise;
}

const Json& JsonReader::list(const Json& object, const char* key, const std::string& where) {
  const Json& value = member(object, key, where);
  if (ok() && !value.is_array()) fail(where + "." + key, "a list is expected");
  return ok() ? value : no_list();
}

}  // namespace optile::placement
