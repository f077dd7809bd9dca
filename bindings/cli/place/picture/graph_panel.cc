#include <algorithm>
#include <cmath>

#include "base/at.h"
#include "bindings/cli/place/picture/device_colours.h"
#include "bindings/cli/place/picture/panels.h"

namespace optile::cli {
namespace {

using base::at;

using placement::DeviceId;

constexpr double kLeft = kPictureMargin;
constexpr double kInner = kPictureWidth - 2 * kPictureMargin;
constexpr double kRow = 20;
constexpr double kBoxHeight = 14;
constexpr double kBetweenLines = 18;
constexpr double kWidestColumn = 150;
constexpr double kLabelled = 64;  // columns from this width on have names
constexpr double kStackHeight = 280;
constexpr double kCrossingHeight = 70;
constexpr std::size_t kMostCurves = 160;  // between stretches

std::string title_of(const Pictured& pictured, const DrawnBox& box) {
  const placement::Node& node = pictured.graph.node(box.first);
  std::string title = node.name;
  if (!node.kind.empty()) title += " (" + node.kind + ")";
  if (box.nodes > 1) title += " and " + std::to_string(box.nodes - 1) + " more nodes";
  return title + ": " + shown_ms(box.ms) + " on " + pictured.cluster.device(box.device).name;
}

double most_bytes(const DrawnGraph& drawn) {
  double most = 0;
  for (const DrawnFlow& flow : drawn.flows) most = std::max(most, flow.bytes);
  return most;
}

std::string stroke(const std::string& colour, double width, double opacity) {
  const auto short_number = [](double value) {
    return std::to_string(std::lround(value * 100) / 100) + "." +
           std::to_string(100 + std::lround(value * 100) % 100).substr(1);
  };
  return "stroke=\"" + colour + "\" stroke-width=\"" + short_number(width) +
         "\" stroke-opacity=\"" + short_number(opacity) + "\"";
}

// Boxes in columns, columns in lines, arrows from left to right.
class BoxPanel {
 public:
  BoxPanel(const Pictured& pictured, const DrawnGraph& drawn, double y, Svg& svg)
      : pictured_(pictured), drawn_(drawn), svg_(svg) {
    column_ = std::min(kInner / drawn.columns_a_line, kWidestColumn);
    width_ = column_ * (column_ >= kLabelled ? 0.78 : 0.62);
    for (const double rows : drawn.rows) {
      lines_.push_back(y);
      y += rows * kRow + kBetweenLines;
    }
    end_ = y;
  }

  double draw() {
    const double most = most_bytes(drawn_);
    for (const bool crossing : {false, true}) {
      for (const DrawnFlow& flow : drawn_.flows) {
        const DrawnBox& from = drawn_.boxes[at(flow.from)];
        const DrawnBox& to = drawn_.boxes[at(flow.to)];
        if ((from.device != to.device) != crossing) continue;
        const double width = most > 0 ? 0.7 + 2.3 * std::sqrt(flow.bytes / most) : 1;
        arrow(from, to, crossing ? stroke("#000000", width, 0.75) : stroke("#999999", width, 0.55));
      }
    }
    for (const DrawnBox& box : drawn_.boxes) draw_box(box);
    return end_;
  }

 private:
  std::size_t line(const DrawnBox& box) const { return at(box.column / drawn_.columns_a_line); }
  double x(const DrawnBox& box) const {
    return kLeft + (box.column % drawn_.columns_a_line + 0.5) * column_ - width_ / 2;
  }
  double y(const DrawnBox& box) const { return lines_[line(box)] + box.row * kRow; }

  void arrow(const DrawnBox& from, const DrawnBox& to, const std::string& how) {
    const double begin = x(from) + width_;
    const double from_y = y(from) + kBoxHeight / 2;
    const double to_y = y(to) + kBoxHeight / 2;
    if (line(from) == line(to)) {
      svg_.curve(begin, from_y, x(to), to_y, how);
      return;
    }
    // It leaves its line at the right and comes into the other at the left.
    const double right = kLeft + drawn_.columns_a_line * column_ + kPictureMargin / 2;
    if (right - begin > 0) svg_.curve(begin, from_y, right, from_y, how);
    svg_.curve(kLeft - kPictureMargin / 2, to_y, x(to), to_y, how);
  }

  void draw_box(const DrawnBox& box) {
    const std::string& colour = pictured_.colours[at(box.device)];
    svg_.rect({x(box), y(box), width_, kBoxHeight}, colour, title_of(pictured_, box),
              "rx=\"3\" stroke=\"#ffffff\" stroke-width=\"0.6\"");
    const double middle = x(box) + width_ / 2;
    if (column_ >= kLabelled) {
      const std::string& name = pictured_.graph.node(box.first).name;
      const auto letters = static_cast<std::size_t>(width_ / 6.2);
      const std::string more = box.nodes > 1 ? " ×" + std::to_string(box.nodes) : "";
      svg_.text(middle, y(box) + 10.5, short_name(name, letters > 4 ? letters - 3 : 2) + more,
                {9.5, "middle", "#ffffff"});
    } else if (box.nodes > 1) {
      svg_.text(middle, y(box) + 10.5, std::to_string(box.nodes), {8.5, "middle", "#ffffff"});
    }
  }
  // The end of a name tells more than its beginning, which many share.
  static std::string short_name(const std::string& name, std::size_t most) {
    if (name.size() <= most) return name;
    const std::string end = name.substr(name.size() - most);
    const bool plain = std::all_of(end.begin(), end.end(), [](char letter) {
      return static_cast<unsigned char>(letter) < 0x80U;
    });
    return plain ? "…" + end : name.substr(0, most);
  }

