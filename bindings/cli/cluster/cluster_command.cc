#include "bindings/cli/cluster/cluster_command.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>
#include <utility>

#include "bindings/abi/api_fields.h"
#include "bindings/cli/cluster/cluster_question.h"
#include "bindings/cli/cluster/cluster_top.h"
#include "bindings/cli/cluster/plan_text.h"
#include "bindings/cli/cluster/plan_words.h"
#include "daemon/cluster/etcd_endpoint.h"
#include "daemon/cluster/own_address.h"

namespace optile::cli {
namespace {

using std::chrono::milliseconds;
using JoinClock = std::chrono::steady_clock;

// Longer than all endpoints of an etcd take to be tried; the daemon goes on by itself.
constexpr milliseconds kJoinPatience{10000};
constexpr milliseconds kJoinLook{50};
constexpr const char* kNoEtcd =
    "no etcd is named: --etcd http://HOST:2379, or OPTILE_ETCD in the environment";

base::Result<Json> join_request(const NodeOptions& options) {
  if (options.etcd.empty()) return base::invalid(kNoEtcd);
  const auto endpoints = daemon::parse_etcd_endpoints(options.etcd);
  if (!endpoints.ok()) return endpoints.error();
  const base::Status fits = daemon::check_tls_files(options.tls, endpoints.value());
  if (!fits.ok()) return fits.error();
  const std::string address = options.address.empty()
                                  ? daemon::own_address_towards(endpoints.value().front())
                                  : options.address;
  Json body = {{field::kEndpoints, options.etcd}};
  if (!options.name.empty()) body[field::kName] = options.name;
  if (!address.empty()) body[field::kAddress] = address;
  if (!options.probes) body[field::kProbes] = false;
  const std::pair<const char*, std::string> files[] = {{field::kCredentialsFile, options.user_file},
                                                       {field::kCacertFile, options.tls.cacert},
                                                       {field::kCertFile, options.tls.cert},
                                                       {field::kKeyFile, options.tls.key}};
  for (const auto& [name, path] : files) {
    if (!path.empty()) body[name] = std::filesystem::absolute(path).string();
  }
  return body;
}

int join_cluster(const Options& options, const std::string& socket) {
  const base::Result<Json> body = join_request(options.cluster);
  if (!body.ok()) return report_failure(body.message());
  const std::string text = body.value().dump(-1, ' ', false, Json::error_handler_t::replace);
  base::Result<Json> answer = ask_about_cluster(socket, "POST", "/v1/cluster/join", text);
  const auto end = JoinClock::now() + kJoinPatience;
  while (answer.ok() && text_of(answer.value(), field::kState) != "member" &&
         JoinClock::now() < end) {
    std::this_thread::sleep_for(kJoinLook);
    answer = ask_about_cluster(socket, "GET", "/v1/cluster");
  }
  if (!answer.ok()) return report_failure(answer.message());
  const Json& json = answer.value();
  if (text_of(json, field::kState) == "member") {
    std::printf("node %s (%s) is a member of the cluster of %s; optile cluster status shows all\n",
                text_of(json, field::kName).c_str(), text_of(json, field::kAddress).c_str(),
                text_of(json, field::kUser).c_str());
    return 0;
  }
  const std::string why = messages_of(json);
  return report_failure("not yet a member: " + (why.empty() ? "etcd has not answered" : why) +
                        ". The daemon goes on trying; optile cluster leave ends that");
}

std::string memory_text(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GiB", bytes / (1 << 30));
  return text;
}

std::string speed_text(const Json& node) {
  const double speed = number_of(node, field::kGflopPerSecond);
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GFLOP/s", speed);
  return speed > 0 ? text : "-";
}

std::string rate_text(double bytes_per_second) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MB/s", bytes_per_second / 1e6);
  return text;
}

// Each link as the node found it that stands first; "" where none is known.
std::string link_table(const Json& nodes) {
  std::vector<std::vector<std::string>> rows = {{"link", "to", "by", "latency", "rate"}};
  for (const Json& node : nodes) {
    const std::string interface = shown_field(node, field::kInterface);
    for (const Json& link : list_of(node, field::kLinks)) {
      rows.push_back({shown_field(node, field::kName), shown_field(link, field::kNode),
                      interface.empty() ? "-" : interface,
                      seconds_field(link, field::kLatencySeconds),
                      rate_text(number_of(link, field::kBytesPerSecond))});
    }
  }
  return rows.size() == 1 ? "" : columns(rows);
}

int answer_about_plans(const Options& options, const std::string& socket) {
  const base::Result<Json> answer = ask_about_cluster(socket, "GET", "/v1/cluster/plans");
  if (!answer.ok()) return report_failure(answer.message());
  if (options.json && options.verb == Verb::kClusterPlan) {
    std::printf("%s\n", answer.value().dump(2).c_str());
    return 0;
  }
  if (options.json) {
    const base::Result<Json> stage =
        stage_json(answer.value(), options.plan.job, options.plan.stage);
    if (!stage.ok()) return report_failure(stage.message());
    std::printf("%s\n", stage.value().dump(2).c_str());
    return 0;
  }
  const base::Result<std::string> text =
      options.verb == Verb::kClusterPlan
          ? plan_text(answer.value(), options.plan.job)
          : explanation_of_stage(answer.value(), options.plan.job, options.plan.stage);
  if (!text.ok()) return report_failure(text.message());
  std::fputs(text.value().c_str(), stdout);
  return 0;
}

// The widest of them, and at least that of the heading.
std::size_t width_of(const Json& nodes, const char* name, const char* heading) {
  std::size_t width = std::string(heading).size();
  for (const Json& node : nodes) width = std::max(width, text_of(node, name).size());
  return width;
}

}  // namespace

