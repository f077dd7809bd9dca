#include "daemon/cluster/rank_claim.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/cluster/key_numbers.h"

namespace optile::daemon {
namespace {

using ClaimJson = nlohmann::json;

std::string claim_text(const ClaimJson& json) {
  return json.dump(-1, ' ', false, ClaimJson::error_handler_t::replace);
}

std::string names_of(const std::map<int, std::string>& holders) {
  std::string names;
  for (const auto& [rank, node] : holders) names += (names.empty() ? "" : ", ") + node;
  return names;
}

}  // namespace

std::chrono::milliseconds look_of_others(int nodes) {
  return std::clamp(kClaimLook * (nodes - 1) / kLooksOfOthers, kClaimLook, kLongestClaimLook);
}

RankClaim::RankClaim(ClusterStore& store, Settings settings)
    : store_(store), settings_(std::move(settings)) {}

std::string RankClaim::rank_key(int rank) const {
  return settings_.keys.job(settings_.job) + "ranks/" + std::to_string(rank);
}

std::string RankClaim::start_key(int rank) const {
  return settings_.keys.job(settings_.job) + "starts/" + std::to_string(rank);
}

// Every claim of ours changes it, so that of two that are under way only one comes about.
std::string RankClaim::claim_key() const {
  return settings_.keys.job(settings_.job) + "claims/" + settings_.token;
}

RankClaim::Time RankClaim::next_tick() const {
  if (asking_ || view_.state == State::kRefused || view_.lease_lost) return Time::max();
  return lease_ == 0 ? due_ : std::min({due_, keep_alive_due_, lease_end_});
}

void RankClaim::tick(Time now) {
  if (asking_ || view_.state == State::kRefused || view_.lease_lost) return;
  if (lease_ != 0 && now >= lease_end_) {
    lease_ = 0;
    change_.reset();
    view_.lease_lost = view_.state == State::kStarted;
    if (view_.lease_lost) return;
  }
  const bool keeps_alive = lease_ != 0 && now >= keep_alive_due_;
  if (now < due_ && !keeps_alive) return;
  if (view_.state == State::kStarted && !keeps_alive) {
    due_ = keep_alive_due_;
    return;
  }
  asked_at_ = now;
  asking_ = true;
  if (lease_ == 0 || keeps_alive) return grant_or_keep_alive();
  if (change_) return commit();
  read();
}

void RankClaim::grant_or_keep_alive() {
  const bool granting = lease_ == 0;
  const auto done = [this, granting](const base::Result<GrantedClusterLease>& granted) {
    asking_ = false;
    if (granted.ok()) {
      lease_ = granted.value().id;
      const Time ttl = granted.value().ttl;
      lease_end_ = asked_at_ + ttl - ttl / kClaimMargin;
      keep_alive_due_ = asked_at_ + ttl / kClaimKeepAlives;
      if (granting) due_ = asked_at_;
    } else if (!granting && granted.error().kind == base::ErrorKind::kNotFound) {
      lease_end_ = asked_at_;
    } else {
      failed(granted.error());
      keep_alive_due_ = due_;
    }
    if (settings_.answered) settings_.answered();
  };
  if (granting) return store_.grant_lease(settings_.ttl, done);
  store_.keep_alive(lease_, done);
}

void RankClaim::failed(const base::Error& error) {
  view_.message = error.message;
  const bool for_good =
      error.kind == base::ErrorKind::kDenied || error.kind == base::ErrorKind::kInvalid;
  if (for_good && view_.state != State::kStarted) view_.state = State::kRefused;
  due_ = asked_at_ + kClaimPause;
}

void RankClaim::read() {
  const std::string prefix = settings_.keys.job(settings_.job);
  store_.get(prefix, [this](const base::Result<KeyRange>& range) {
    asking_ = false;
    if (range.ok()) {
      take(read_snapshot(range.value()));
    } else {
      failed(range.error());
    }
    if (settings_.answered) settings_.answered();
  });
}

void RankClaim::commit() {
  const Transaction change = *std::exchange(change_, std::nullopt);
  store_.commit(change, [this](const base::Result<Committed>& committed) {
    asking_ = false;
    // Whatever came of it is read next.
    due_ = asked_at_;
    if (!committed.ok() && committed.error().kind == base::ErrorKind::kNotFound) {
      lease_end_ = asked_at_;
    } else if (!committed.ok()) {
      failed(committed.error());
    }
    if (settings_.answered) settings_.answered();
  });
}

// Throws where it is none of ours: the key is taken then, and nobody's.
void RankClaim::read_entry(const KeyValue& entry, Snapshot& seen) const {
  const std::string ranks = rank_key(0).substr(0, rank_key(0).size() - 1);
  const std::string starts = start_key(0).substr(0, start_key(0).size() - 1);
  const ClaimJson json = ClaimJson::parse(entry.value);
  if (entry.key.starts_with(starts)) {
    Start start = {json.at("tokens").get<std::vector<std::string>>(), printable(json.at("address")),
                   small_number(json, "port")};
    const auto ours = std::find(start.tokens.begin(), start.tokens.end(), settings_.token);
    if (ours == start.tokens.end()) return;
    const auto rank = static_cast<int>(ours - start.tokens.begin());
    start.kept =
        (entry.key == start_key(rank) && entry.lease == lease_) || (seen.start && seen.start->kept);
    seen.start = std::move(start);
  } else if (entry.key.starts_with(ranks)) {
    Holder holder = {json.at("token"),           json.at("run"),
                     printable(json.at("node")), printable(json.at("address")),
                     small_number(json, "port"), small_number(json, "nodes")};
    holder.entry = entry;
    int rank = -1;
    const char* end = entry.key.data() + entry.key.size();
    std::from_chars(entry.key.data() + ranks.size(), end, rank);
    if (holder.token == settings_.token) seen.own = rank;
    seen.ranks.emplace(rank, std::move(holder));
  } else if (entry.key.starts_with(settings_.keys.job(settings_.job) + "members/")) {
    seen.elastic = printable(json.at("node"));
  }
}

RankClaim::Snapshot RankClaim::read_snapshot(const KeyRange& range) const {
  Snapshot seen;
  for (const KeyValue& entry : range.entries) {
    if (entry.key == claim_key()) seen.claim_revision = entry.mod_revision;
    if (entry.key == start_key(0)) seen.runs = true;
    try {
      read_entry(entry, seen);
    } catch (const ClaimJson::exception&) {
      continue;
    }
  }
  return seen;
}

Operation RankClaim::put_rank(int rank, const std::string& run) const {
  return put_key(rank_key(rank),
                 claim_text({{"token", settings_.token},
                             {"run", run},
                             {"node", settings_.node},
                             {"address", settings_.address},
                             {"port", settings_.port},
                             {"nodes", settings_.nodes}}),
                 lease_);
}

void RankClaim::take(const Snapshot& seen) {
  change_ = decide(seen);
  due_ = change_ ? asked_at_
                 : asked_at_ + (seen.own == 0 ? kClaimLook : look_of_others(settings_.nodes));
}

std::optional<Transaction> RankClaim::decide(const Snapshot& seen) {
  view_.message.clear();
  view_.holders.clear();
  view_.rank = seen.own;
  view_.state = seen.own < 0 ? State::kClaiming : State::kWaiting;
  const auto zero = seen.ranks.find(0);
  if (zero != seen.ranks.end()) {
    for (const auto& [rank, holder] : seen.ranks) {
      if (holder.run == zero->second.run) view_.holders[rank] = holder.node;
    }
  }
  if (seen.start) {
    const auto& tokens = seen.start->tokens;
    view_.state = State::kStarted;
    view_.rank =
        static_cast<int>(std::find(tokens.begin(), tokens.end(), settings_.token) - tokens.begin());
    view_.master_address = seen.start->address;
    view_.master_port = seen.start->port;
    // It was stopped, or cut off, while the others began.
    view_.lease_lost = !seen.start->kept;
    return std::nullopt;
  }
  if (!seen.elastic.empty()) {
    view_.state = State::kRefused;
    view_.message = "job " + settings_.job + " was begun with --nodes MIN:MAX on " + seen.elastic +
                    ", here with " + std::to_string(settings_.nodes) +
                    "; say the same everywhere, or choose another --name";
    return std::nullopt;
  }
  // Also of one that has a rank: whoever gathers after a rank 0 that died may say another number.
  if (zero != seen.ranks.end() && !seen.runs && zero->second.nodes != settings_.nodes) {
    view_.state = State::kRefused;
    view_.message = "job " + settings_.job + " was begun with --nodes " +
                    std::to_string(zero->second.nodes) + " on " + zero->second.node +
                    ", here with " + std::to_string(settings_.nodes) +
                    "; say the same everywhere, or choose another --name";
    return std::nullopt;
  }
  return seen.own < 0 ? decide_without_rank(seen) : decide_with_rank(seen);
}

Transaction RankClaim::claim(const Snapshot& seen, int rank, const std::string& run) const {
  Transaction change;
  change.compares = {key_is_absent(start_key(0)),
                     key_is_unchanged(claim_key(), seen.claim_revision)};
  change.operations = {put_key(claim_key(), std::to_string(rank), lease_), put_rank(rank, run)};
  if (seen.own >= 0) {
    const int64_t revision = seen.ranks.at(seen.own).entry.mod_revision;
    change.compares.push_back(key_is_unchanged(rank_key(seen.own), revision));
  }
  if (rank != seen.own) {
    change.compares.push_back(key_is_absent(rank_key(rank)));
    if (seen.own >= 0) change.operations.push_back(delete_key(rank_key(seen.own)));
  }
  if (rank != 0) {
    const int64_t revision = seen.ranks.at(0).entry.mod_revision;
    change.compares.push_back(key_is_unchanged(rank_key(0), revision));
  }
  return change;
}

std::optional<Transaction> RankClaim::decide_without_rank(const Snapshot& seen) {
  const auto zero = seen.ranks.find(0);
  if (zero == seen.ranks.end() && !seen.runs) return claim(seen, 0, settings_.token);
  if (zero == seen.ranks.end() || seen.runs) {
    view_.message = "job " + settings_.job + " runs on " + names_of(view_.holders) +
                    "; this waits for its end, or choose another --name";
    return std::nullopt;
  }
  for (int rank = 1; rank < settings_.nodes; ++rank) {
    if (!seen.ranks.contains(rank)) return claim(seen, rank, zero->second.run);
  }
  view_.message = "all ranks of job " + settings_.job + " are taken, by " +
                  names_of(view_.holders) + "; one that dies leaves its rank within " +
                  std::to_string(settings_.ttl.count()) + " seconds";
  return std::nullopt;
}

std::optional<Transaction> RankClaim::decide_with_rank(const Snapshot& seen) {
  const Holder& own = seen.ranks.at(seen.own);
  const auto zero = seen.ranks.find(0);
  // Rank 0 died, or another one has begun to gather since.
  if (zero == seen.ranks.end()) return claim(seen, 0, settings_.token);
  const std::string& run = zero->second.run;
  // What was put under an earlier lease of ours would end with it.
  const bool current = own.run == run && own.entry.lease == lease_;
  if (!current) return seen.runs ? std::nullopt : std::optional(claim(seen, seen.own, run));
  if (seen.own != 0 || seen.runs) return std::nullopt;
  std::vector<std::string> tokens;
  Transaction begin;
  begin.compares.push_back(key_is_absent(start_key(0)));
  for (int rank = 0; rank < settings_.nodes; ++rank) {
    const auto holder = seen.ranks.find(rank);
    if (holder == seen.ranks.end() || holder->second.run != run) return std::nullopt;
    tokens.push_back(holder->second.token);
    begin.compares.push_back(key_is_unchanged(rank_key(rank), holder->second.entry.mod_revision));
  }
  const std::string start = claim_text(
      {{"tokens", std::move(tokens)}, {"address", settings_.address}, {"port", settings_.port}});
  for (int rank = 0; rank < settings_.nodes; ++rank) {
    begin.operations.push_back(put_key(start_key(rank), start, seen.ranks.at(rank).entry.lease));
  }
  return begin;
}

}  // namespace optile::daemon
