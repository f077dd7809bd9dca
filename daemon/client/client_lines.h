// Clients that come and go, for the log: a few lines as they are, and where hundreds of short
// programs come and go one line a second that sums them up. Pure: the clock comes in. The daemon's
// one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace optile::daemon {

class ClientLines {
 public:
  static constexpr uint64_t kWindowNs = UINT64_C(1'000'000'000);
  static constexpr uint64_t kBurst = 24;  // lines that are written one by one; another each second

  // The line to be written now, where one is; the others wait for due().
  std::optional<std::string> note(uint64_t now_ns, uint64_t client, const std::string& text);
  // The line about those that wait, once a second has passed since they began to.
  std::optional<std::string> due(uint64_t now_ns);
  // At the end: whatever waits.
  std::optional<std::string> flush();

 private:
  void refill(uint64_t now_ns);

  uint64_t left_ = kBurst;
  uint64_t refilled_ns_ = 0;
  std::optional<uint64_t> waiting_since_ns_;
  std::size_t waiting_ = 0;
  std::set<uint64_t> clients_;  // of those lines
  std::string latest_;
};

}  // namespace optile::daemon
