#include "tests/daemon/cluster/cluster_invariants.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

namespace optile::daemon {
namespace {

using std::chrono::seconds;
using KeyJson = nlohmann::json;

// What somebody who was killed had sent is there by then, and the lease over that it renewed.
constexpr seconds kDeadAreForgotten{17};
const std::string kJobs = "optile/u/jobs/";

std::string job_in(const std::string& key) {
  return key.substr(kJobs.size(), key.find('/', kJobs.size()) - kJobs.size());
}

bool is_start(const std::string& key) {
  return key.starts_with(kJobs) && key.find("/starts/") != std::string::npos;
}

int64_t number_behind(const std::string& text, char mark) {
  int64_t number = -1;
  const std::size_t at = text.rfind(mark);
  if (at != std::string::npos) {
    std::from_chars(text.data() + at + 1, text.data() + text.size(), number);
  }
  return number;
}

const KeyValue* find_key(const KeyRange& range, const std::string& key) {
  const auto found = std::find_if(range.entries.begin(), range.entries.end(),
                                  [&](const KeyValue& one) { return one.key == key; });
  return found == range.entries.end() ? nullptr : &*found;
}

// Whose key it is: an instance, or a token.
std::string owner_of(const KeyValue& entry) {
  if (entry.key.find("/claims/") != std::string::npos) {
    return entry.key.substr(entry.key.rfind('/') + 1);
  }
  const KeyJson json = KeyJson::parse(entry.value);
  if (is_start(entry.key)) {
    return json.at("tokens").at(static_cast<std::size_t>(number_behind(entry.key, '/')));
  }
  for (const char* name : {"token", "owner", "instance"}) {
    if (json.contains(name)) return json.at(name);
  }
  return "";
}

}  // namespace

void ClusterInvariants::fail(const std::string& what) {
  if (wrong_.empty()) wrong_ = what;
}

void ClusterInvariants::fail_if_it_stays(const std::string& what) {
  const auto before = behind_before_.find(what);
  const SimulatedTime since = before == behind_before_.end() ? cluster_.now() : before->second;
  behind_[what] = since;
  if (cluster_.now() - since > kCatchesUpWithin) fail(what);
}

std::string ClusterInvariants::check() {
  const int64_t revision = cluster_.service().server().get("~").revision;
  const bool changed = revision != revision_;
  if (changed) {
    check_epoch();
    check_holders(kSimulatedKeys.nodes());
    check_holders(kJobs);
    check_starts();
    check_plans();
    check_published();
  }
  check_accepted();
  check_leaders();
  const auto members = std::count_if(
      cluster_.nodes().begin(), cluster_.nodes().end(),
      [](const auto& node) { return node->daemon != nullptr && node->daemon->is_member(); });
  if (changed || static_cast<std::size_t>(members) != members_) check_members();
  members_ = static_cast<std::size_t>(members);
  check_launches();
  check_dead();
  revision_ = revision;
  return wrong_;
}

// It rises by one with each change of the leader, and by nothing else.
void ClusterInvariants::check_epoch() {
  const KeyRange range = cluster_.service().server().get(kSimulatedKeys.leader());
  const KeyValue* epoch_there = find_key(range, kSimulatedKeys.epoch());
  const KeyValue* leader = find_key(range, kSimulatedKeys.leader());
  const int64_t epoch = epoch_there == nullptr ? 0 : number_behind(" " + epoch_there->value, ' ');
  const bool another = leader != nullptr && leader->mod_revision != leader_.mod_revision;
  if (epoch != epoch_ + (another ? 1 : 0)) {
    fail("the epoch went from " + std::to_string(epoch_) + " to " + std::to_string(epoch) +
         (another ? " with a new leader" : " without a new leader"));
  }
  if (another && leader_.mod_revision != 0 &&
      find_key(range, kSimulatedKeys.leader())->create_revision == leader_.create_revision) {
    fail("a leader was replaced while its key stood there");
  }
  epoch_ = epoch;
  leader_ = leader == nullptr ? KeyValue() : *leader;
  if (!another) return;
  ++counts_.leaders;
  leader_at_[epoch] = owner_of(*leader);
  cluster_.note("leader of epoch " + std::to_string(epoch) + " is " + owner_of(*leader));
}

void ClusterInvariants::check_leaders() {
  const auto& nodes = cluster_.nodes();
  seen_epochs_.resize(nodes.size());
  const SimulatedDaemon* first = nullptr;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i]->daemon == nullptr) continue;
    const SimulatedDaemon& daemon = *nodes[i]->daemon;
    const int64_t epoch = daemon.membership().epoch();
    auto& [daemons, seen] = seen_epochs_[i];
    if (daemons == nodes[i]->daemons && epoch < seen) fail("a node's epoch fell");
    if (epoch > epoch_) fail("a node has an epoch that never was");
    daemons = nodes[i]->daemons;
    seen = epoch;
    if (!daemon.is_leader()) continue;
    if (first != nullptr) {
      fail("two leaders at once: " + first->instance() + " and " + daemon.instance());
    }
    first = &daemon;
    if (leader_.mod_revision == 0 || leader_.lease != daemon.membership().lease()) {
      fail(daemon.instance() + " counts itself leader and is not the store's");
    }
    if (leader_at_[epoch] != daemon.instance()) {
      fail(daemon.instance() + " leads with the epoch of another one");
    }
  }
}

