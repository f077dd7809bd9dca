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
  for (const KeyValue& entry : range.entries) {
    base::Result<PlanRecord> record = read_plan_record(entry.value);
    const std::string key = printable(entry.key.substr(settings_.keys.plans().size()));
    if (!record.ok()) {
      messages_.push_back("the plan of job " + key + " cannot be read: " + record.message());
    } else if (record.value().protocol != kClusterProtocol) {
      messages_.push_back("the plan of job " + key + " is of another version of optile");
    } else if (settings_.keys.plan(record.value().uid, record.value().plan.job) != entry.key) {
      messages_.push_back("the plan of job " + key + " stands under another job's name");
    } else if (record.value().owner != settings_.owner) {
      known_.push_back(std::move(record).value());
    }
  }
  std::optional<Transaction> change = decide(range);
  // What came of one is read; others change keys too, so that there is an end to it.
  const auto most = static_cast<int>(own_.size() + range.entries.size() + 1);
  if (!change || ++changes_ > most) return finish_round();
  commit(*change);
}

std::optional<Transaction> JobPlans::decide(const KeyRange& range) {
  std::optional<Transaction> change;
  for (const OwnPlan& own : own_) {
    const std::string key = settings_.keys.plan(own.uid, own.plan.job);
    const auto found = std::find_if(range.entries.begin(), range.entries.end(),
                                    [&](const KeyValue& entry) { return entry.key == key; });
    std::optional<Transaction> of_own =
        decide_own(own, found == range.entries.end() ? nullptr : &*found);
    if (!change) change = std::move(of_own);
  }
  if (change) return change;
  for (const KeyValue& entry : range.entries) {
    const bool wanted = std::any_of(own_.begin(), own_.end(), [&](const OwnPlan& own) {
      return settings_.keys.plan(own.uid, own.plan.job) == entry.key;
    });
    const base::Result<PlanRecord> record = read_plan_record(entry.value);
    if (wanted || !record.ok() || record.value().owner != settings_.owner) continue;
    return Transaction{{key_is_unchanged(entry.key, entry.mod_revision)}, {delete_key(entry.key)}};
  }
  return std::nullopt;
}

// Its key is compared with what was read of it, so that whatever was put meanwhile stays.
std::optional<Transaction> JobPlans::decide_own(const OwnPlan& own, const KeyValue* entry) {
  const std::string key = settings_.keys.plan(own.uid, own.plan.job);
  if (entry != nullptr) {
    const base::Result<PlanRecord> there = read_plan_record(entry->value);
    if (!there.ok() || there.value().protocol != kClusterProtocol) return std::nullopt;
    const PlanRecord& record = there.value();
    if (record.plan.run == own.plan.run) {
      const bool later = record.plan.version() > own.plan.version();
      const bool same = record.plan.version() == own.plan.version() && entry->lease == lease_;
      if (later || same) return std::nullopt;
    } else if (record.owner != settings_.owner) {
      messages_.push_back("a job " + own.plan.job + " is shown for node " + record.node +
                          " already, so that other nodes do not see that of this one: give one of "
                          "them another --name");
      return std::nullopt;
    }
  }
  const PlanRecord record = {kClusterProtocol, settings_.owner, settings_.node, own.uid, own.plan};
  return Transaction{{key_is_unchanged(key, entry == nullptr ? 0 : entry->mod_revision)},
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
