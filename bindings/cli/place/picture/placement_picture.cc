#include "bindings/cli/place/picture/placement_picture.h"

#include <cmath>
#include <cstdio>

#include "bindings/cli/place/picture/device_colours.h"
#include "bindings/cli/place/picture/panels.h"

namespace optile::cli {

std::string placement_picture(const placement::Model& model, const placement::Cluster& cluster,
                              const placement::Answer& answer,
                              const std::vector<placement::Span>& spans, const std::string& title,
                              const std::string& objective) {
  const Pictured pictured{model.graph, cluster, answer, device_colours(cluster)};
  std::string words = objective + " " + shown_ms(answer.cost);
  if (answer.lower_bound > 0) words += ", at least " + shown_ms(answer.lower_bound);
  if (std::isfinite(answer.gap())) {
    char gap[32];
    std::snprintf(gap, sizeof gap, ", gap %.2f %%", answer.gap() * 100);
    words += gap;
  }
  words += ", by " + answer.method + "; " + std::to_string(model.graph.size()) + " nodes, " +
           std::to_string(model.graph.edge_count()) + " edges";
  Svg svg;
  double y = 34;
  svg.text(kPictureMargin, y, title, {17, "start", "#222222", true});
  svg.text(kPictureMargin, y += 20, words, {12.5});
  if (!answer.feasible) {
    svg.text(kPictureMargin, y += 18, "not feasible: " + answer.violation,
             {12.5, "start", "#c00000", true});
  }
  y = draw_devices(pictured, y + 16, svg);
  y = draw_graph(pictured, y + 6, svg);
  y = draw_timeline(pictured, spans, y + 6, svg);
  return svg.finish(kPictureWidth, y, title);
}

}  // namespace optile::cli
