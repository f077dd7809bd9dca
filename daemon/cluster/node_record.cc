#include "daemon/cluster/node_record.h"

#include <pwd.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "daemon/cluster/key_numbers.h"

namespace optile::daemon {
namespace {

using RecordJson = nlohmann::json;

constexpr std::size_t kMaxClusterName = 63;
constexpr int kMaxProbePort = 65535;
constexpr int64_t kMostBytes = std::numeric_limits<int64_t>::max();

bool is_name_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
}

std::string as_cluster_name(std::string text) {
  text.resize(std::min(text.size(), kMaxClusterName));
  for (char& c : text) {
    if (!is_name_letter(c)) c = '-';
  }
  return text;
}

RecordJson to_json(const NodeMeasurements& measured) {
  RecordJson json = RecordJson::object();
  if (measured.gflop_per_second) json["gflop_per_second"] = *measured.gflop_per_second;
  if (!measured.interface.empty()) json["interface"] = measured.interface;
  if (!measured.probe_address.empty()) {
    json["probe_address"] = measured.probe_address;
    json["probe_port"] = measured.probe_port;
  }
  for (const NodeLink& link : measured.links) {
    json["links"].push_back({{"node", link.node},
                             {"latency_seconds", link.latency_seconds},
                             {"bytes_per_second", link.bytes_per_second}});
  }
  return json;
}

// Nothing where it is none that can be: it comes from other machines.
bool take_amount(const RecordJson& json, double& into) {
  into = json.get<double>();
  return std::isfinite(into) && into >= 0;
}

bool take_measurements(const RecordJson& json, NodeMeasurements& into) {
  if (json.contains("gflop_per_second") &&
      !take_amount(json.at("gflop_per_second"), into.gflop_per_second.emplace())) {
    return false;
  }
  into.interface = printable(json.value("interface", ""));
  into.probe_address = printable(json.value("probe_address", ""));
  into.probe_port = json.contains("probe_port") ? small_number(json, "probe_port") : 0;
  const RecordJson links = json.value("links", RecordJson::array());
  if (!links.is_array() || links.size() > kMaxNodeLinks) return false;
  for (const RecordJson& one : links) {
    NodeLink link = {printable(one.at("node").get<std::string>())};
    if (!take_amount(one.at("latency_seconds"), link.latency_seconds) ||
        !take_amount(one.at("bytes_per_second"), link.bytes_per_second)) {
      return false;
    }
    into.links.push_back(std::move(link));
  }
  return into.probe_port >= 0 && into.probe_port <= kMaxProbePort;
}

}  // namespace

std::string to_text(const NodeRecord& record) {
  RecordJson json = {{"protocol", record.protocol}, {"name", record.name},
                     {"address", record.address},   {"cores", record.cores},
                     {"tiles", record.tiles},       {"memory_bytes", record.memory_bytes},
                     {"instance", record.instance}};
  json["measured"] = to_json(record.measured);
  return json.dump(-1, ' ', false, RecordJson::error_handler_t::replace);
}

base::Result<NodeRecord> read_node_record(const std::string& text) try {
  const RecordJson json = RecordJson::parse(text);
  NodeRecord record;
  record.protocol = small_number(json, "protocol");
  record.name = printable(json.at("name").get<std::string>());
  if (record.protocol != kClusterProtocol) return record;
  record.address = printable(json.at("address").get<std::string>());
  record.cores = small_number(json, "cores");
  record.tiles = small_number(json, "tiles");
  record.memory_bytes =
      static_cast<uint64_t>(std::max<int64_t>(0, whole_number(json, "memory_bytes", kMostBytes)));
  record.instance = json.at("instance").get<std::string>();
  // A daemon of before tells none.
  if (json.contains("measured") && !take_measurements(json.at("measured"), record.measured)) {
    return base::invalid("what it measured cannot be");
  }
  return record;
} catch (const RecordJson::exception&) {
  return base::invalid("it is no record of a node");
}

bool is_cluster_name(const std::string& name) {
  return !name.empty() && name.size() <= kMaxClusterName &&
         std::all_of(name.begin(), name.end(), is_name_letter);
}

std::string printable(std::string text) {
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text;
}

std::string account_name() {
  return account_name(geteuid());
}

std::string account_name(unsigned uid) {
  const passwd* found = getpwuid(uid);
  const std::string name = found == nullptr ? "" : as_cluster_name(found->pw_name);
  return name.empty() ? std::to_string(uid) : name;
}

std::string host_name_as_node() {
  utsname here;
  const std::string name = uname(&here) == 0 ? as_cluster_name(here.nodename) : "";
  return name.empty() ? "node" : name;
}

std::string make_cluster_instance() {
  std::random_device random;
  char text[40];
  std::snprintf(text, sizeof text, "%08x%08x%08x", random(), random(), random());
  return text;
}

}  // namespace optile::daemon