void ClusterInvariants::check_members() {
  const KeyRange range = cluster_.service().server().get(kSimulatedKeys.nodes());
  for (const auto& node : cluster_.nodes()) {
    if (node->daemon == nullptr || !node->daemon->is_member()) continue;
    const KeyValue* entry = find_key(range, kSimulatedKeys.node(node->machine.name));
    if (entry == nullptr || entry->lease != node->daemon->membership().lease() ||
        owner_of(*entry) != node->daemon->instance()) {
      fail(node->daemon->instance() + " counts itself a member and is not the store's");
    }
  }
}

// A name of a node and a rank of a job stay with whom they belong to, as long as the key stands.
void ClusterInvariants::check_holders(const std::string& prefix) {
  for (const KeyValue& entry : cluster_.service().server().get(prefix).entries) {
    const bool rank = entry.key.find("/ranks/") != std::string::npos;
    if (entry.mod_revision <= revision_ || (prefix == kJobs && !rank)) continue;
    const auto now = std::pair(entry.create_revision, owner_of(entry));
    const auto before = std::exchange(holders_[entry.key], now);
    if (before.first == now.first && before.second != now.second) {
      fail(entry.key + " was taken from " + before.second + " by " + now.second);
    }
    if (rank) check_run(entry);
  }
}

// Whoever takes a rank joins the run that gathers at that moment, and has no other rank.
void ClusterInvariants::check_run(const KeyValue& rank) {
  const std::string prefix = kJobs + job_in(rank.key) + "/ranks/";
  const KeyRange ranks = cluster_.service().server().get(prefix);
  const KeyValue* zero = find_key(ranks, prefix + "0");
  if (zero == nullptr ||
      KeyJson::parse(zero->value).at("run") != KeyJson::parse(rank.value).at("run")) {
    fail(rank.key + " was put for a run that does not gather");
  }
  for (const KeyValue& other : ranks.entries) {
    if (other.key != rank.key && owner_of(other) == owner_of(rank)) {
      fail(owner_of(rank) + " has two ranks, " + other.key + " and " + rank.key);
    }
  }
}

void ClusterInvariants::check_starts() {
  const KeyRange keys = cluster_.service().server().get(kJobs);
  std::set<std::string> looked_at;
  for (const KeyValue& entry : keys.entries) {
    if (entry.lease == 0) fail(entry.key + " stands under no lease");
    if (!is_start(entry.key) || entry.mod_revision <= revision_) continue;
    if (looked_at.insert(job_in(entry.key)).second) check_start(job_in(entry.key), keys, entry);
  }
}

