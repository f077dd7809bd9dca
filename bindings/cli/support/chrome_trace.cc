#include "bindings/cli/support/chrome_trace.h"

#include <algorithm>
#include <cmath>

namespace optile::cli {
namespace {

using Json = nlohmann::json;

constexpr double kNanoseconds = 1e9;
constexpr double kInMicrosecond = 1e3;  // nanoseconds

}  // namespace

void ChromeTrace::name_process(int process, const std::string& name) {
  events_.push_back(
      {{"ph", "M"}, {"pid", process}, {"name", "process_name"}, {"args", {{"name", name}}}});
}

void ChromeTrace::name_track(const TraceTrack& track, const std::string& name) {
  events_.push_back({{"ph", "M"},
                     {"pid", track.process},
                     {"tid", track.thread},
                     {"name", "thread_name"},
                     {"args", {{"name", name}}}});
}

void ChromeTrace::add_span(const TraceTrack& track, const std::string& name, const char* category,
                           double start_seconds, double end_seconds, const Json& args) {
  const double start = std::floor(start_seconds * kNanoseconds);
  const double end = std::floor(end_seconds * kNanoseconds);
  events_.push_back({{"ph", "X"},
                     {"pid", track.process},
                     {"tid", track.thread},
                     {"name", name},
                     {"cat", category},
                     {"ts", start / kInMicrosecond},
                     {"dur", std::max(1.0, end - start - 1) / kInMicrosecond},
                     {"args", args}});
}

std::string ChromeTrace::text() const {
  return Json{{"displayTimeUnit", "ms"}, {"traceEvents", events_}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace optile::cli
