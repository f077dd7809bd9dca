// Chrome's trace events, for any viewer of those: processes, tracks in them, spans on these. Of one
// thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace optile::cli {

struct TraceTrack {
  int process = 1;
  int thread = 0;
};

class ChromeTrace {
 public:
  void name_process(int process, const std::string& name);
  void name_track(const TraceTrack& track, const std::string& name);
  // In whole nanoseconds. A span ends one early, so that no viewer's rounding makes two that follow
  // each other overlap.
  void add_span(const TraceTrack& track, const std::string& name, const char* category,
                double start_seconds, double end_seconds, const nlohmann::json& args);

  // The whole document; text that is no UTF-8 is replaced.
  std::string text() const;

 private:
  nlohmann::json events_ = nlohmann::json::array();
};

}  // namespace optile::cli
