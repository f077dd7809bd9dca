// The daemon's log: a small rotating file beside the socket, and the terminal where it was started
// in the foreground. The one place that knows the logging library. The daemon's one thread.
#pragma once

#include <memory>
#include <string>

namespace optile::daemon {

class Log {
 public:
  // An empty path, or a file that cannot be ours (a link, somebody else's), means no file.
  Log(const std::string& path, bool to_terminal);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // Text of peers has to be cleaned before (clean_text).
  void info(const std::string& text);
  void warn(const std::string& text);

 private:
  class Sinks;
  std::unique_ptr<Sinks> sinks_;
};

}  // namespace optile::daemon
