#include "daemon/cluster/job_plan_publisher.h"

#include <algorithm>
#include <utility>

#include "daemon/cluster/key_numbers.h"

namespace optile::daemon {
namespace {

using PublishedJson = nlohmann::json;

constexpr int kMostCommits = 4;  // of one ask
constexpr std::size_t kMostPublishedBytes = 8192;

std::string claim_key(const LaunchClaim& claim) {
  const std::string job = ClusterKeys{claim.user}.job(claim.job);
  return claim.generation == 0 ? job + "ranks/0" : job + "members/" + claim.token;
}

std::string published_key(const LaunchClaim& claim) {
  return ClusterKeys{claim.user}.published(claim.job);
}

// "" = what stands there is this claim, and it has rank 0. As RankClaim and GenerationClaim put it.
std::string what_is_against(const LaunchClaim& claim, const std::string& text) try {
  const PublishedJson json = PublishedJson::parse(text);
  if (claim.generation == 0) {
    if (json.at("token").get<std::string>() == claim.token) return "";
    return "job " + claim.job + " is a later launch's by now, on node " +
           printable(json.at("node").get<std::string>());
  }
  const bool runs = json.at("state").get<std::string>() == "in";
  if (!runs || whole_number(json, "generation", kMostTimes) != claim.generation) {
    return "generation " + std::to_string(claim.generation) + " of job " + claim.job + " has ended";
  }
  return small_number(json, "rank") == 0 ? "" : "this node has not rank 0 of job " + claim.job;
} catch (const PublishedJson::exception&) {
  return "the claim of job " + claim.job + " cannot be read";
}

const KeyValue* find_entry(const KeyRange& range, const std::string& key) {
  const auto found = std::find_if(range.entries.begin(), range.entries.end(),
                                  [&](const KeyValue& one) { return one.key == key; });
  return found == range.entries.end() ? nullptr : &*found;
}

PlanDivision division_of(const JobPlan& plan) {
  PlanDivision division;
  for (const PlanRank& rank : plan.ranks) division.parts.push_back(rank.part);
  division.micro_batches = plan.micro_batches;
  return division;
}

PublishedJson published_division(const PlanDivision& division) {
  return {{"parts", division.parts}, {"micro_batches", division.micro_batches}};
}

PlanDivision read_published_division(const PublishedJson& json) {
  return {json.at("parts").get<std::vector<double>>(), small_number(json, "micro_batches")};
}

bool same_plan(const PublishedPlan& one, const PublishedPlan& other) {
  return one.run == other.run && one.epoch == other.epoch;
}

}  // namespace

std::string to_text(const PublishedPlan& plan) {
  const PublishedJson json = {
      {"protocol", plan.protocol},
      {"token", plan.token},
      {"generation", plan.generation},
      {"run", plan.run},
      {"epoch", plan.epoch},
      {"plan", published_division(plan.division)},
      {"way_back", plan.way_back ? published_division(*plan.way_back) : PublishedJson()}};
  return json.dump(-1, ' ', false, PublishedJson::error_handler_t::replace);
}

base::Result<PublishedPlan> read_published_plan(const std::string& text) try {
  if (text.size() > kMostPublishedBytes) return base::invalid("it is too long");
  const PublishedJson json = PublishedJson::parse(text);
  PublishedPlan plan;
  plan.protocol = small_number(json, "protocol");
  if (plan.protocol != kClusterProtocol) return plan;
  plan.token = json.at("token").get<std::string>();
  plan.generation = whole_number(json, "generation", kMostTimes);
  plan.run = json.at("run").get<std::string>();
  plan.epoch = whole_number(json, "epoch", kMostTimes);
  plan.division = read_published_division(json.at("plan"));
  if (!json.at("way_back").is_null()) plan.way_back = read_published_division(json.at("way_back"));
  return plan;
} catch (const PublishedJson::exception&) {
  return base::invalid("it is no published plan");
}

base::Result<JobPlanPublisher::Answer> JobPlanPublisher::publish(const LaunchClaim& claim,
                                                                 const JobPlan& plan, int pid) {
  const auto conflict = [](const std::string& message) {
    return base::Error{base::ErrorKind::kUnavailable, message};
  };
  Ask ask;
  ask.claim = claim;
  ask.plan = {kClusterProtocol, claim.token, claim.generation,
              plan.run,         plan.epoch,  division_of(plan)};
  // What is being tried has no measured gain yet.
  const bool tries =
      !plan.changes.empty() && !plan.changes.back().measured && plan.changes.back().reason.empty();
  if (tries) ask.plan.way_back = plan.changes.back().before;
  ask.pid = pid;
  const JobKey key = {claim.user, claim.job};
  const auto before = asks_.find(key);
  if (before == asks_.end()) {
    const auto of_user = std::count_if(
        asks_.begin(), asks_.end(), [&](const auto& one) { return one.first.first == claim.user; });
    if (asks_.size() >= kMaxPublishedJobs ||
        static_cast<std::size_t>(of_user) >= kMaxPublishedJobsOfUser) {
      return conflict("there are too many jobs on this machine to publish plans of another one");
    }
  } else {
    const Ask& last = before->second;
    if (last.pid != pid) {
      return Answer{State::kRefused, "process " + std::to_string(last.pid) +
                                         " publishes the plans of job " + claim.job + " already"};
    }
    if (same_plan(last.plan, ask.plan)) return last.answer;
    if (last.plan.run == plan.run && last.plan.epoch > plan.epoch) {
      return conflict("a later plan of this run was asked for already");
    }
  }
  asks_.insert_or_assign(key, std::move(ask));
  return Answer{};
}

void JobPlanPublisher::forget(int pid) {
  std::erase_if(asks_, [&](const auto& one) { return one.second.pid == pid; });
}

std::chrono::nanoseconds JobPlanPublisher::next_tick() const {
  const bool waits = std::any_of(asks_.begin(), asks_.end(), [](const auto& one) {
    return one.second.answer.state == State::kAsked;
  });
  return waits && !work_ ? std::chrono::nanoseconds(0) : std::chrono::nanoseconds::max();
}

void JobPlanPublisher::tick() {
  if (work_) return;
  for (const auto& [key, ask] : asks_) {
    if (ask.answer.state != State::kAsked) continue;
    work_ = Work{ask, {}, 0};
    return read_claim();
  }
}

void JobPlanPublisher::read_claim() {
  store_.get(claim_key(work_->ask.claim), [this](const base::Result<KeyRange>& range) {
    const LaunchClaim& claim = work_->ask.claim;
    if (!range.ok()) return settle(State::kUnreachable, range.error().message);
    const KeyValue* entry = find_entry(range.value(), claim_key(claim));
    if (entry == nullptr) {
      return settle(State::kRefused,
                    "the claim of this launch of job " + claim.job +
                        " is not in etcd: it has ended there, or is in another one than this "
                        "node's cluster has");
    }
    const std::string against = what_is_against(claim, entry->value);
    if (!against.empty()) return settle(State::kRefused, against);
    work_->claim = *entry;
    read_published();
  });
}

void JobPlanPublisher::read_published() {
  store_.get(published_key(work_->ask.claim), [this](const base::Result<KeyRange>& range) {
    if (!range.ok()) return settle(State::kUnreachable, range.error().message);
    take_published(range.value());
  });
}

// What another owner has put is replaced: the claim says that this one came later.
void JobPlanPublisher::take_published(const KeyRange& range) {
  const Ask& ask = work_->ask;
  const KeyValue* entry = find_entry(range, published_key(ask.claim));
  if (entry == nullptr) return commit(0);
  const base::Result<PublishedPlan> there = read_published_plan(entry->value);
  if (!there.ok() || there.value().protocol != kClusterProtocol) {
    return settle(State::kRefused,
                  "what is published of job " + ask.claim.job + " is of another version of optile");
  }
  const PublishedPlan& plan = there.value();
  const bool ours = plan.token == ask.claim.token && plan.generation == ask.claim.generation;
  if (ours && same_plan(plan, ask.plan)) return settle(State::kAccepted);
  const bool later = ours && plan.run == ask.plan.run && plan.epoch > ask.plan.epoch;
  if (later || plan.generation > ask.claim.generation) {
    return settle(State::kRefused, "a later plan of job " + ask.claim.job + " is published");
  }
  commit(entry->mod_revision);
}

void JobPlanPublisher::commit(int64_t revision) {
  const KeyValue& claim = work_->claim;
  const std::string key = published_key(work_->ask.claim);
  const Transaction change = {
      {key_is_unchanged(claim.key, claim.mod_revision), key_is_unchanged(key, revision)},
      {put_key(key, to_text(work_->ask.plan), claim.lease)}};
  store_.commit(change, [this](const base::Result<Committed>& committed) {
    if (committed.ok() && committed.value().succeeded) return settle(State::kAccepted);
    if (committed.ok()) return try_again("others change what is published meanwhile");
    const base::Error& error = committed.error();
    // It may have come about, or the claim's lease has ended: that is read.
    const bool unknown =
        error.kind == base::ErrorKind::kUnavailable || error.kind == base::ErrorKind::kNotFound;
    if (unknown) return try_again(error.message);
    settle(State::kUnreachable, error.message);
  });
}

void JobPlanPublisher::try_again(const std::string& why) {
  if (++work_->commits >= kMostCommits) return settle(State::kUnreachable, why);
  read_claim();
}

// Of an ask that a later one has replaced, or whose process has ended, nobody wants to know.
void JobPlanPublisher::settle(State state, const std::string& reason) {
  const Ask done = std::exchange(work_, std::nullopt)->ask;
  const auto asked = asks_.find({done.claim.user, done.claim.job});
  if (asked != asks_.end() && asked->second.pid == done.pid &&
      same_plan(asked->second.plan, done.plan)) {
    asked->second.answer = {state, printable(reason)};
  }
  if (answered_) answered_();
}

}  // namespace optile::daemon