// All ranks of one run, each held by whom the start names, at the moment of the start.
void ClusterInvariants::check_start(const std::string& job, const KeyRange& keys,
                                    const KeyValue& first) {
  const auto tokens = KeyJson::parse(first.value).at("tokens").get<std::vector<std::string>>();
  const std::string prefix = kJobs + job;
  if (std::set<std::string>(tokens.begin(), tokens.end()).size() != tokens.size()) {
    fail(job + " begins with one claimer twice");
  }
  for (std::size_t rank = 0; rank < tokens.size(); ++rank) {
    const std::string number = std::to_string(rank);
    const KeyValue* start = find_key(keys, prefix + "/starts/" + number);
    const KeyValue* held = find_key(keys, prefix + "/ranks/" + number);
    if (start == nullptr || start->value != first.value ||
        start->mod_revision != first.mod_revision) {
      fail(job + " begins without rank " + number);
      continue;
    }
    if (held == nullptr || owner_of(*held) != tokens[rank] || held->lease != start->lease) {
      fail(job + " begins with rank " + number + " as that of " + tokens[rank] +
           ", who does not hold it");
      continue;
    }
    const KeyJson holder = KeyJson::parse(held->value);
    if (holder.at("run") != tokens[0]) fail(job + " begins with rank " + number + " of other run");
    if (holder.at("nodes") != tokens.size()) {
      fail(job + " begins with " + std::to_string(tokens.size()) + " ranks, and rank " + number +
           " was promised " + holder.at("nodes").dump());
    }
    if (started_.contains(tokens[rank])) fail(tokens[rank] + " starts twice");
    places_[tokens[rank]] = {static_cast<int>(rank), static_cast<int>(tokens.size()), tokens[0]};
  }
  last_start_ = tokens;
  ++counts_.begun;
  cluster_.note(job + " begins, rank 0 is " + tokens[0]);
}

void ClusterInvariants::check_launches() {
  for (const auto& launch : cluster_.launches()) {
    if (!launch->started() || started_.contains(launch->token())) continue;
    started_.insert(launch->token());
    ++counts_.started;
    const RankClaim::View& view = launch->claim().view();
    const auto place = places_.find(launch->token());
    if (place == places_.end()) {
      fail(launch->token() + " starts, and no start names it");
      continue;
    }
    if (view.rank != place->second.rank) fail(launch->token() + " starts as another rank");
    if (launch->settings().nodes != place->second.nodes) {
      fail(launch->token() + " starts with another number of nodes");
    }
    // A launch's port is its number.
    if (SimulatedLaunch::token_of(view.master_port) != place->second.first) {
      fail(launch->token() + " starts with another rank 0");
    }
  }
}

// Of one run a later plan is not replaced by an earlier one.
void ClusterInvariants::check_plans() {
  const KeyRange range = cluster_.service().server().get(kSimulatedKeys.plans());
  for (const KeyValue& entry : range.entries) {
    if (entry.mod_revision <= revision_) continue;
    const base::Result<PlanRecord> record = read_plan_record(entry.value);
    if (!record.ok()) return fail(entry.key + " cannot be read: " + record.message());
    const JobPlan& plan = record.value().plan;
    Told& told = told_[entry.key];
    if (told.create_revision == entry.create_revision && told.run == plan.run &&
        plan.version() < told.version) {
      fail(entry.key + ": an earlier plan took the place of a later one");
    }
    told = {entry.create_revision, plan.run, plan.version()};
    ++counts_.plans;
  }
}

// By who has rank 0 of the job at that moment, under its lease; a number comes once in a run, and
// none behind a higher one.
void ClusterInvariants::check_published() {
  const std::string prefix = kSimulatedKeys.published("");
  for (const KeyValue& entry : cluster_.service().server().get(prefix).entries) {
    if (entry.mod_revision <= revision_) continue;
    const PublishedPlan plan = read_published_plan(entry.value).value();
    const std::string zero = kJobs + entry.key.substr(prefix.size()) + "/ranks/0";
    const KeyRange ranks = cluster_.service().server().get(zero);
    const KeyValue* claim = find_key(ranks, zero);
    if (claim == nullptr || owner_of(*claim) != plan.token || claim->lease != entry.lease) {
      fail(entry.key + " was published by " + plan.token + ", who does not own the job");
    }
    const auto before = published_.emplace(plan.run, 0).first;
    if (plan.epoch <= before->second) {
      fail(entry.key + ": plan " + std::to_string(plan.epoch) + " was published behind " +
           std::to_string(before->second));
    }
    before->second = plan.epoch;
    publications_.insert({plan.run, plan.epoch});
    ++counts_.published;
  }
}

