#include "bindings/cli/place/picture/svg.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace optile::cli {
namespace {

// Longer texts are cut before they are looked at; four bytes a letter.
constexpr std::size_t kMostBytes = 4;

std::string number(double value) {
  char text[48];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string attribute(const char* name, double value) {
  return std::string(" ") + name + "=\"" + number(value) + "\"";
}

bool continues(char letter) {
  return (static_cast<unsigned char>(letter) & 0xC0U) == 0x80U;
}

}  // namespace

std::string svg_text(std::string_view text, std::size_t most) {
  const bool cut = text.size() > most * kMostBytes;
  // A JSON text is UTF-8, so that writing one replaces what is not.
  const nlohmann::json json = std::string(text.substr(0, most * kMostBytes));
  std::string good =
      nlohmann::json::parse(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))
          .get<std::string>();
  // U+FFFE and U+FFFF are no characters of XML.
  for (std::size_t at = 0; (at = good.find("\xef\xbf", at)) != std::string::npos; ++at) {
    if (good[at + 2] == '\xbe' || good[at + 2] == '\xbf') good[at + 2] = '\xbd';
  }
  std::string out;
  std::size_t letters = 0;
  bool more = cut;
  for (const char letter : good) {
    if (!continues(letter) && ++letters > most) {
      more = true;
      break;
    }
    const bool control = static_cast<unsigned char>(letter) < 0x20U || letter == 0x7F;
    if (letter == '&') {
      out += "&amp;";
    } else if (letter == '<') {
      out += "&lt;";
    } else if (letter == '>') {
      out += "&gt;";
    } else if (letter == '"') {
      out += "&quot;";
    } else {
      out += control ? ' ' : letter;
    }
  }
  return more ? out + "…" : out;
}

void Svg::rect(const Box& box, std::string_view fill, std::string_view title,
               std::string_view more) {
  body_ += "<rect" + attribute("x", box.x) + attribute("y", box.y) + attribute("width", box.width) +
           attribute("height", box.height) + " fill=\"" + std::string(fill) + "\"";
  if (!more.empty()) body_ += " " + std::string(more);
  body_ += title.empty() ? "/>\n" : "><title>" + svg_text(title, 300) + "</title></rect>\n";
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view more) {
  body_ += "<line" + attribute("x1", x1) + attribute("y1", y1) + attribute("x2", x2) +
           attribute("y2", y2) + " " + std::string(more) + "/>\n";
}

void Svg::curve(double x1, double y1, double x2, double y2, std::string_view more) {
  const double half = (x2 - x1) / 2;
  body_ += "<path d=\"M" + number(x1) + " " + number(y1) + "C" + number(x1 + half) + " " +
           number(y1) + " " + number(x2 - half) + " " + number(y2) + " " + number(x2) + " " +
           number(y2) + "\" fill=\"none\" " + std::string(more) + "/>\n";
}

void Svg::text(double x, double y, std::string_view text, const Lettering& lettering,
               std::size_t most) {
  body_ +=
      "<text" + attribute("x", x) + attribute("y", y) + attribute("font-size", lettering.size) +
      " text-anchor=\"" + lettering.anchor + "\" fill=\"" + lettering.colour + "\"" +
      (lettering.bold ? " font-weight=\"bold\"" : "") + ">" + svg_text(text, most) + "</text>\n";
}

std::string Svg::finish(double width, double height, std::string_view title) const {
  const std::string size = attribute("width", width) + attribute("height", height);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\"" + size + " viewBox=\"0 0 " + number(width) +
         " " + number(height) +
         "\" font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\">\n<title>" +
         svg_text(title, 300) + "</title>\n<rect" + size + " fill=\"#ffffff\"/>\n" + body_ +
         "</svg>\n";
}

}  // namespace optile::cli
