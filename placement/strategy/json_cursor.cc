#include "placement/strategy/json_cursor.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace optile::placement {

base::Status JsonCursor::status() const {
  if (ok()) return {};
  return base::Error{base::ErrorKind::kInvalid, error_};
}

void JsonCursor::skip_space() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c != ' ' && c != '\n' && c != '\t' && c != '\r') return;
    ++at_;
  }
}

void JsonCursor::fail(const std::string& what) {
  if (!ok()) return;
  const std::string_view before = text_.substr(0, at_);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n');
  const std::size_t column = start == std::string_view::npos ? at_ + 1 : at_ - start;
  error_ = "line " + std::to_string(line) + ", column " + std::to_string(column) + ": " + what;
}

bool JsonCursor::peek(char wanted) {
  if (!ok()) return false;
  skip_space();
  return at_ < text_.size() && text_[at_] == wanted;
}

bool JsonCursor::take(char expected) {
  if (!ok()) return false;
  if (peek(expected)) {
    ++at_;
    return true;
  }
  if (at_ >= text_.size()) {
    fail(std::string("the text ends where '") + expected + "' should be");
  } else {
    fail(std::string("expected '") + expected + "'");
  }
  return false;
}

bool JsonCursor::open(char opening, char closing) {
  if (!take(opening)) return false;
  if (!peek(closing)) return ok();
  ++at_;
  return false;
}

bool JsonCursor::another(char closing) {
  if (!ok()) return false;
  if (peek(',')) {
    ++at_;
    return true;
  }
  take(closing);
  return false;
}

std::string JsonCursor::text() {
  std::string result;
  if (!take('"')) return result;
  while (at_ < text_.size() && text_[at_] != '"') {
    char c = text_[at_];
    if (static_cast<unsigned char>(c) < ' ') {
      fail("a control character in a string");
      return {};
    }
    if (c == '\\') {
      c = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
      if (c != '"' && c != '\\' && c != '/') {
        fail("an escape that this format does not need");
        return {};
      }
      ++at_;
    }
    result += c;
    ++at_;
  }
  if (at_ >= text_.size()) {
    fail("the text ends inside a string");
    return {};
  }
  ++at_;
  return result;
}

std::int64_t JsonCursor::number() {
  if (!ok()) return 0;
  skip_space();
  std::int64_t value = 0;
  const char* from = text_.data() + at_;
  const char* to = text_.data() + text_.size();
  const auto [next, error] = std::from_chars(from, to, value);
  if (error == std::errc::result_out_of_range) {
    fail("a number beyond 64 bits");
    return 0;
  }
  if (error != std::errc() || next == from) {
    fail(from == to ? "the text ends where a number should be" : "expected a whole number");
    return 0;
  }
  const auto used = static_cast<std::size_t>(next - from);
  const char* digits = *from == '-' ? from + 1 : from;
  if (*digits == '0' && next - digits > 1) {
    fail("a number with a leading zero");
    return 0;
  }
  at_ += used;
  if (next != to && (*next == '.' || *next == 'e' || *next == 'E')) {
    fail("costs, usages and times are whole numbers");
    return 0;
  }
  return value;
}

void JsonCursor::end() {
  if (!ok()) return;
  skip_space();
  if (at_ < text_.size()) fail("something follows the problem");
}

}  // namespace optile::placement
