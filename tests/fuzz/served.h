// Both servers of the daemon with a controller behind them, on sockets in a folder of their own,
// driven by hand: a poll handles what has arrived and never waits. For one thread.
#pragma once

#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "daemon/api/api.h"
#include "daemon/controller/controller.h"
#include "daemon/support/log.h"
#include "daemon/transport/attach_server.h"
#include "daemon/transport/http_server.h"
#include "daemon/transport/listening_socket.h"
#include "tests/daemon/fixtures/fake_client.h"
#include "tests/daemon/fixtures/temporary_directory.h"
#include "tests/fuzz/fuzz_target.h"

namespace optile::fuzz {

// A clock that stands until the target moves it.
inline daemon::Clocks standing_clocks(const uint64_t* now_ns) {
  daemon::Clocks clocks;
  clocks.monotonic_ns = [now_ns] { return *now_ns; };
  clocks.unix_seconds = [now_ns] {
    return int64_t{1700000000} + static_cast<int64_t>(*now_ns / 1000000000);
  };
  clocks.counter = clocks.monotonic_ns;
  clocks.counter_hz = []() -> std::optional<uint64_t> { return std::nullopt; };
  return clocks;
}

inline perfmodel::Machine four_cores() {
  return perfmodel::make_machine_source("pack:1 l2:1 core:4 pu:1")->read().value();
}

class Served {
 public:
  Served()
      : log_("", false),
        store_(daemon::Store::open(":memory:")),
        machine_(four_cores()),
        controller_({machine_,
                     store_.get(),
                     standing_clocks(&now_ns_),
                     {},
                     daemon::kMaxClients,
                     {[this](int) { return daemon::whole_budget(machine_); }}}),
        metrics_(
            {&controller_, "0", [this] { return attach_.refused(); }, [this] { return now_ns_; }}),
        api_(controller_, metrics_, {1, "0", 0}, [this] { return now_ns_; }),
        attach_(io_, daemon::listen_at(attach_path(), SOCK_SEQPACKET).value(), rights(),
                {[this](daemon::AttachRequest attach_request) {
                   return arrive(std::move(attach_request));
                 },
                 [this](uint64_t client) { controller_.depart(client); }},
                log_),
        http_(
            io_,
            daemon::HttpServer::Listening{daemon::listen_at(http_path(), SOCK_STREAM).value(),
                                          daemon::HttpServer::Peers::kByRights,
                                          daemon::kMaxHttpConnections, rights()},
            [this](const daemon::HttpRequest& request) { return api_.answer(request); }, [] {}) {}

  std::string attach_path() const { return directory_ / "a"; }
  std::string http_path() const { return directory_ / "h"; }
  void poll() {
    io_.restart();
    io_.poll();
  }
  daemon::Controller& controller() { return controller_; }
  daemon::Api& api() { return api_; }
  std::size_t pending() const { return attach_.pending(); }
  std::size_t connections() const { return http_.connections(); }

 private:
  static daemon::Rights rights() {
    daemon::Rights::Settings settings;
    settings.own_uid = geteuid();
    return daemon::Rights(settings);
  }
  base::Result<daemon::AttachServer::Admission> arrive(daemon::AttachRequest attach_request) {
    base::Result<daemon::ClientMemory> memory = daemon::ClientMemory::make();
    if (!memory.ok()) return memory.error();
    daemon::AttachServer::Admission admission;
    admission.descriptors = memory.value().take_descriptors();
    base::Result<uint64_t> id =
        controller_.arrive(std::move(attach_request), std::move(memory).value());
    if (!id.ok()) return id.error();
    admission.client = id.value();
    return admission;
  }

  uint64_t now_ns_ = UINT64_C(10000000000);
  daemon::TemporaryDirectory directory_;
  daemon::Log log_;
  std::unique_ptr<daemon::Store> store_;
  perfmodel::Machine machine_;
  daemon::Controller controller_;
  daemon::DaemonMetrics metrics_;
  daemon::Api api_;
  boost::asio::io_context io_{1};
  daemon::AttachServer attach_;
  daemon::HttpServer http_;
};

}  // namespace optile::fuzz
