// TLS to an etcd: its certificate is verified, for the host that was named, and there is no way
// around that. The one file that knows OpenSSL, and puts what it says into words. On the thread
// that runs the connections.
#pragma once

#include <sys/stat.h>

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "daemon/cluster/etcd_tls_files.h"

namespace optile::daemon {

struct EtcdTlsFailure {
  std::string text;  // what happened, and what to do
  // A certificate, etcd's or ours: the same comes of asking again until a file changes. What was
  // sent behind the handshake was not looked at by etcd.
  bool by_certificate = false;
};

class EtcdTls {
 public:
  using Stream = boost::asio::ssl::stream<boost::beast::tcp_stream&>;

  // Reads the files, which may block. kInvalid, kDenied: which of them cannot be used, and why.
  static base::Result<std::shared_ptr<EtcdTls>> read(const EtcdTlsFiles& files);

  // Over `lower`, which outlives it; its handshake succeeds with an etcd that is `host` only.
  std::unique_ptr<Stream> make_stream(boost::beast::tcp_stream& lower,
                                      const std::string& host) const;

  // Behind a handshake with `host` or a request after it that failed with `error`.
  EtcdTlsFailure explain(const boost::system::error_code& error, Stream& stream,
                         const std::string& host) const;

  // Certificates are renewed while we run: reads the files again where one is another since it was
  // read, for the streams made from then on. False where none is, or where they cannot be used;
  // then those of before stay.
  bool read_changed();

 private:
  struct Stamp {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    timespec changed = {};
    bool operator==(const Stamp& other) const;
  };
  explicit EtcdTls(EtcdTlsFiles files) : files_(std::move(files)) {}
  std::vector<Stamp> look_at_files() const;
  base::Status take_files();

  EtcdTlsFiles files_;
  std::vector<Stamp> stamps_;  // of the files as they were tried last
  std::shared_ptr<boost::asio::ssl::context> context_;
};

}  // namespace optile::daemon
