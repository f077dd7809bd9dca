// What is to be seen: lines of styled text, for a terminal or for a file. Plain values.
#pragma once

#include <string>
#include <vector>

namespace optile::cli {

// No style carries a meaning that the text does not have as well.
struct Style {
  int colour = 0;  // 0 = none, 1 and up: of a client
  bool bold = false;
  bool reverse = false;
  bool dim = false;

  bool operator==(const Style&) const = default;
};

struct Span {
  std::string text;  // as shown() makes it
  Style style;
};

using Line = std::vector<Span>;
using Picture = std::vector<Line>;

// Neighbours of one style become one.
void add(Line& line, const std::string& text, const Style& style = {});
std::string plain_text(const Line& line);
// Lines without blanks at their ends.
std::string plain_text(const Picture& picture);
// At most so many columns.
Line cut_line(const Line& line, int columns);

}  // namespace optile::cli
