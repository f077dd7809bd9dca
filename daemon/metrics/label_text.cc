#include "daemon/metrics/label_text.h"

#include <cstdint>

namespace optile::daemon {
namespace {

constexpr std::string_view kCut = "...";

bool continues(char c) {
  return (static_cast<uint8_t>(c) & 0xc0) == 0x80;
}

// Bytes of the well-formed character at the front; 0 = there is none. (Unicode, table 3-7.)
std::size_t character_size(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  std::size_t size = 0;
  if (first >= 0xc2 && first <= 0xdf) size = 2;
  if (first >= 0xe0 && first <= 0xef) size = 3;
  if (first >= 0xf0 && first <= 0xf4) size = 4;
  if (size == 0 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if (!continues(text[i])) return 0;
  }
  if (first == 0xe0 && byte(1) < 0xa0) return 0;  // longer than it need be
  if (first == 0xed && byte(1) > 0x9f) return 0;  // a surrogate
  if (first == 0xf0 && byte(1) < 0x90) return 0;
  if (first == 0xf4 && byte(1) > 0x8f) return 0;  // beyond U+10FFFF
  return size;
}

bool is_control(std::string_view character) {
  const auto first = static_cast<uint8_t>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7f;
  return first == 0xc2 && static_cast<uint8_t>(character[1]) < 0xa0;  // U+0080 to U+009F
}

}  // namespace

std::string label_text(std::string_view text) {
  if (text.empty()) return "unknown";
  std::string clean;
  std::size_t room = 0;  // end of the last character behind which kCut still fits
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    const std::string_view character = text.substr(0, size == 0 ? 1 : size);
    const bool usable = size != 0 && !is_control(character);
    if (clean.size() + (usable ? size : 1) > kMaxLabelBytes) {
      clean.resize(room);
      return clean.append(kCut);
    }
    clean += usable ? character : std::string_view("?");
    if (clean.size() + kCut.size() <= kMaxLabelBytes) room = clean.size();
    text.remove_prefix(character.size());
  }
  return clean;
}

}  // namespace optile::daemon
