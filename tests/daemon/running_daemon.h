// A daemon in the test's own thread: it runs only while the test waits for something, and every
// wait has a deadline.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "daemon/daemon.h"
#include "tests/daemon/fake_client.h"
#include "tests/daemon/temporary_directory.h"

namespace optile::daemon {

struct Answer {
  int status = 0;  // 0 = closed without one
  std::string head;
  std::string body;
  nlohmann::json json() const { return nlohmann::json::parse(body, nullptr, false); }
};

class RunningDaemon {
 public:
  explicit RunningDaemon(Config config);

  Daemon& daemon() { return *daemon_; }
  const Config& config() const { return config_; }
  // False at the deadline.
  bool serve_until(const std::function<bool()>& done);
  Answer get(const std::string& target);
  Answer post(const std::string& target, const std::string& body);
  // Sends raw bytes and reads until the daemon closes or an answer is complete.
  Answer raw(const std::string& request);
  // Attached, with its regions mapped and its header written; invalid on failure.
  ClientRegions attach(FakeConnection& connection, const optile_hello& hello);

 private:
  Config config_;
  std::unique_ptr<Daemon> daemon_;
};

// In `directory`, on a described machine, keeping nothing.
Config test_config(const TemporaryDirectory& directory);

int connect_stream(const std::string& path);

}  // namespace optile::daemon
