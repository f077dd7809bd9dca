#include <algorithm>
#include <cmath>

#include "base/at.h"
#include "bindings/cli/place/picture/device_colours.h"
#include "bindings/cli/place/picture/panels.h"

namespace optile::cli {
namespace {

using base::at;

using placement::Span;

constexpr double kLeft = 200;
constexpr std::size_t kNameLetters = 20;
constexpr double kInner = kPictureWidth - kPictureMargin - kLeft;
constexpr double kComputeRow = 20;
constexpr double kTransferRow = 9;
constexpr double kBetween = 5;
constexpr double kNamed = 46;      // spans from this width on have names
constexpr double kTogether = 0.4;  // spans that are closer than that are drawn as one
constexpr int kTicks = 8;

bool computes(const Span& span) {
  return span.what == Span::What::kCompute;
}

double tick_of(double last) {
  double tick = std::pow(10, std::floor(std::log10(last / kTicks)));
  for (const double factor : {2.0, 2.5, 2.0}) {
    if (last / tick > kTicks) tick *= factor;
  }
  return tick;
}

class Timeline {
 public:
  Timeline(const Pictured& pictured, const std::vector<Span>& spans, Svg& svg)
      : pictured_(pictured), svg_(svg), of_device_(pictured.cluster.devices.size()) {
    for (const Span& span : spans) {
      of_device_[at(span.device)].push_back(span);
      last_ = std::max(last_, span.end_ms);
    }
  }

  double draw(double y) {
    if (!(last_ > 0)) return y;
    svg_.text(kPictureMargin, y + 10,
              "one step along time: nodes, and below them in a thin row the transfers of a device",
              {11, "start", "#666666"});
    y += 24;
    const double top = y;
    std::vector<std::size_t> shown;
    for (std::size_t d = 0; d < of_device_.size() && shown.size() < kPictureDevices; ++d) {
      if (!of_device_[d].empty()) shown.push_back(d);
    }
    double end = y;
    for (const std::size_t d : shown) end += height(d) + kBetween;
    axis(top, end);
    for (const std::size_t d : shown) {
      row(d, y);
      y += height(d) + kBetween;
    }
    return end + 26;
  }

 private:
  bool transfers(std::size_t device) const {
    return !std::all_of(of_device_[device].begin(), of_device_[device].end(), computes);
  }
  double height(std::size_t device) const {
    return kComputeRow + (transfers(device) ? kTransferRow : 0);
  }
  double x(double ms) const { return kLeft + ms / last_ * kInner; }

  void axis(double top, double end) {
    const double tick = tick_of(last_);
    for (int i = 0; i * tick <= last_ * (1 + 1e-9); ++i) {
      const double at = i * tick;
      svg_.line(x(at), top - 3, x(at), end, "stroke=\"#cccccc\" stroke-width=\"0.6\"");
      svg_.text(x(at), end + 12, shown_ms(at), {10, "middle", "#666666"});
    }
  }

  void row(std::size_t device, double y) {
    const std::string& colour = pictured_.colours[device];
    svg_.rect({kPictureMargin, y + 4, 12, 12}, colour);
    svg_.text(kPictureMargin + 20, y + 14, pictured_.cluster.devices[device].name, {},
              kNameLetters);
    svg_.rect({kLeft, y, kInner, kComputeRow}, "#f4f4f4");
    std::vector<Span> work;
    std::vector<Span> moves;
    for (const Span& span : of_device_[device]) (computes(span) ? work : moves).push_back(span);
    spans(work, {0, y, 0, kComputeRow}, colour);
    spans(moves, {0, y + kComputeRow + 1, 0, kTransferRow - 2}, lighter(colour, 0.45));
  }

  // Of one row. Neighbours too small to be told apart become one.
  void spans(std::vector<Span> row, const Box& at, const std::string& colour) {
    std::stable_sort(row.begin(), row.end(),
                     [](const Span& a, const Span& b) { return a.start_ms < b.start_ms; });
    for (std::size_t i = 0; i < row.size();) {
      const double start = x(row[i].start_ms);
      double end = x(row[i].end_ms);
      std::size_t next = i + 1;
      const bool small = end - start < 2 * kTogether;
      while (small && next < row.size() && x(row[next].start_ms) - end < kTogether &&
             x(row[next].end_ms) - x(row[next].start_ms) < 2 * kTogether) {
        end = std::max(end, x(row[next].end_ms));
        ++next;
      }
      draw_span(row[i], next - i, {start, at.y, std::max(end - start, 0.3), at.height}, colour);
      i = next;
    }
  }

  void draw_span(const Span& span, std::size_t count, const Box& box, const std::string& colour) {
    const std::string& name = pictured_.graph.node(span.node).name;
    const std::string more =
        count > 1 ? " and " + std::to_string(count - 1) + " more"
                  : (span.to >= 0 ? " to " + pictured_.cluster.device(span.to).name : "");
    svg_.rect(box, colour,
              name + more + ", " + shown_ms(span.start_ms) + ", for " +
                  shown_ms(span.end_ms - span.start_ms),
              count == 1 && box.width > 2 ? "stroke=\"#ffffff\" stroke-width=\"0.5\"" : "");
    if (count > 1 || box.width < kNamed || box.height < kComputeRow) return;
    svg_.text(box.x + box.width / 2, box.y + 13, name, {9.5, "middle", "#ffffff"},
              static_cast<std::size_t>(box.width / 6.5));
  }

  const Pictured& pictured_;
  Svg& svg_;
  std::vector<std::vector<Span>> of_device_;
  double last_ = 0;
};

}  // namespace

double draw_timeline(const Pictured& pictured, const std::vector<Span>& spans, double y, Svg& svg) {
  return Timeline(pictured, spans, svg).draw(y);
}

}  // namespace optile::cli
