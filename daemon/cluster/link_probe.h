// How fast bytes get from one node to another: one end sends blocks, the other one answers each
// block with a byte. Nothing that arrives has a meaning, so that nobody can ask a daemon for
// anything this way. Asynchronous, on the thread that runs `io`.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "base/result.h"

namespace optile::daemon {

inline constexpr std::size_t kProbeBlockBytes = 1024;
inline constexpr std::size_t kMaxProbeBytes = std::size_t{2} << 20;  // of one probe
inline constexpr std::chrono::seconds kProbeTime{5};                 // for all of one

// The end that answers. It hangs up on whoever is not let through, sends more than a probe has or
// takes longer, and while there are too many.
class ProbeResponder {
 public:
  using Address = boost::asio::ip::address;
  struct Limits {
    int at_once = 4;
    int a_minute = 120;
  };

  // Of addresses that it does not let through it takes nothing; at first that is all of them.
  ProbeResponder(boost::asio::io_context& io, Limits limits);
  ~ProbeResponder();
  ProbeResponder(const ProbeResponder&) = delete;
  ProbeResponder& operator=(const ProbeResponder&) = delete;

  // At any free port of this address, which is one of this machine's; returns the port.
  // kUnavailable: why it cannot.
  base::Result<int> listen(const Address& address);
  void let_through(std::set<Address> addresses);

 private:
  class Answering;
  struct State;
  std::shared_ptr<State> state_;
};

struct ProbedLink {
  double latency_seconds = 0;  // half of the shortest round trip of a block
  double bytes_per_second = 0;
};

// One probe, from `own` to `peer`. `done` is called once, later, unless the probe is dropped.
class LinkProbe {
 public:
  using Endpoint = boost::asio::ip::tcp::endpoint;
  using Done = std::function<void(const base::Result<ProbedLink>&)>;

  LinkProbe(boost::asio::io_context& io, const boost::asio::ip::address& own, const Endpoint& peer,
            Done done);
  ~LinkProbe();
  LinkProbe(const LinkProbe&) = delete;
  LinkProbe& operator=(const LinkProbe&) = delete;

 private:
  class Exchange;
  std::shared_ptr<Exchange> exchange_;
};

}  // namespace optile::daemon