  const Pictured& pictured_;
  const DrawnGraph& drawn_;
  Svg& svg_;
  double column_ = 0;
  double width_ = 0;
  std::vector<double> lines_;  // where each begins
  double end_ = 0;
};

// Columns of stacked devices, the largest transfers between them, and what crosses below.
class StretchPanel {
 public:
  StretchPanel(const Pictured& pictured, const DrawnGraph& drawn, double y, Svg& svg)
      : pictured_(pictured), drawn_(drawn), svg_(svg), y_(y), tops_(drawn.boxes.size()) {
    column_ = kInner / drawn.columns;
    width_ = column_ * 0.62;
    std::vector<double> ms(at(drawn.columns), 0);
    for (const DrawnBox& box : drawn.boxes) {
      if (std::isfinite(box.ms)) ms[at(box.column)] += box.ms;
    }
    most_ms_ = *std::max_element(ms.begin(), ms.end());
    // Boxes are in the order of columns, and of devices within one.
    std::vector<double> bottom(at(drawn.columns), y + kStackHeight);
    for (std::size_t i = 0; i < drawn.boxes.size(); ++i) {
      double& top = bottom[at(drawn.boxes[i].column)];
      top -= height(drawn.boxes[i]);
      tops_[i] = top;
    }
  }

  double draw() {
    curves();
    for (std::size_t i = 0; i < drawn_.boxes.size(); ++i) {
      const DrawnBox& box = drawn_.boxes[i];
      svg_.rect({x(box.column), tops_[i], width_, height(box)}, pictured_.colours[at(box.device)],
                std::to_string(box.nodes) + " nodes, " + shown_ms(box.ms) + " on " +
                    pictured_.cluster.device(box.device).name);
    }
    return crossing(y_ + kStackHeight + 26);
  }

 private:
  double x(int column) const { return kLeft + column * column_ + (column_ - width_) / 2; }
  double height(const DrawnBox& box) const {
    if (!(most_ms_ > 0) || !std::isfinite(box.ms)) return 1;
    return std::max(0.4, box.ms / most_ms_ * kStackHeight);
  }
  double middle(int box) const { return tops_[at(box)] + height(drawn_.boxes[at(box)]) / 2; }

  void curves() {
    std::vector<DrawnFlow> flows;
    for (const DrawnFlow& flow : drawn_.flows) {
      const DrawnBox& from = drawn_.boxes[at(flow.from)];
      const DrawnBox& to = drawn_.boxes[at(flow.to)];
      if (from.device != to.device && from.column < to.column) flows.push_back(flow);
    }
    std::stable_sort(flows.begin(), flows.end(),
                     [](const DrawnFlow& a, const DrawnFlow& b) { return a.bytes > b.bytes; });
    flows.resize(std::min(flows.size(), kMostCurves));
    const double most = most_bytes(drawn_);
    for (const DrawnFlow& flow : flows) {
      const DrawnBox& from = drawn_.boxes[at(flow.from)];
      const double width = most > 0 ? 0.4 + 3 * flow.bytes / most : 0.6;
      svg_.curve(x(from.column) + width_, middle(flow.from), x(drawn_.boxes[at(flow.to)].column),
                 middle(flow.to), stroke(pictured_.colours[at(from.device)], width, 0.45));
    }
  }

  double crossing(double y) {
    const double most =
        *std::max_element(drawn_.crossing_bytes.begin(), drawn_.crossing_bytes.end());
    svg_.text(kLeft, y, "sent to other devices; the highest column is " + shown_bytes(most),
              {11, "start", "#666666"});
    const double base = y + 8 + kCrossingHeight;
    for (int column = 0; column < drawn_.columns && most > 0; ++column) {
      const double bytes = drawn_.crossing_bytes[at(column)];
      const double high = bytes / most * kCrossingHeight;
      svg_.rect({x(column), base - high, width_, high}, "#555555", shown_bytes(bytes));
    }
    svg_.line(kLeft, base, kLeft + kInner, base, "stroke=\"#999999\" stroke-width=\"0.6\"");
    return base + 16;
  }

  const Pictured& pictured_;
  const DrawnGraph& drawn_;
  Svg& svg_;
  double y_;
  double column_ = 0;
  double width_ = 0;
  double most_ms_ = 0;
  std::vector<double> tops_;
};

}  // namespace

double draw_graph(const Pictured& pictured, double y, Svg& svg) {
  const DrawnGraph drawn =
      drawn_graph(pictured.graph, pictured.cluster, pictured.answer.assignment);
  const bool joined = drawn.boxes.size() < at(pictured.graph.size());
  std::string words = "the graph from left to right";
  if (drawn.stretches) {
    words = "the graph from left to right, " + std::to_string(drawn.columns) +
            " columns of equally many levels; a column is as high as its nodes take time, curves "
            "are the largest transfers";
  } else {
    if (drawn.rows.size() > 1) words += ", line by line";
    words += "; black arrows cross devices";
    if (joined) words += "; a number says how many nodes a box is";
  }
  svg.text(kLeft, y + 10, words, {11, "start", "#666666"});
  y += 26;
  if (drawn.stretches) return StretchPanel(pictured, drawn, y, svg).draw();
  return BoxPanel(pictured, drawn, y, svg).draw();
}

}  // namespace optile::cli
