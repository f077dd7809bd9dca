#include "bindings/cli/place/placement_trace.h"

#include <algorithm>

#include "base/at.h"
#include "bindings/cli/support/chrome_trace.h"

namespace optile::cli {
namespace {

using base::at;
using placement::Span;

constexpr double kSeconds = 1e-3;   // a millisecond
constexpr double kShortest = 1e-6;  // a nanosecond, in milliseconds

// The row of a transfer: the first one whose last transfer has ended.
int row_for(const Span& span, std::vector<double>* ends) {
  const auto free =
      std::find_if(ends->begin(), ends->end(), [&](double end) { return end <= span.start_ms; });
  const auto row = static_cast<int>(free - ends->begin());
  if (free == ends->end()) ends->push_back(0);
  (*ends)[at(row)] = span.end_ms;
  return row;
}

}  // namespace

std::string placement_trace(const placement::Graph& graph, const placement::Cluster& cluster,
                            std::vector<Span> spans) {
  std::stable_sort(spans.begin(), spans.end(),
                   [](const Span& a, const Span& b) { return a.start_ms < b.start_ms; });
  ChromeTrace trace;
  std::vector<std::vector<double>> transfers(at(cluster.size()));  // by device and row: its end
  for (const Span& span : spans) {
    if (span.end_ms - span.start_ms < kShortest) continue;
    const bool computes = span.what == Span::What::kCompute;
    const int row = computes ? 0 : 1 + row_for(span, &transfers[at(span.device)]);
    nlohmann::json args = {{"node", span.node}};
    if (span.to >= 0) args["to"] = cluster.device(span.to).name;
    const char* category = computes                         ? "compute"
                           : span.what == Span::What::kSend ? "send"
                                                            : "receive";
    trace.add_span({span.device, row}, graph.node(span.node).name, category,
                   span.start_ms * kSeconds, span.end_ms * kSeconds, args);
  }
  for (placement::DeviceId device = 0; device < cluster.size(); ++device) {
    trace.name_process(device, cluster.device(device).name);
    trace.name_track({device, 0}, "nodes");
    for (std::size_t row = 0; row < transfers[at(device)].size(); ++row) {
      trace.name_track({device, static_cast<int>(row) + 1}, "transfers");
    }
  }
  return trace.text();
}

}  // namespace optile::cli
