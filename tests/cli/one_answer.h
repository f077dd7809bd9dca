// Stands where a daemon's socket would be: takes one connection, reads one request, sends bytes,
// closes.
#pragma once

#include <string>
#include <thread>

#include "base/unique_fd.h"

namespace optile::cli {

// Bound, and listening where `listens`; nobody accepts.
base::UniqueFd bound_socket(const std::string& path, bool listens);

class OneAnswer {
 public:
  OneAnswer(const std::string& path, std::string bytes);
  // A whole HTTP answer.
  OneAnswer(const std::string& path, int status, const std::string& body);
  ~OneAnswer();
  OneAnswer(const OneAnswer&) = delete;
  OneAnswer& operator=(const OneAnswer&) = delete;

  // Waits for the exchange to end.
  const std::string& request();

 private:
  void serve();

  std::string bytes_;
  std::string request_;
  base::UniqueFd listening_;
  std::thread thread_;
};

}  // namespace optile::cli
