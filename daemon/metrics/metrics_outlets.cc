#include "daemon/metrics/metrics_outlets.h"

#include <unistd.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/metrics/exposition.h"
#include "daemon/metrics/loopback.h"
#include "daemon/support/published_file.h"

namespace optile::daemon {
namespace {

constexpr const char* kPlain = "text/plain; charset=utf-8";

HttpResponse plain(unsigned status, std::string text) {
  HttpResponse response;
  response.status = status;
  response.body = std::move(text);
  response.type = kPlain;
  return response;
}

}  // namespace

std::string discovery_text(const std::string& target) {
  const nlohmann::ordered_json groups = {
      {{"targets", {target}}, {"labels", nlohmann::ordered_json::object()}}};
  return groups.dump(2) + "\n";
}

MetricsOutlets::MetricsOutlets(boost::asio::io_context& io, DaemonMetrics& metrics, Log& log,
                               std::function<uint64_t()> monotonic_ns)
    : io_(io), timer_(io), metrics_(metrics), log_(log), monotonic_ns_(std::move(monotonic_ns)) {}

MetricsOutlets::~MetricsOutlets() {
  stop();
}

base::Status MetricsOutlets::open(const MetricsOptions& options) {
  options_.programs = options.programs;
  if (!options.listen.empty()) {
    const base::Result<LoopbackAddress> address = parse_loopback(options.listen);
    if (!address.ok()) return address.status();
    base::Result<LoopbackListener> listener = listen_on_loopback(address.value());
    if (!listener.ok()) return listener.status();
    target_ = listener.value().target;
    HttpServer::Listening listening;
    listening.fd = std::move(listener.value().fd);
    listening.peers = HttpServer::Peers::kAnybody;
    listening.max_connections = kMaxScrapers;
    // Scrapers do not keep a daemon alive: --idle-exit counts the Unix socket's connections only.
    http_ = std::make_unique<HttpServer>(
        io_, std::move(listening), [this](const HttpRequest& request) { return answer(request); },
        [] {});
    log_.info("metrics are at http://" + target_ + "/metrics");
  }
  if (!options.discovery.empty()) {
    if (base::Status done = publish_file(options.discovery, discovery_text(target_), kForEverybody);
        !done.ok()) {
      return done;
    }
    options_.discovery = options.discovery;
  }
  if (!options.textfile.empty()) {
    if (base::Status done = publish_file(options.textfile, text_for_node_exporter(), kForEverybody);
        !done.ok()) {
      return done;
    }
    options_.textfile = options.textfile;
  }
  return {};
}

void MetricsOutlets::set_clients(std::size_t clients) {
  if (stopped_) return;
  const bool last_left = clients_ != 0 && clients == 0;
  clients_ = clients;
  if (options_.textfile.empty()) return;
  if (last_left) {
    timer_.cancel();
    writing_ = false;
    write_textfile();
  } else if (clients_ != 0) {
    write_soon();
  }
}

void MetricsOutlets::write_soon() {
  if (writing_) return;
  writing_ = true;
  timer_.expires_after(kTextfilePeriod);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error || stopped_) return;
    writing_ = false;
    write_textfile();
    if (clients_ != 0) write_soon();
  });
}

// Whoever reads a port or what node_exporter serves is not known.
DaemonMetrics::Names MetricsOutlets::names() const {
  return options_.programs ? DaemonMetrics::Names::kShown : DaemonMetrics::Names::kWithheld;
}

std::string MetricsOutlets::text_for_node_exporter() {
  return metrics_.page(DaemonMetrics::Audience::kNodeExporter, names());
}

void MetricsOutlets::write_textfile() {
  const base::Status done =
      publish_file(options_.textfile, text_for_node_exporter(), kForEverybody);
  // Said once: a full disk would fill it with words otherwise.
  if (!done.ok() && !textfile_failed_) log_.warn("metrics: " + done.message());
  textfile_failed_ = !done.ok();
}

void MetricsOutlets::stop() {
  if (stopped_) return;
  stopped_ = true;
  timer_.cancel();
  writing_ = false;
  if (!options_.discovery.empty()) unlink(options_.discovery.c_str());
  if (http_ != nullptr) http_->stop();
  if (!options_.textfile.empty()) write_textfile();
}

HttpResponse MetricsOutlets::answer(const HttpRequest& request) {
  const std::string path = request.target.substr(0, request.target.find('?'));
  if (path != "/" && path != "/metrics") return plain(404, "there is nothing at this path\n");
  if (request.method != "GET") {
    HttpResponse response = plain(405, "use GET here\n");
    response.allow = "GET";
    return response;
  }
  if (path == "/") {
    return plain(200,
                 "optiled: metrics for Prometheus are at /metrics; everything else is on the "
                 "Unix socket, see `optile status`\n");
  }
  const uint64_t now_ns = monotonic_ns_();
  const auto fresh_ns = static_cast<uint64_t>(std::chrono::nanoseconds(kFreshPage).count());
  if (page_.empty() || now_ns - page_made_ns_ >= fresh_ns) {
    page_ = metrics_.page(DaemonMetrics::Audience::kScraper, names());
    page_made_ns_ = now_ns;
  }
  HttpResponse response;
  response.body = page_;
  response.type = kExpositionType;
  return response;
}

}  // namespace optile::daemon
