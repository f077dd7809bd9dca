#include "daemon/cluster/membership.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/cluster/key_numbers.h"

namespace optile::daemon {
namespace {

using LeaderJson = nlohmann::json;
using std::chrono::milliseconds;

// A round of three requests, in a third of the lease: about one a second.
constexpr int kRoundsInLease = 3;
// Of a lease's time, for clocks that run at different speeds.
constexpr int kMarginOfLease = 5;
constexpr milliseconds kFirstBackoff{250};
constexpr milliseconds kLongestBackoff{4000};

struct LeaderRecord {
  std::string name;
  std::string instance;
};

std::string to_text(const LeaderRecord& leader) {
  return LeaderJson({{"name", leader.name}, {"instance", leader.instance}}).dump();
}

LeaderRecord read_leader_record(const std::string& text) {
  const LeaderJson json = LeaderJson::parse(text, nullptr, false);
  LeaderRecord leader;
  if (!json.is_object()) return leader;
  const auto take = [&](const char* name, std::string& into) {
    const auto found = json.find(name);
    if (found != json.end() && found->is_string()) into = found->get<std::string>();
  };
  take("name", leader.name);
  take("instance", leader.instance);
  return leader;
}

std::string own_record(const Membership::Settings& settings) {
  NodeRecord record = settings.node;
  if (settings.measured) record.measured = settings.measured();
  return to_text(record);
}

int64_t epoch_in(const std::string& text) {
  int64_t epoch = 0;
  std::from_chars(text.data(), text.data() + text.size(), epoch);
  return std::clamp<int64_t>(epoch, 0, kMostTimes);
}

}  // namespace

Membership::Membership(ClusterStore& store, Settings settings)
    : store_(store), settings_(std::move(settings)) {}

Membership::Time Membership::next_tick() const {
  if (asking_) return Time::max();
  return lease_ == 0 ? due_ : std::min(due_, lease_end_);
}

void Membership::tick(Time now) {
  if (asking_) return;
  if (lease_ != 0 && now >= lease_end_) end_lease();
  if (now < due_) return;
  asked_at_ = now;
  ask(next_);
}

void Membership::ask(Step step) {
  asking_ = true;
  switch (step) {
    case Step::kGrant:
    case Step::kKeepAlive:
      return grant_or_keep_alive();
    case Step::kReadNodes:
      return read_nodes();
    case Step::kRegister:
      return register_node();
    case Step::kReadLeader:
      return read_leader();
    case Step::kClaim:
      return claim_leadership();
  }
}

// Every answer comes through here: the way on, or the way back after a failure.
void Membership::grant_or_keep_alive() {
  round_began_ = asked_at_;
  const bool granting = lease_ == 0;
  const auto done = [this, granting](const base::Result<GrantedClusterLease>& granted) {
    asking_ = false;
    if (granted.ok()) {
      take_lease(granted.value());
    } else if (!granting && granted.error().kind == base::ErrorKind::kNotFound) {
      end_lease();
    } else {
      failed(granted.error());
    }
    if (settings_.answered) settings_.answered();
  };
  if (granting) return store_.grant_lease(settings_.ttl, done);
  store_.keep_alive(lease_, done);
}

void Membership::take_lease(const GrantedClusterLease& granted) {
  known_.error.clear();
  backoff_ = milliseconds(0);
  lease_ = granted.id;
  lease_end_ = asked_at_ + granted.ttl - Time(granted.ttl) / kMarginOfLease;
  next_ = Step::kReadNodes;
}

void Membership::end_lease() {
  lease_ = 0;
  registered_ = false;
  leads_ = false;
  next_ = Step::kGrant;
}

void Membership::failed(const base::Error& error) {
  known_.error = error.message;
  backoff_ = std::min(std::max(2 * backoff_, kFirstBackoff), kLongestBackoff);
  due_ = asked_at_ + backoff_;
  next_ = lease_ == 0 ? Step::kGrant : Step::kKeepAlive;
}

void Membership::finish_round() {
  next_ = Step::kKeepAlive;
  due_ = round_began_ + Time(settings_.ttl) / kRoundsInLease;
}

void Membership::read_nodes() {
  store_.get(settings_.keys.nodes(), [this](const base::Result<KeyRange>& range) {
    asking_ = false;
    if (range.ok()) {
      take_nodes(range.value());
    } else {
      failed(range.error());
    }
    if (settings_.answered) settings_.answered();
  });
}

void Membership::take_nodes(const KeyRange& range) {
  known_.error.clear();
  known_.nodes.clear();
  known_.strangers.clear();
  known_.own.reset();
  known_.name_taken = false;
  known_.nodes_read = asked_at_;
  bool ours = false;
  bool outdated = false;
  for (const KeyValue& entry : range.entries) {
    const base::Result<NodeRecord> record = read_node_record(entry.value);
    const std::string name = printable(entry.key.substr(settings_.keys.nodes().size()));
    const bool own = name == settings_.node.name;
    if (own) known_.own = entry;
    if (!record.ok()) {
      known_.strangers.push_back("the record of node " + name +
                                 " cannot be read: " + record.message());
      known_.name_taken |= own;
      continue;
    }
    if (record.value().protocol != kClusterProtocol) {
      known_.strangers.push_back(
          "node " + name + " speaks version " + std::to_string(record.value().protocol) +
          " of the cluster's protocol, this one " + std::to_string(kClusterProtocol) +
          ": bring both to the same version of optile");
    }
    const bool by_us = own && record.value().instance == settings_.node.instance;
    known_.name_taken |= own && !by_us;
    ours |= by_us && entry.lease == lease_;
    outdated |= by_us && entry.value != own_record(settings_);
    known_.nodes.push_back(record.value());
  }
  registered_ = ours;
  if (settings_.nodes_read) settings_.nodes_read(known_.nodes);
  // One of an earlier lease of ours is replaced, and one with other measurements; one of another
  // process is waited for.
  if (registered_ && !outdated) {
    next_ = Step::kReadLeader;
  } else if (!known_.name_taken) {
    next_ = Step::kRegister;
  } else {
    finish_round();
  }
}

void Membership::register_node() {
  const std::string key = settings_.keys.node(settings_.node.name);
  const int64_t revision = known_.own ? known_.own->mod_revision : 0;
  store_.commit({{key_is_unchanged(key, revision)}, {put_key(key, own_record(settings_), lease_)}},
                [this](const base::Result<Committed>& committed) {
                  asking_ = false;
                  // What came of it is read, also where the answer was lost.
                  if (committed.ok()) {
                    next_ = Step::kReadNodes;
                  } else if (committed.error().kind == base::ErrorKind::kNotFound) {
                    end_lease();
                  } else {
                    failed(committed.error());
                  }
                  if (settings_.answered) settings_.answered();
                });
}

void Membership::read_leader() {
  store_.get(settings_.keys.leader(), [this](const base::Result<KeyRange>& range) {
    asking_ = false;
    if (range.ok()) {
      take_leader(range.value());
    } else {
      failed(range.error());
    }
    if (settings_.answered) settings_.answered();
  });
}

void Membership::take_leader(const KeyRange& range) {
  known_.error.clear();
  known_.has_leader = false;
  known_.leader_name.clear();
  known_.epoch_revision = 0;
  leads_ = false;
  for (const KeyValue& entry : range.entries) {
    if (entry.key == settings_.keys.epoch()) {
      epoch_ = epoch_in(entry.value);
      known_.epoch_revision = entry.mod_revision;
    } else if (entry.key == settings_.keys.leader()) {
      const LeaderRecord leader = read_leader_record(entry.value);
      known_.has_leader = true;
      known_.leader_name = printable(leader.name);
      leads_ = leader.instance == settings_.node.instance && entry.lease == lease_;
    }
  }
  if (known_.has_leader) return finish_round();
  next_ = Step::kClaim;
}

// The epoch's revision is compared too: a claim that was long under way changes nothing when the
// leader has changed meanwhile.
void Membership::claim_leadership() {
  const ClusterKeys& keys = settings_.keys;
  store_.commit(
      {{key_is_absent(keys.leader()), key_is_unchanged(keys.epoch(), known_.epoch_revision)},
       {put_key(keys.leader(), to_text(LeaderRecord{settings_.node.name, settings_.node.instance}),
                lease_),
        put_key(keys.epoch(), std::to_string(epoch_ + 1))}},
      [this](const base::Result<Committed>& committed) {
        asking_ = false;
        if (committed.ok()) {
          next_ = Step::kReadLeader;
        } else if (committed.error().kind == base::ErrorKind::kNotFound) {
          end_lease();
        } else {
          failed(committed.error());
        }
        if (settings_.answered) settings_.answered();
      });
}

Membership::View Membership::view(Time now) const {
  View view = own_view(now);
  for (const NodeRecord& record : known_.nodes) {
    view.nodes.push_back(
        {record, known_.has_leader && record.name == known_.leader_name, now - known_.nodes_read});
  }
  return view;
}

Membership::View Membership::own_view(Time now) const {
  View view;
  view.member = is_member(now);
  view.leader = is_leader(now);
  view.reachable = known_.error.empty() && known_.nodes_read.count() > 0;
  view.epoch = epoch_;
  view.leader_name = known_.leader_name;
  if (!known_.error.empty()) view.messages.push_back(known_.error);
  if (known_.name_taken) {
    view.messages.push_back("another process is node " + settings_.node.name +
                            ": if it is this node's daemon of before, its place is free within " +
                            std::to_string(settings_.ttl.count()) +
                            " seconds; else choose another --name");
  }
  view.messages.insert(view.messages.end(), known_.strangers.begin(), known_.strangers.end());
  return view;
}

}  // namespace optile::daemon
