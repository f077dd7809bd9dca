// Words as a shell reads them back, for commands that are printed to be typed.
#pragma once

#include <cctype>
#include <string>
#include <vector>

namespace optile::cli {

inline std::string shell_word(const std::string& word) {
  bool plain = !word.empty();
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    plain = plain &&
            (std::isalnum(byte) != 0 || std::string("-_./=:,+%@").find(c) != std::string::npos);
  }
  if (plain) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

inline std::string shell_command(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_word(word);
  return line;
}

}  // namespace optile::cli
