// The attach socket: accepts programs, checks who they are, hands over their two memory files and
// then only watches whether they are still alive. The daemon's one thread.
//
// Whoever is slow, malformed or too many loses its own connection and nothing else happens. A
// client has left when its connection hangs up or its process has ended, whichever is seen first: a
// forked child that does not exec keeps the connection open.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>

#include "base/result.h"
#include "base/unique_fd.h"
#include "daemon/support/log.h"
#include "daemon/support/rights.h"
#include "daemon/transport/attach_request.h"
#include "daemon/transport/client_memory.h"
#include "daemon/transport/pending_handshakes.h"

namespace optile::daemon {

// For connections that have not sent a request yet; beyond PendingHandshakes they are closed
// at once.
inline constexpr std::chrono::milliseconds kAttachRequestDeadline{1000};

class AttachServer {
 public:
  struct Admission {
    uint64_t client = 0;
    ClientMemory::Descriptors descriptors;
  };
  struct Handlers {
    std::function<base::Result<Admission>(AttachRequest)> arrive;
    std::function<void(uint64_t client)> depart;
  };

  AttachServer(boost::asio::io_context& io, base::UniqueFd listening, Rights rights,
               Handlers handlers, Log& log);
  ~AttachServer();
  AttachServer(const AttachServer&) = delete;
  AttachServer& operator=(const AttachServer&) = delete;

  // Closes everything; clients keep their last plan. Their departure is told.
  void stop();
  std::size_t pending() const { return pending_.count(); }
  // Programs that were told why they may not attach.
  uint64_t refused() const { return refused_; }

 private:
  class Connection;

  void wait();
  void accept_some();
  bool accept_one();
  void shed();
  void forget(const std::shared_ptr<Connection>& connection);

  boost::asio::io_context& io_;
  boost::asio::posix::stream_descriptor listening_;
  boost::asio::steady_timer retry_;
  base::UniqueFd reserve_;  // given up for a moment to shed connections without descriptors left
  Rights rights_;
  Handlers handlers_;
  Log& log_;
  std::set<std::shared_ptr<Connection>> connections_;
  PendingHandshakes pending_;
  uint64_t refused_ = 0;
  bool stopped_ = false;
};

}  // namespace optile::daemon
