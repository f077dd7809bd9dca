#include "daemon/cluster/job_plans.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "daemon/cluster/key_numbers.h"

namespace optile::daemon {
namespace {

using RecordJson = nlohmann::json;

}  // namespace

std::string to_text(const PlanRecord& record) {
  const RecordJson json = {{"protocol", record.protocol},
                           {"owner", record.owner},
                           {"node", record.node},
                           {"uid", record.uid},
                           {"plan", to_json(record.plan)}};
  return json.dump(-1, ' ', false, RecordJson::error_handler_t::replace);
}

base::Result<PlanRecord> read_plan_record(const std::string& text) try {
  constexpr std::size_t kMaxAround = 512;  // what stands beside the plan
  if (text.size() > kMaxPlanBytes + kMaxAround) return base::invalid("it is too long");
  const RecordJson json = RecordJson::parse(text);
  PlanRecord record;
  record.protocol = small_number(json, "protocol");
  if (record.protocol != kClusterProtocol) return record;
  record.owner = json.at("owner").get<std::string>();
  record.node = json.at("node").get<std::string>();
  const int64_t uid = whole_number(json, "uid", kMostTimes);
  if (uid < 0 || uid > std::numeric_limits<unsigned>::max()) return base::invalid("of no account");
  record.uid = static_cast<unsigned>(uid);
  if (!is_cluster_name(record.node)) return base::invalid("its node has no name");
  base::Result<JobPlan> plan = read_job_plan(json.at("plan"));
  if (!plan.ok()) return plan.error();
  record.plan = std::move(plan).value();
  return record;
} catch (const RecordJson::exception&) {
  return base::invalid("it is no plan of a job");
}

JobPlans::JobPlans(ClusterStore& store, Settings settings)
    : store_(store), settings_(std::move(settings)) {}

void JobPlans::set_own(std::vector<OwnPlan> plans) {
  own_ = std::move(plans);
  changed_ = true;
  due_ = std::min(due_, asked_at_ + kSoonestPlanLook);
}

void JobPlans::tick(Time now, ClusterLease lease) {
  lease_ = lease;
  if (lease == 0) {
    known_.clear();
    messages_.clear();
    due_ = now + kSoonestPlanLook;
    return;
  }
  if (asking_ || now < due_) return;
  asked_at_ = now;
  changes_ = 0;
  read();
}

void JobPlans::read() {
  asking_ = true;
  changed_ = false;
  store_.get(settings_.keys.plans(), [this](const base::Result<KeyRange>& range) {
    asking_ = false;
    if (range.ok()) {
      take(range.value());
    } else {
      fail(range.error());
    }
    if (settings_.answered) settings_.answered();
  });
}

void JobPlans::take(const KeyRange& range) {
  known_.clear();
  messages_.clear();
  read_at_ = asked_at_;
  if (lease_ == 0) return finish_round();  // no member any more
  std::vector<Entry> entries;
  for (const KeyValue& one : range.entries) entries.push_back({one, read_plan_record(one.value)});
  for (const Entry& entry : entries) show(entry);
  const std::optional<Transaction> change = decide(entries);
  // What came of one is read; others change keys too, so that there is an end to it.
  const auto most = static_cast<int>(own_.size() + entries.size() + 1);
  if (!change || ++changes_ > most) return finish_round();
  commit(*change);
}

void JobPlans::show(const Entry& entry) {
  const std::string key = printable(entry.there.key.substr(settings_.keys.plans().size()));
  if (!entry.record.ok()) {
    messages_.push_back("the plan of job " + key + " cannot be read: " + entry.record.message());
    return;
  }
  const PlanRecord& record = entry.record.value();
  if (record.protocol != kClusterProtocol) {
    messages_.push_back("the plan of job " + key + " is of another version of optile");
  } else if (key_of(record.uid, record.plan) != entry.there.key) {
    messages_.push_back("the plan of job " + key + " stands under another job's name");
  } else if (record.owner != settings_.owner) {
    known_.push_back(record);
  }
}

std::optional<Transaction> JobPlans::decide(const std::vector<Entry>& entries) const {
  for (const OwnPlan& own : own_) {
    const std::string key = key_of(own.uid, own.plan);
    const auto found = std::find_if(entries.begin(), entries.end(),
                                    [&](const Entry& one) { return one.there.key == key; });
    std::optional<Transaction> change = decide_own(own, found == entries.end() ? nullptr : &*found);
    if (change) return change;
  }
  for (const Entry& entry : entries) {
    const KeyValue& there = entry.there;
    const bool wanted = std::any_of(own_.begin(), own_.end(), [&](const OwnPlan& own) {
      return key_of(own.uid, own.plan) == there.key;
    });
    if (wanted || !entry.record.ok() || entry.record.value().owner != settings_.owner) continue;
    return Transaction{{key_is_unchanged(there.key, there.mod_revision)}, {delete_key(there.key)}};
  }
  return std::nullopt;
}

// Its key is compared with what was read of it, so that whatever was put meanwhile stays.
std::optional<Transaction> JobPlans::decide_own(const OwnPlan& own, const Entry* entry) const {
  const std::string key = key_of(own.uid, own.plan);
  if (entry != nullptr) {
    if (!entry->record.ok() || entry->record.value().protocol != kClusterProtocol) {
      return std::nullopt;
    }
    const auto version = entry->record.value().plan.version();
    const bool later = version > own.plan.version();
    const bool same = version == own.plan.version() && entry->there.lease == lease_;
    if (later || same) return std::nullopt;
  }
  const PlanRecord record = {kClusterProtocol, settings_.owner, settings_.node, own.uid, own.plan};
  return Transaction{{key_is_unchanged(key, entry == nullptr ? 0 : entry->there.mod_revision)},
                     {put_key(key, to_text(record), lease_)}};
}

void JobPlans::commit(const Transaction& transaction) {
  asking_ = true;
  store_.commit(transaction, [this](const base::Result<Committed>& committed) {
    asking_ = false;
    if (committed.ok()) {
      read();
      return;
    }
    fail(committed.error());
    if (settings_.answered) settings_.answered();
  });
}

void JobPlans::fail(const base::Error& error) {
  messages_ = {"plans of other nodes are not known: " + error.message};
  due_ = asked_at_ + kPlanLook;
}

void JobPlans::finish_round() {
  due_ = asked_at_ + (changed_ ? std::chrono::nanoseconds(kSoonestPlanLook) : Time(kPlanLook));
}

JobPlans::View JobPlans::view(Time now) const {
  View view;
  for (const PlanRecord& record : known_) view.plans.push_back({record, now - read_at_});
  view.messages = messages_;
  return view;
}

}  // namespace optile::daemon
