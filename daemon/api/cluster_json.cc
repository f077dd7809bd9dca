#include "daemon/api/cluster_json.h"

#include <unistd.h>

#include <chrono>
#include <string>
#include <utility>

namespace optile::daemon {
namespace {

using ClusterJson = nlohmann::json;

const char* state_of(const Membership::View& view) {
  if (view.member) return "member";
  return view.reachable || view.messages.empty() ? "joining" : "unreachable";
}

ClusterJson node_json(const Membership::Seen& seen) {
  const NodeRecord& node = seen.record;
  const NodeMeasurements& measured = node.measured;
  ClusterJson links = ClusterJson::array();
  for (const NodeLink& link : measured.links) {
    links.push_back({{field::kNode, link.node},
                     {field::kLatencySeconds, link.latency_seconds},
                     {field::kBytesPerSecond, link.bytes_per_second}});
  }
  return {{field::kName, node.name},
          {field::kAddress, node.address},
          {field::kCores, node.cores},
          {field::kTiles, node.tiles},
          {field::kMemoryBytes, node.memory_bytes},
          {field::kGflopPerSecond,
           measured.gflop_per_second ? ClusterJson(*measured.gflop_per_second) : ClusterJson()},
          {field::kInterface, measured.interface},
          {field::kLinks, std::move(links)},
          {field::kProtocol, node.protocol},
          {field::kLeader, seen.leader},
          {field::kSeenSeconds, std::chrono::duration<double>(seen.age).count()}};
}

std::string text_in(const ClusterJson& body, const char* name) {
  return body.value(name, "");
}

constexpr Member kClaimMembers[] = {{field::kToken, Member::Kind::kText, 1},
                                    {field::kGeneration, Member::Kind::kInteger}};

base::Status check_process(const Peer& peer) {
  if (peer.known && peer.pid > 0) return {};
  return base::Error{base::ErrorKind::kDenied,
                     "a plan is kept as long as its process lives, and the kernel does not say "
                     "here which one that is"};
}

const char* name_of(JobPlanPublisher::State state) {
  switch (state) {
    case JobPlanPublisher::State::kAsked:
      return "asked";
    case JobPlanPublisher::State::kAccepted:
      return "accepted";
    case JobPlanPublisher::State::kRefused:
      return "refused";
    case JobPlanPublisher::State::kUnreachable:
      break;
  }
  return "unreachable";
}

}  // namespace

ClusterJson cluster_json(const Cluster* cluster) {
  const auto view = cluster == nullptr ? std::nullopt : cluster->view();
  if (!view) return {{field::kState, "none"}};
  const Membership::View& membership = view->membership;
  ClusterJson nodes = ClusterJson::array();
  for (const Membership::Seen& seen : membership.nodes) nodes.push_back(node_json(seen));
  return {{field::kState, state_of(membership)},
          {field::kUser, view->user},
          {field::kName, view->node.name},
          {field::kAddress, view->node.address},
          {field::kLeads, membership.leader},
          {field::kLeader, membership.leader_name},
          {field::kEpoch, membership.epoch},
          {field::kEtcd,
           {{field::kEndpoints, view->endpoints},
            {field::kEndpoint, view->endpoint},
            {field::kReachable, membership.reachable}}},
          {field::kNodes, std::move(nodes)},
          {field::kMessages, membership.messages}};
}

ClusterJson plans_json(const Cluster* cluster, const std::function<bool(unsigned uid)>& may_see) {
  const ClusterPlans known = cluster == nullptr ? ClusterPlans() : cluster->plans();
  ClusterJson plans = ClusterJson::array();
  for (const ClusterPlan& one : known.plans) {
    if (!may_see(one.uid)) continue;
    ClusterJson json = to_json(one.plan);
    json[field::kNode] = one.node;
    json[field::kSeenSeconds] = std::chrono::duration<double>(one.age).count();
    plans.push_back(std::move(json));
  }
  return {{field::kPlans, std::move(plans)}, {field::kMessages, known.messages}};
}

base::Status take_plan(Cluster& cluster, const ClusterJson& body, const Peer& told_by) {
  if (base::Status known = check_process(told_by); !known.ok()) return known;
  base::Result<JobPlan> plan = read_job_plan(body);
  if (!plan.ok()) return plan.status();
  return cluster.take_plan(std::move(plan).value(), {told_by.uid, told_by.pid});
}

base::Result<ClusterJson> publish_plan(Cluster& cluster, const ClusterJson& body,
                                       const Peer& asked_by) {
  if (const base::Status known = check_process(asked_by); !known.ok()) return known.error();
  const ClusterJson claim = body.value(field::kClaim, ClusterJson());
  const ClusterJson told = body.value(field::kPlan, ClusterJson());
  if (!claim.is_object() || !told.is_object()) {
    return base::invalid("claim and plan are objects, and both are needed");
  }
  if (const base::Status right = check_members(claim, kClaimMembers); !right.ok()) {
    return right.error();
  }
  if (const base::Status right = check_members(told, kPlanMembers); !right.ok()) {
    return right.error();
  }
  base::Result<JobPlan> plan = read_job_plan(told);
  if (!plan.ok()) return plan.error();
  LaunchClaim of_launch;
  of_launch.job = plan.value().job;
  of_launch.token = text_in(claim, field::kToken);
  of_launch.generation = claim.value(field::kGeneration, int64_t{0});
  if (!is_cluster_name(of_launch.token)) {
    return base::invalid("the claim's token is letters, digits, '.', '_' and '-', at most 63");
  }
  const base::Result<JobPlanPublisher::Answer> answer =
      cluster.publish_plan(std::move(of_launch), plan.value(), {asked_by.uid, asked_by.pid});
  if (!answer.ok()) return answer.error();
  return ClusterJson{{field::kState, name_of(answer.value().state)},
                     {field::kReason, answer.value().reason}};
}

base::Result<ClusterOptions> cluster_options_in(const ClusterJson& body, const Peer& asked_by) {
  ClusterOptions options;
  const auto endpoints = body.find(field::kEndpoints);
  if (endpoints != body.end() && endpoints->is_string()) {
    options.endpoints = endpoints->get<std::string>();
  } else if (endpoints != body.end()) {
    for (const ClusterJson& one : *endpoints) {
      options.endpoints += (options.endpoints.empty() ? "" : ",") + one.get<std::string>();
    }
  }
  if (options.endpoints.empty()) {
    return base::invalid("name an etcd in endpoints, such as https://node0:2379");
  }
  options.name = text_in(body, field::kName);
  options.address = text_in(body, field::kAddress);
  options.probes = body.value(field::kProbes, true);
  const bool may_read = asked_by.known && (asked_by.uid == 0 || asked_by.uid == geteuid());
  const std::pair<const char*, std::string*> files[] = {
      {field::kCredentialsFile, &options.user_file},
      {field::kCacertFile, &options.tls.cacert},
      {field::kCertFile, &options.tls.cert},
      {field::kKeyFile, &options.tls.key}};
  for (const auto& [name, path] : files) {
    if (!body.contains(name)) continue;
    *path = text_in(body, name);
    if (!path->starts_with('/')) {
      return base::invalid(std::string(name) + " has to be an absolute path");
    }
    if (!may_read) {
      return base::Error{base::ErrorKind::kDenied,
                         "files with a password, a certificate or a key are read with the rights "
                         "of the daemon: only root and the daemon's own account may name them"};
    }
  }
  return options;
}

}  // namespace optile::daemon
