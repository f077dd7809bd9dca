// The ways out of the daemon for metrics besides the Unix socket, each by option: a TCP port of
// this machine, a file that tells Prometheus about that port, and a file for node_exporter's
// textfile collector. The daemon's one thread.
//
// No timer runs while no client is attached: the text file is then as it was written when the last
// one left.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "daemon/metrics/daemon_metrics.h"
#include "daemon/support/log.h"
#include "daemon/transport/http_server.h"

namespace optile::daemon {

struct MetricsOptions {
  std::string listen;     // "" = no TCP port
  std::string discovery;  // file; needs `listen`
  std::string textfile;   // file
  bool programs = false;  // named there; else DaemonMetrics::Names::kWithheld
};

inline constexpr std::chrono::seconds kTextfilePeriod{15};
// On TCP anybody on this machine may ask; a page younger than this is served again.
inline constexpr std::chrono::milliseconds kFreshPage{200};
inline constexpr std::size_t kMaxScrapers = 8;  // connections at once over TCP

// The text of a file for Prometheus' file-based discovery.
std::string discovery_text(const std::string& target);

class MetricsOutlets {
 public:
  // `metrics` and `log` outlive it.
  MetricsOutlets(boost::asio::io_context& io, DaemonMetrics& metrics, Log& log,
                 std::function<uint64_t()> monotonic_ns);
  ~MetricsOutlets();
  MetricsOutlets(const MetricsOutlets&) = delete;
  MetricsOutlets& operator=(const MetricsOutlets&) = delete;

  // An error where an option cannot be satisfied. Nothing is left behind then.
  base::Status open(const MetricsOptions& options);
  // The number of attached clients has changed.
  void set_clients(std::size_t clients);
  // Writes the text file once more, removes the discovery file, closes the port.
  void stop();

  const std::string& target() const { return target_; }  // "" = no TCP port
  bool asleep() const { return !writing_; }

 private:
  DaemonMetrics::Names names() const;
  HttpResponse answer(const HttpRequest& request);
  std::string text_for_node_exporter();
  void write_textfile();
  void write_soon();

  boost::asio::io_context& io_;
  boost::asio::steady_timer timer_;
  DaemonMetrics& metrics_;
  Log& log_;
  std::function<uint64_t()> monotonic_ns_;
  MetricsOptions options_;  // of what was opened
  std::string target_;
  std::unique_ptr<HttpServer> http_;
  std::string page_;
  uint64_t page_made_ns_ = 0;
  std::size_t clients_ = 0;
  bool writing_ = false;
  bool textfile_failed_ = false;
  bool stopped_ = false;
};

}  // namespace optile::daemon
