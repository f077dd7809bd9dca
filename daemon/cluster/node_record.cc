#include "daemon/cluster/node_record.h"

#include <pwd.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <random>

namespace optile::daemon {
namespace {

using RecordJson = nlohmann::json;

constexpr std::size_t kMaxClusterName = 63;

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

}  // namespace

std::string to_text(const NodeRecord& record) {
  RecordJson json = {{"protocol", record.protocol}, {"name", record.name},
                     {"address", record.address},   {"cores", record.cores},
                     {"tiles", record.tiles},       {"memory_bytes", record.memory_bytes},
                     {"instance", record.instance}};
  if (record.speed) json["speed"] = *record.speed;
  return json.dump(-1, ' ', false, RecordJson::error_handler_t::replace);
}

base::Result<NodeRecord> read_node_record(const std::string& text) try {
  const RecordJson json = RecordJson::parse(text);
  NodeRecord record;
  record.protocol = json.at("protocol").get<int>();
  record.name = printable(json.at("name").get<std::string>());
  if (record.protocol != kClusterProtocol) return record;
  record.address = printable(json.at("address").get<std::string>());
  record.cores = json.at("cores").get<int>();
  record.tiles = json.at("tiles").get<int>();
  record.memory_bytes = json.at("memory_bytes").get<uint64_t>();
  record.instance = json.at("instance").get<std::string>();
  if (json.contains("speed")) record.speed = json.at("speed").get<double>();
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
  const passwd* found = getpwuid(geteuid());
  const std::string name = found == nullptr ? "" : as_cluster_name(found->pw_name);
  return name.empty() ? std::to_string(geteuid()) : name;
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
