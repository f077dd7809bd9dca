#include "bindings/cli/top/picture.h"

#include "bindings/cli/top/shown_text.h"

namespace optile::cli {

void add(Line& line, const std::string& text, const Style& style) {
  if (text.empty()) return;
  if (!line.empty() && line.back().style == style) {
    line.back().text += text;
  } else {
    line.push_back({text, style});
  }
}

std::string plain_text(const Line& line) {
  std::string text;
  for (const Span& span : line) text += span.text;
  text.resize(text.find_last_not_of(' ') + 1);
  return text;
}

std::string plain_text(const Picture& picture) {
  std::string text;
  for (const Line& line : picture) text += plain_text(line) + "\n";
  return text;
}

Line cut_line(const Line& line, int columns) {
  Line kept;
  int left = columns;
  for (std::size_t i = 0; i < line.size() && left > 0; ++i) {
    const int wanted = columns_of(line[i].text);
    // A text that just fits is cut as well where more is to follow.
    const bool more = i + 1 < line.size() && wanted >= left;
    const std::string text = more ? cut(line[i].text + " ", left) : cut(line[i].text, left);
    add(kept, text, line[i].style);
    left -= wanted;
  }
  return kept;
}

}  // namespace optile::cli
