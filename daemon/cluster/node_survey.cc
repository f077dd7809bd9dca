#include "daemon/cluster/node_survey.h"

#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "daemon/cluster/own_address.h"
#include "daemon/cluster/reference_speed.h"

namespace optile::daemon {
namespace {

using boost::asio::ip::tcp;
using SurveyError = boost::system::error_code;

constexpr int kLowestPriority = 19;

std::optional<tcp::endpoint> endpoint_of(const NodeRecord& node) {
  if (node.measured.probe_address.empty() || node.measured.probe_port == 0) return std::nullopt;
  SurveyError error;
  const auto address = boost::asio::ip::make_address(node.measured.probe_address, error);
  if (error) return std::nullopt;
  return tcp::endpoint(address, static_cast<unsigned short>(node.measured.probe_port));
}

}  // namespace

std::vector<NodeRecord> probed_peers(const std::string& name, std::vector<NodeRecord> nodes) {
  std::erase_if(nodes, [&](const NodeRecord& one) {
    return one.name == name || one.protocol != kClusterProtocol || !endpoint_of(one);
  });
  std::sort(nodes.begin(), nodes.end(),
            [](const NodeRecord& a, const NodeRecord& b) { return a.name < b.name; });
  const auto behind = std::find_if(nodes.begin(), nodes.end(),
                                   [&](const NodeRecord& one) { return one.name > name; });
  std::rotate(nodes.begin(), behind, nodes.end());
  if (nodes.size() > kMaxNodeLinks) nodes.resize(kMaxNodeLinks);
  return nodes;
}

NodeSurvey::NodeSurvey(boost::asio::io_context& io, Settings settings)
    : io_(io), settings_(std::move(settings)), resolver_(io), timer_(io) {
  measure_speed();
  find_address();
}

NodeSurvey::~NodeSurvey() {
  stop_ = true;
  if (speed_thread_.joinable()) speed_thread_.join();
}

void NodeSurvey::measure_speed() {
  const auto measure = [this] {
    setpriority(PRIO_PROCESS, 0, kLowestPriority);  // of this thread alone
    const std::optional<double> speed = measure_gflop_per_second(stop_);
    if (!speed) return;
    boost::asio::post(io_, [this, speed, alive = std::weak_ptr<bool>(alive_)] {
      if (alive.expired()) return;
      found_.gflop_per_second = speed;
    });
  };
  // Signals are the main thread's.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    speed_thread_ = std::thread(measure);
  } catch (const std::system_error&) {
    // No thread to be had: the speed stays unknown.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void NodeSurvey::find_address() {
  SurveyError error;
  const auto number = boost::asio::ip::make_address(settings_.address, error);
  if (!error) return listen(number);
  resolver_.async_resolve(settings_.address, "",
                          [this, alive = std::weak_ptr<bool>(alive_)](
                              const SurveyError& failed, const tcp::resolver::results_type& all) {
                            if (alive.expired() || failed || all.empty()) return;
                            listen(all.begin()->endpoint().address());
                          });
}

void NodeSurvey::listen(const boost::asio::ip::address& own) {
  own_ = own;
  found_.interface = interface_of(own.to_string());
  if (settings_.probes) {
    responder_ = std::make_unique<ProbeResponder>(io_, ProbeResponder::Limits());
    const base::Result<int> port = responder_->listen(own);
    if (port.ok()) {
      found_.probe_address = own.to_string();
      found_.probe_port = port.value();
    } else {
      responder_.reset();
      if (settings_.write_log) settings_.write_log("cluster: " + port.message());
    }
  }
}

void NodeSurvey::see(const std::vector<NodeRecord>& nodes) {
  if (responder_ == nullptr) return;
  std::set<boost::asio::ip::address> members;
  for (const NodeRecord& one : nodes) {
    if (const auto endpoint = endpoint_of(one)) members.insert(endpoint->address());
  }
  responder_->let_through(std::move(members));
  std::map<std::string, Peer> peers;
  for (const NodeRecord& one : probed_peers(settings_.name, nodes)) {
    const auto known = peers_.find(one.name);
    const LinkProbe::Endpoint endpoint = *endpoint_of(one);
    // Another port is another daemon.
    peers[one.name] = known != peers_.end() && known->second.endpoint == endpoint
                          ? known->second
                          : Peer{endpoint, Clock::now()};
  }
  peers_ = std::move(peers);
  const std::vector<NodeLink> links = found_.links;
  for (const NodeLink& link : links) {
    if (!peers_.contains(link.node)) forget_link(link.node);
  }
  probe_next();
}

void NodeSurvey::probe_next() {
  if (probe_ != nullptr || peers_.empty()) return;
  const auto next =
      std::min_element(peers_.begin(), peers_.end(),
                       [](const auto& a, const auto& b) { return a.second.due < b.second.due; });
  if (next->second.due > Clock::now()) {
    timer_.expires_at(next->second.due);
    timer_.async_wait([this](const SurveyError& error) {
      if (!error) probe_next();
    });
    return;
  }
  probe_ = std::make_unique<LinkProbe>(
      io_, own_, next->second.endpoint,
      [this, peer = next->first](const base::Result<ProbedLink>& link) { take_link(peer, link); });
}

void NodeSurvey::take_link(const std::string& peer, const base::Result<ProbedLink>& link) {
  probe_.reset();
  const auto known = peers_.find(peer);
  if (known != peers_.end()) {
    known->second.due =
        Clock::now() + (link.ok() ? Clock::duration(kLinkAge) : Clock::duration(kPauseOfLostProbe));
    forget_link(peer);
    if (link.ok()) {
      const NodeLink found = {peer, link.value().latency_seconds, link.value().bytes_per_second};
      const auto behind = std::find_if(found_.links.begin(), found_.links.end(),
                                       [&](const NodeLink& one) { return one.node > peer; });
      found_.links.insert(behind, found);
    }
  }
  probe_next();
}

void NodeSurvey::forget_link(const std::string& peer) {
  std::erase_if(found_.links, [&](const NodeLink& one) { return one.node == peer; });
}

}  // namespace optile::daemon