bool is_about_cluster(Verb verb) {
  switch (verb) {
    case Verb::kClusterJoin:
    case Verb::kClusterStatus:
    case Verb::kClusterLeave:
    case Verb::kClusterPlan:
    case Verb::kClusterExplain:
    case Verb::kClusterTop:
      return true;
    default:
      return false;
  }
}

std::string cluster_table(const Json& answer) {
  const std::string state = text_of(answer, field::kState);
  if (state == "none") {
    return "this node is in no cluster; optile cluster join --etcd http://HOST:2379 joins one\n";
  }
  const Json etcd = answer.value(field::kEtcd, Json::object());
  const std::string leader = text_of(answer, field::kLeader);
  std::string text = "cluster of " + text_of(answer, field::kUser) + ", node " +
                     text_of(answer, field::kName) + ": " + state + "\n";
  const bool reachable = etcd.value(field::kReachable, false);
  const char* known = reachable || leader.empty() ? "" : "not known; when last read ";
  text += std::string("leader  ") + known + (leader.empty() ? "none" : leader) + ", epoch " +
          text_of(answer, field::kEpoch) + "\n";
  text += "etcd    " + text_of(etcd, field::kEndpoint) +
          (reachable ? " answers\n" : " does not answer\n");
  const Json nodes = list_of(answer, field::kNodes);
  const int name = static_cast<int>(width_of(nodes, field::kName, "node"));
  const int address = static_cast<int>(width_of(nodes, field::kAddress, "address"));
  char row[512];
  std::snprintf(row, sizeof row, "%-*s  %-*s  %5s  %10s  %12s  %-6s  %s\n", name, "node", address,
                "address", "cores", "memory", "speed", "leader", "seen");
  text += row;
  for (const Json& node : nodes) {
    std::snprintf(row, sizeof row, "%-*s  %-*s  %5s  %10s  %12s  %-6s  %.1f s ago\n", name,
                  text_of(node, field::kName).c_str(), address,
                  text_of(node, field::kAddress).c_str(), text_of(node, field::kCores).c_str(),
                  memory_text(number_of(node, field::kMemoryBytes)).c_str(),
                  speed_text(node).c_str(), node.value(field::kLeader, false) ? "yes" : "-",
                  number_of(node, field::kSeenSeconds));
    text += row;
  }
  text += link_table(nodes);
  const std::string messages = messages_of(answer);
  return messages.empty() ? text : text + "note    " + messages + "\n";
}

int answer_about_cluster(const Options& options) try {
  const std::string socket = socket_of(options);
  if (options.verb == Verb::kClusterJoin) return join_cluster(options, socket);
  if (options.verb == Verb::kClusterTop) return watch_cluster(options, socket);
  if (options.verb == Verb::kClusterPlan || options.verb == Verb::kClusterExplain) {
    return answer_about_plans(options, socket);
  }
  const bool leaving = options.verb == Verb::kClusterLeave;
  const base::Result<Json> answer =
      ask_about_cluster(socket, leaving ? "DELETE" : "GET", "/v1/cluster");
  if (!answer.ok()) return report_failure(answer.message());
  if (leaving) {
    std::printf("this node has left the cluster\n");
  } else if (options.json) {
    std::printf("%s\n", answer.value().dump(2).c_str());
  } else {
    const base::Result<Json> plans = ask_about_cluster(socket, "GET", "/v1/cluster/plans");
    const std::string jobs = plans.ok() ? generation_lines(plans.value()) : "";
    std::fputs((cluster_table(answer.value()) + jobs).c_str(), stdout);
  }
  return 0;
} catch (const Json::exception&) {  // a field of another kind than ours
  return report_failure(
      "the daemon's answer cannot be read; it may be of another version: optile stop");
} catch (const std::filesystem::filesystem_error& error) {
  return report_failure(error.what());
}

}  // namespace optile::cli