// What a launch was told to be accepted has been published.
void ClusterInvariants::check_accepted() {
  for (const auto& launch : cluster_.launches()) {
    const int64_t epoch = launch->accepted();
    if (epoch > 0 && !publications_.contains({launch->plan().run, epoch})) {
      fail("plan " + std::to_string(epoch) + " of " + launch->token() +
           " was accepted and never published");
    }
    if (launch->refused() && refused_.insert(launch->token()).second) ++counts_.refused;
  }
}

void ClusterInvariants::check_dead() {
  auto& dead = cluster_.dead();
  while (!dead.empty() && cluster_.service().server().now() > dead.front().at + kDeadAreForgotten) {
    for (const KeyValue& entry : cluster_.service().server().get("").entries) {
      if (entry.key == kSimulatedKeys.epoch()) continue;
      if (entry.lease == 0) fail(entry.key + " stands under no lease");
      if (owner_of(entry) == dead.front().name) {
        fail(entry.key + " of " + dead.front().name + " outlived its lease");
      }
    }
    dead.pop_front();
    ++counts_.dead;
  }
}

std::string ClusterInvariants::check_settled() {
  behind_before_ = std::exchange(behind_, {});
  std::size_t leaders = 0;
  for (const auto& node : cluster_.nodes()) {
    const SimulatedDaemon& daemon = *node->daemon;
    const Membership::View view = daemon.membership().view(daemon.now());
    if (view.leader) ++leaders;
    if (!view.member) fail(node->machine.name + " is no member again");
    if (view.epoch != epoch_) fail(node->machine.name + " does not know the epoch");
    if (view.nodes.size() != cluster_.nodes().size() || !view.messages.empty()) {
      fail(node->machine.name + " does not see all nodes, or is in trouble");
    }
  }
  if (leaders != 1) fail(std::to_string(leaders) + " nodes lead");
  check_waiting();
  check_running();
  return wrong_;
}

bool ClusterInvariants::is_quiet() const {
  const auto& launches = cluster_.launches();
  return behind_.empty() && std::none_of(launches.begin(), launches.end(),
                                         [](const auto& one) { return !one->waits(); });
}

// Nobody waits long who could start, or who waits for another number of nodes than the others.
void ClusterInvariants::check_waiting() {
  std::map<std::string, std::vector<int>> waiting;  // job → how many nodes each one said
  for (const auto& launch : cluster_.launches()) {
    if (launch->waits()) waiting[launch->settings().job].push_back(launch->settings().nodes);
  }
  for (const auto& launch : cluster_.launches()) {
    if (launch->started()) waiting.erase(launch->settings().job);
  }
  for (const auto& [job, nodes] : waiting) {
    const bool differ = std::count(nodes.begin(), nodes.end(), nodes[0]) != std::ssize(nodes);
    if (!differ && std::ssize(nodes) < nodes[0]) continue;
    fail_if_it_stays("launches of " + job + " wait, and " + std::to_string(nodes[0]) +
                     " could start");
  }
}

// A program that runs keeps its rank, or its launch knows that it lost it; and the plans that stand
// there are those that were told last.
void ClusterInvariants::check_running() {
  const KeyRange keys = cluster_.service().server().get("");
  std::set<std::string> runs;
  for (const auto& launch : cluster_.launches()) {
    if (!launch->started() || launch->leaving()) continue;
    runs.insert(launch->plan().run);
    if (launch->claim().view().lease_lost) continue;
    const KeyValue* start = find_key(keys, kJobs + launch->settings().job + "/starts/" +
                                               std::to_string(launch->claim().view().rank));
    if (start == nullptr || start->lease != launch->claim().lease()) {
      fail_if_it_stays(launch->token() + " runs, and has lost its rank without being told");
    }
  }
  for (const KeyValue& entry : keys.entries) {
    if (!entry.key.starts_with(kSimulatedKeys.plans())) continue;
    const base::Result<PlanRecord> record = read_plan_record(entry.value);
    if (!record.ok() || !runs.contains(record.value().plan.run)) {
      fail_if_it_stays(entry.key + " is of a run that has ended: " + entry.value);
    }
  }
}

}  // namespace optile::daemon
