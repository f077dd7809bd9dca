#include "bindings/cli/top/shown_text.h"

#include <algorithm>
#include <cstdint>
#include <cwchar>

namespace optile::cli {
namespace {

constexpr uint32_t kNoCharacter = 0xffffffff;

struct Character {
  uint32_t code = kNoCharacter;
  std::size_t bytes = 1;
};

// The first character; a byte that begins none, or one that is cut short, is one by itself.
Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : (lead >= 0xe0 ? 3 : 2);
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  uint32_t code = lead & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    code = code << 6U | (byte(i) & 0x3fU);
  }
  const bool overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (overlong || surrogate || code > 0x10ffff) return {};
  return {code, bytes};
}

// Below 0: a terminal cannot show it.
int width_of(uint32_t code) {
  if (code == kNoCharacter) return -1;
  if (code < 0x80) return code >= 0x20 && code < 0x7f ? 1 : -1;
  return std::max(-1, wcwidth(static_cast<wchar_t>(code)));
}

}  // namespace

std::string shown(std::string_view text, bool utf8) {
  std::string out;
  text = text.substr(0, kMaxShownBytes);
  while (!text.empty()) {
    const Character next = first_of(text);
    const int width = next.code < 0x80 || utf8 ? width_of(next.code) : -1;
    if (width > 0) out += text.substr(0, next.bytes);
    if (width < 0) out += '?';
    text.remove_prefix(next.bytes);
  }
  return out;
}

int columns_of(std::string_view text) {
  int columns = 0;
  while (!text.empty()) {
    const Character next = first_of(text);
    columns += std::max(1, width_of(next.code));
    text.remove_prefix(next.bytes);
  }
  return columns;
}

std::string cut(std::string_view text, int columns) {
  if (columns <= 0) return "";
  if (columns_of(text) <= columns) return std::string(text);
  std::string out;
  int left = columns - 1;  // the last is for the sign that something is missing
  while (!text.empty()) {
    const Character next = first_of(text);
    left -= std::max(1, width_of(next.code));
    if (left < 0) break;
    out += text.substr(0, next.bytes);
    text.remove_prefix(next.bytes);
  }
  return out + '>';
}

std::string fitted(std::string_view text, int columns, bool to_the_right) {
  std::string part = cut(text, columns);
  const auto missing = static_cast<std::size_t>(std::max(0, columns - columns_of(part)));
  return to_the_right ? std::string(missing, ' ') + part : part + std::string(missing, ' ');
}

}  // namespace optile::cli
