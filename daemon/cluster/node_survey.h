// What a node measures of itself: once how fast it computes, on a thread of its own at the lowest
// priority; its links again and again, one at a time. Asynchronous, on the thread that runs `io`.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "daemon/cluster/link_probe.h"
#include "daemon/cluster/node_record.h"

namespace optile::daemon {

inline constexpr std::chrono::minutes kLinkAge{10};           // then it is probed again
inline constexpr std::chrono::seconds kPauseOfLostProbe{60};  // of a peer that did not answer

// Whom a node probes: of those that answer probes the next ones behind it, by name and around, so
// that each link of a small cluster is known from both ends and a large one costs no more.
std::vector<NodeRecord> probed_peers(const std::string& name, std::vector<NodeRecord> nodes);

class NodeSurvey {
 public:
  struct Settings {
    std::string name;     // of this node
    std::string address;  // its own, or a name of it
    bool probes = true;   // else nothing listens, and no link is measured
    std::function<void(const std::string& line)> write_log{};
  };
  // `io` outlives it.
  NodeSurvey(boost::asio::io_context& io, Settings settings);
  ~NodeSurvey();
  NodeSurvey(const NodeSurvey&) = delete;
  NodeSurvey& operator=(const NodeSurvey&) = delete;

  // The nodes as last read, this one among them. Only they are answered.
  void see(const std::vector<NodeRecord>& nodes);
  const NodeMeasurements& measurements() const { return found_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Peer {
    LinkProbe::Endpoint endpoint;
    Clock::time_point due;
  };

  void measure_speed();
  void find_address();
  void listen(const boost::asio::ip::address& own);
  void probe_next();
  void take_link(const std::string& peer, const base::Result<ProbedLink>& link);
  void forget_link(const std::string& peer);

  boost::asio::io_context& io_;
  Settings settings_;
  boost::asio::ip::tcp::resolver resolver_;
  boost::asio::steady_timer timer_;
  boost::asio::ip::address own_;
  std::unique_ptr<ProbeResponder> responder_;
  std::unique_ptr<LinkProbe> probe_;  // under way
  std::map<std::string, Peer> peers_;
  NodeMeasurements found_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for what was posted to `io`
  std::atomic<bool> stop_ = false;
  std::thread speed_thread_;
};

}  // namespace optile::daemon
