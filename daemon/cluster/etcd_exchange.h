// Requests to etcd, with TLS where the endpoint wants it. The one file that knows how bytes get to
// an etcd. Asynchronous, on the thread that runs `io`.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "daemon/cluster/etcd_endpoint.h"

namespace optile::daemon {

class EtcdTls;
struct IdleEtcdConnection;

inline constexpr std::size_t kMaxEtcdAnswerBytes = std::size_t{4} << 20;

struct EtcdPost {
  EtcdEndpoint endpoint;
  std::string target;                    // "/v3/kv/range"
  std::string body;                      // JSON
  std::string token;                     // of the user that was authenticated; "" = none
  std::shared_ptr<const EtcdTls> tls{};  // of an endpoint that wants it
  bool repeatable = false;               // asked twice it changes no more than asked once
};

struct EtcdReply {
  unsigned status = 0;  // of HTTP; 0 = no answer
  std::string body;
  std::string failure;  // why there is none
  // The request may have been carried out, although there is no answer.
  bool may_have_arrived = false;
  // There is none because of a certificate, etcd's or ours: nothing was carried out, and the same
  // comes of asking again until a file changes.
  bool by_certificate = false;
};

// The connection that etcd answered on last stays open for the next request to the same endpoint,
// but for one that may not be repeated, which gets its own: whether it arrived could not be told
// where etcd has meanwhile ended the connection.
class EtcdConnections {
 public:
  explicit EtcdConnections(boost::asio::io_context& io);
  // What is under way goes on.
  ~EtcdConnections();
  EtcdConnections(const EtcdConnections&) = delete;
  EtcdConnections& operator=(const EtcdConnections&) = delete;

  // `done` is called once, later, from `io`: with the answer, or once `timeout` is over. Where a
  // name has to be looked up, a thread of Asio's does it.
  void post(EtcdPost post, std::chrono::milliseconds timeout, std::function<void(EtcdReply)> done);

 private:
  boost::asio::io_context& io_;
  std::shared_ptr<IdleEtcdConnection> idle_;
};

}  // namespace optile::daemon
