#include "daemon/cluster/etcd_endpoint.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace optile::daemon {
namespace {

constexpr std::string_view kHttp = "http://";
constexpr std::string_view kHttps = "https://";
constexpr const char* kEtcdPort = "2379";
constexpr int kMaxPort = 65535;

bool is_port(std::string_view text) {
  int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port > 0 && port <= kMaxPort;
}

bool is_host(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_' ||
           c == ':' || c == '%';
  });
}

base::Result<EtcdEndpoint> parse_endpoint(const std::string& url) {
  const base::Error wrong = base::invalid(
      url +
      " is no address of etcd; write https://HOST:PORT or http://HOST:PORT, several with commas "
      "between them");
  std::string_view rest = url;
  EtcdEndpoint endpoint;
  endpoint.tls = rest.starts_with(kHttps);
  if (!endpoint.tls && !rest.starts_with(kHttp)) return wrong;
  rest.remove_prefix(endpoint.tls ? kHttps.size() : kHttp.size());
  if (rest.ends_with('/')) rest.remove_suffix(1);
  endpoint.port = kEtcdPort;
  if (rest.starts_with('[')) {
    const std::size_t end = rest.find(']');
    if (end == std::string_view::npos) return wrong;
    endpoint.host = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
  } else {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    endpoint.host = rest.substr(0, end);
    rest.remove_prefix(end);
  }
  if (rest.starts_with(':')) {
    endpoint.port = rest.substr(1);
  } else if (!rest.empty()) {
    return wrong;
  }
  if (!is_host(endpoint.host) || !is_port(endpoint.port)) return wrong;
  return endpoint;
}

}  // namespace

std::string EtcdEndpoint::url() const {
  const bool bracketed = host.find(':') != std::string::npos;
  return std::string(tls ? kHttps : kHttp) + (bracketed ? "[" + host + "]" : host) + ":" + port;
}

base::Result<std::vector<EtcdEndpoint>> parse_etcd_endpoints(const std::string& urls) {
  std::vector<EtcdEndpoint> endpoints;
  std::size_t begin = 0;
  while (begin <= urls.size()) {
    const std::size_t end = std::min(urls.find(',', begin), urls.size());
    base::Result<EtcdEndpoint> endpoint = parse_endpoint(urls.substr(begin, end - begin));
    if (!endpoint.ok()) return endpoint.error();
    if (!endpoints.empty() && endpoints.front().tls != endpoint.value().tls) {
      return base::invalid(
          "http:// and https:// are mixed: name all endpoints of one etcd by https://, or in a "
          "network that you trust all by http://");
    }
    endpoints.push_back(std::move(endpoint).value());
    begin = end + 1;
  }
  if (endpoints.size() > kMaxEtcdEndpoints) {
    return base::invalid("at most " + std::to_string(kMaxEtcdEndpoints) +
                         " endpoints of etcd can be named");
  }
  return endpoints;
}

}  // namespace optile::daemon
