#include "daemon/cluster/generation_claim.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/cluster/key_numbers.h"

namespace optile::daemon {
namespace {

using MemberJson = nlohmann::json;

// A node that comes and goes may not start the others again each time.
constexpr std::chrono::seconds kComesToStay{5};
constexpr std::size_t kMostChanges = 100;  // etcd takes 128 in a transaction

constexpr const char* kReady = "ready";
constexpr const char* kIn = "in";
constexpr const char* kEnded = "ended";

constexpr const char* kForgotten = "etcd has not heard of this node for longer than a lease";

std::string range_text(int least, int most) {
  return std::to_string(least) + ":" + std::to_string(most);
}

}  // namespace

struct GenerationClaim::Member {
  std::string token;
  std::string node;
  std::string address;
  int port = 0;
  int least = 0;
  int most = 0;
  std::string state;
  int64_t generation = 0;  // of kReady: the last one that it was in
  int rank = -1;           // from here on of kIn
  int nodes = 0;
  std::string master_address;
  int master_port = 0;
  int code = 0;  // of kEnded
  KeyValue entry{};

  std::string text() const {
    const MemberJson json = {{"node", node},
                             {"address", address},
                             {"port", port},
                             {"least", least},
                             {"most", most},
                             {"state", state},
                             {"generation", generation},
                             {"rank", rank},
                             {"nodes", nodes},
                             {"master_address", master_address},
                             {"master_port", master_port},
                             {"code", code}};
    return json.dump(-1, ' ', false, MemberJson::error_handler_t::replace);
  }
  // Throws where it is none of ours.
  static Member read(const KeyValue& entry, std::string token) {
    const MemberJson json = MemberJson::parse(entry.value);
    Member member;
    member.token = std::move(token);
    member.node = printable(json.at("node"));
    member.address = printable(json.at("address"));
    member.port = small_number(json, "port");
    member.least = small_number(json, "least");
    member.most = small_number(json, "most");
    member.state = json.at("state");
    member.generation = whole_number(json, "generation", kMostTimes);
    member.rank = small_number(json, "rank");
    member.nodes = small_number(json, "nodes");
    member.master_address = printable(json.at("master_address"));
    member.master_port = small_number(json, "master_port");
    member.code = small_number(json, "code");
    member.entry = entry;
    return member;
  }
};

GenerationClaim::GenerationClaim(ClusterStore& store, Settings settings)
    : store_(store), settings_(std::move(settings)) {}

std::string GenerationClaim::member_key(const std::string& token) const {
  return settings_.keys.job(settings_.job) + "members/" + token;
}

GenerationClaim::Time GenerationClaim::next_tick() const {
  if (asking_ || view_.state == State::kRefused || view_.state == State::kOver) return Time::max();
  if (lease_.id == 0) return joins_ || end_code_ ? due_ : Time::max();
  return std::min(due_, lease_.keep_alive_due);
}

bool GenerationClaim::may_start(Time now) const {
  return view_.state == State::kStarted && lease_.id != 0 && now < lease_.end;
}

void GenerationClaim::join_next(int port) {
  joins_ = true;
  settings_.port = port;
  view_.state = State::kGathering;
  view_.message.clear();
  view_.waits = true;
  due_ = Time(0);
}

void GenerationClaim::end_job(int code) {
  end_code_ = code;
  due_ = Time(0);
}

void GenerationClaim::tick(Time now) {
  if (next_tick() > now) return;
  if (lease_.id != 0 && now >= lease_.end) {
    view_.unreachable = !joins_;
    // Of a program that runs on it is asked for as long as etcd may still have it.
    if (joins_) {
      lease_ = {};
      change_.reset();
    }
  }
  asked_at_ = now;
  asking_ = true;
  if (lease_.id == 0 || now >= lease_.keep_alive_due) return grant_or_keep_alive();
  if (change_) return commit();
  read();
}

void GenerationClaim::grant_or_keep_alive() {
  const bool granting = lease_.id == 0;
  const auto done = [this, granting](const base::Result<GrantedClusterLease>& granted) {
    asking_ = false;
    if (granted.ok()) {
      const Time ttl = granted.value().ttl;
      lease_ = {granted.value().id, asked_at_ + ttl - ttl / kClaimMargin,
                asked_at_ + ttl / kClaimKeepAlives};
      if (granting && settings_.next_port) settings_.port = settings_.next_port();
      view_.unreachable = false;
      due_ = asked_at_;
    } else if (!granting && granted.error().kind == base::ErrorKind::kNotFound) {
      lease_ = {};
      change_.reset();
      if (!joins_) {
        view_.state = State::kBroken;
        view_.message = kForgotten;
      }
    } else {
      failed(granted.error());
      lease_.keep_alive_due = due_;
    }
    if (settings_.answered) settings_.answered();
  };
  if (granting) return store_.grant_lease(settings_.ttl, done);
  store_.keep_alive(lease_.id, done);
}

void GenerationClaim::failed(const base::Error& error) {
  if (view_.state != State::kBroken) view_.message = error.message;
  const bool for_good =
      error.kind == base::ErrorKind::kDenied || error.kind == base::ErrorKind::kInvalid;
  if (for_good && joins_) view_.state = State::kRefused;
  due_ = asked_at_ + kClaimPause;
}

void GenerationClaim::read() {
  store_.get(settings_.keys.job(settings_.job), [this](const base::Result<KeyRange>& range) {
    asking_ = false;
    if (range.ok()) {
      change_ = decide(read_members(range.value()));
      // Whoever came first begins the next generation. While a program runs, others are looked at
      // as often as the lease is kept.
      const bool soon = end_code_ || (joins_ && begins_);
      const Time look = soon || !joins_ ? kClaimLook : look_of_others(settings_.most);
      due_ = asked_at_ + (change_ ? Time(0) : look);
      if (!change_ && !joins_ && !soon) due_ = std::max(due_, lease_.keep_alive_due);
    } else {
      failed(range.error());
    }
    if (settings_.answered) settings_.answered();
  });
}

void GenerationClaim::commit() {
  const Transaction change = *std::exchange(change_, std::nullopt);
  store_.commit(change, [this](const base::Result<Committed>& committed) {
    asking_ = false;
    // Whatever came of it is read next.
    due_ = asked_at_;
    if (!committed.ok() && committed.error().kind == base::ErrorKind::kNotFound) {
      // A lease has ended, ours or that of somebody who is gone at the next look.
      lease_.keep_alive_due = asked_at_;
    } else if (!committed.ok()) {
      failed(committed.error());
    }
    if (settings_.answered) settings_.answered();
  });
}

GenerationClaim::Members GenerationClaim::read_members(const KeyRange& range) {
  Members members;
  other_kind_.clear();
  const std::string prefix = member_key("");
  const std::string ranks = settings_.keys.job(settings_.job) + "ranks/";
  for (const KeyValue& entry : range.entries) {
    try {
      if (entry.key.starts_with(prefix)) {
        Member member = Member::read(entry, entry.key.substr(prefix.size()));
        members.emplace(member.token, std::move(member));
      } else if (entry.key.starts_with(ranks)) {
        other_kind_ = printable(MemberJson::parse(entry.value).at("node"));
      }
    } catch (const MemberJson::exception&) {
      continue;
    }
  }
  return members;
}

// Our own key, whatever stands there.
Transaction GenerationClaim::put_member(const Members& members, const Member& changed) const {
  const auto before = members.find(settings_.token);
  const int64_t revision = before == members.end() ? 0 : before->second.entry.mod_revision;
  Transaction change;
  const std::string key = member_key(settings_.token);
  change.compares = {revision == 0 ? key_is_absent(key) : key_is_unchanged(key, revision)};
  change.operations = {put_key(key, changed.text(), lease_.id)};
  return change;
}

std::optional<Transaction> GenerationClaim::decide(const Members& members) {
  const auto own = members.find(settings_.token);
  const bool known = own != members.end() && own->second.entry.lease == lease_.id;
  if (own != members.end() && own->second.state == kEnded) {
    view_.state = State::kOver;
    view_.code = own->second.code;
    return std::nullopt;
  }
  if (end_code_) {
    const bool in = known && own->second.state == kIn && own->second.generation == view_.generation;
    if (in) return end_for_others(members);
    // The others have gone on without this node: it is not its job any more.
    view_.state = State::kOver;
    view_.code = *end_code_;
    return std::nullopt;
  }
  if (!joins_) {
    if (view_.state != State::kStarted) return std::nullopt;
    view_.message = what_broke(members);
    if (!view_.message.empty()) view_.state = State::kBroken;
    return std::nullopt;
  }
  view_.message.clear();
  view_.holders.clear();
  view_.waits = true;
  const bool entered =
      own != members.end() && own->second.state == kIn && own->second.generation > view_.generation;
  if (entered) enter(own->second, members);
  if (entered && !known) {
    // It was stopped, or cut off, when the others began, who may wait at its port.
    view_.state = State::kBroken;
    view_.message = kForgotten;
  }
  if (entered) return std::nullopt;
  if (refuse(members)) return std::nullopt;
  if (!known || own->second.state == kIn || own->second.port != settings_.port) {
    Member ready;
    ready.node = settings_.node;
    ready.address = settings_.address;
    ready.port = settings_.port;
    ready.least = settings_.least;
    ready.most = settings_.most;
    ready.state = kReady;
    ready.generation = view_.generation;
    return put_member(members, ready);
  }
  return begin_next(members);
}

// What the others have said; who was there first is right.
bool GenerationClaim::refuse(const Members& members) {
  const std::string ours = range_text(settings_.least, settings_.most);
  const auto say = [&](const std::string& theirs, const std::string& node) {
    view_.state = State::kRefused;
    view_.message = "job " + settings_.job + " was begun " + theirs + " on " + node +
                    ", here with --nodes " + ours +
                    "; say the same everywhere, or choose another --name";
    return true;
  };
  if (!other_kind_.empty()) return say("with a fixed --nodes", other_kind_);
  const auto own = members.find(settings_.token);
  for (const auto& [token, member] : members) {
    const bool first =
        own == members.end() || member.entry.create_revision < own->second.entry.create_revision;
    const std::string theirs = range_text(member.least, member.most);
    if (first && theirs != ours) return say("with --nodes " + theirs, member.node);
  }
  return false;
}

void GenerationClaim::enter(const Member& own, const Members& members) {
  joins_ = false;
  view_.state = State::kStarted;
  view_.generation = own.generation;
  view_.rank = own.rank;
  view_.nodes = own.nodes;
  view_.master_address = own.master_address;
  view_.master_port = own.master_port;
  for (const auto& [token, one] : members) {
    if (one.state == kIn && one.generation == own.generation) view_.holders[one.rank] = one.node;
  }
  came_.clear();
}

std::string GenerationClaim::what_broke(const Members& members) {
  const auto own = members.find(settings_.token);
  if (own == members.end() || own->second.entry.lease != lease_.id) return kForgotten;
  std::map<int, std::string> gone = view_.holders;
  std::vector<std::string> waiting;
  std::string names;
  int here = 0;
  for (const auto& [token, one] : members) {
    if (one.state == kIn && one.generation == view_.generation) {
      gone.erase(one.rank);
      ++here;
    } else if (one.state == kReady) {
      // Of ours, it has only ended its program sooner than we.
      if (one.generation == view_.generation) {
        const std::string& name = one.node;
        std::erase_if(gone, [&name](const auto& held) { return held.second == name; });
      }
      waiting.push_back(token);
      names += (names.empty() ? "" : ", ") + one.node;
    }
  }
  if (here < view_.nodes) {
    std::string lost;
    for (const auto& [rank, node] : gone) lost += (lost.empty() ? "" : ", ") + node;
    return lost.empty() ? "a node is gone" : lost + (gone.size() == 1 ? " is gone" : " are gone");
  }
  if (std::exchange(came_, waiting) != waiting) came_at_ = asked_at_;
  const bool takes_in = settings_.grows && !waiting.empty() && view_.nodes < settings_.most &&
                        asked_at_ - came_at_ >= Time(kComesToStay);
  return takes_in ? names + " has come" : "";
}

std::optional<Transaction> GenerationClaim::begin_next(const Members& members) {
  std::vector<const Member*> ready;
  std::map<int, std::string> running;
  int64_t last = 0;
  for (const auto& [token, one] : members) {
    if (one.state == kIn) running[one.rank] = one.node;
    if (one.state == kReady) ready.push_back(&one);
    last = std::max(last, one.generation);
  }
  std::sort(ready.begin(), ready.end(), [](const Member* one, const Member* other) {
    return one->entry.create_revision < other->entry.create_revision;
  });
  begins_ = !ready.empty() && ready.front()->token == settings_.token;
  std::string names;
  for (const auto& [rank, node] : running) names += (names.empty() ? "" : ", ") + node;
  view_.waits = running.empty();
  if (!running.empty()) {
    view_.message = "runs on " + names + " as generation " + std::to_string(last) +
                    "; this node waits for the next one";
    return std::nullopt;
  }
  ready.resize(std::min(ready.size(), static_cast<std::size_t>(settings_.most)));
  std::vector<std::string> came;
  for (const Member* one : ready) {
    view_.holders[static_cast<int>(came.size())] = one->node;
    came.push_back(one->token);
  }
  if (std::exchange(came_, came) != came) came_at_ = asked_at_;
  const int nodes = static_cast<int>(ready.size());
  if (nodes < settings_.least || !begins_) return std::nullopt;
  // Behind a loss all are there that are left; at the first time others may be on their way.
  const bool all = last > 0 || nodes == settings_.most;
  if (!all && asked_at_ - came_at_ < Time(settings_.last_call)) return std::nullopt;
  Transaction begin;
  for (int rank = 0; rank < nodes; ++rank) {
    Member in = *ready[static_cast<std::size_t>(rank)];
    in.state = kIn;
    in.generation = last + 1;
    in.rank = rank;
    in.nodes = nodes;
    in.master_address = settings_.address;
    in.master_port = settings_.port;
    const std::string key = member_key(in.token);
    begin.compares.push_back(key_is_unchanged(key, in.entry.mod_revision));
    begin.operations.push_back(put_key(key, in.text(), in.entry.lease));
  }
  return begin;
}

std::optional<Transaction> GenerationClaim::end_for_others(const Members& members) {
  Transaction end;
  for (const auto& [token, one] : members) {
    if (token == settings_.token || one.state == kEnded) continue;
    if (end.operations.size() == kMostChanges) break;
    Member ended = one;
    ended.state = kEnded;
    ended.code = *end_code_;
    end.compares.push_back(key_is_unchanged(member_key(token), one.entry.mod_revision));
    end.operations.push_back(put_key(member_key(token), ended.text(), one.entry.lease));
  }
  if (!end.operations.empty()) {
    const int64_t revision = members.at(settings_.token).entry.mod_revision;
    end.compares.push_back(key_is_unchanged(member_key(settings_.token), revision));
    return end;
  }
  view_.state = State::kOver;
  view_.code = *end_code_;
  return std::nullopt;
}

}  // namespace optile::daemon
