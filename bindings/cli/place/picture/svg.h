// Pieces of an SVG document, one after the other. Of one thread; knows nothing of placements.
#pragma once

#include <string>
#include <string_view>

namespace optile::cli {

// What may stand in a document: markup is escaped, what is no UTF-8 or no letter is replaced, and
// of more than `most` letters the rest is left out.
std::string svg_text(std::string_view text, std::size_t most);

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
};

struct Lettering {
  double size = 12;
  const char* anchor = "start";  // start, middle or end
  const char* colour = "#222222";
  bool bold = false;
};

class Svg {
 public:
  // The title is what a viewer shows when it is pointed at; text is escaped here.
  void rect(const Box& box, std::string_view fill, std::string_view title = {},
            std::string_view more = {});
  void line(double x1, double y1, double x2, double y2, std::string_view more);
  // From the right of one thing to the left of another.
  void curve(double x1, double y1, double x2, double y2, std::string_view more);
  // At most so many letters of it.
  void text(double x, double y, std::string_view text, const Lettering& lettering = {},
            std::size_t most = 200);

  // The whole document of so many pixels, on white.
  std::string finish(double width, double height, std::string_view title) const;

 private:
  std::string body_;
};

}  // namespace optile::cli
