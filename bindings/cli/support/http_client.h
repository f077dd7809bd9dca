// One request to the daemon over its Unix socket. The one file of the command line that knows
// Boost.Beast. Blocking, with deadlines.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/result.h"

namespace optile::cli {

struct HttpAnswer {
  unsigned status = 0;
  std::string body;
};

// A question that was asked, and whose answer is read later: the daemon works on it while the asker
// does something else. Each half has a deadline of its own; `deadline` is that of asking.
class AskedQuestion {
 public:
  AskedQuestion(const std::string& socket, const std::string& method, const std::string& target,
                const std::string& body, std::chrono::milliseconds deadline);
  ~AskedQuestion();
  AskedQuestion(const AskedQuestion&) = delete;
  AskedQuestion& operator=(const AskedQuestion&) = delete;

  // Once. kNotFound: no daemon there. kUnavailable: it did not answer in time.
  base::Result<HttpAnswer> answer(std::chrono::milliseconds deadline);

 private:
  class Exchange;
  std::unique_ptr<Exchange> exchange_;
  std::string socket_;
  int error_ = 0;
};

// Both halves, with one deadline. kNotFound: no daemon there. kUnavailable: it did not answer in
// time.
base::Result<HttpAnswer> ask_daemon(const std::string& socket, const std::string& method,
                                    const std::string& target, const std::string& body,
                                    std::chrono::milliseconds deadline);

// Any text as a part of a target's path or query.
std::string path_component(const std::string& text);

}  // namespace optile::cli
