#include "daemon/cluster/job_plan.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "bindings/abi/api_fields.h"
#include "daemon/cluster/node_record.h"

namespace optile::daemon {
namespace {

using PlanJson = nlohmann::json;

constexpr double kMostSeconds = 1e9;
constexpr double kMostGain = 1e9;
constexpr double kMostSteps = 9007199254740991.0;  // what every reader of JSON keeps exactly
constexpr double kMostLayers = 1e6;
constexpr double kMostMicroBatches = 1e6;
constexpr std::size_t kMaxSchedule = 16;
// As PlanKind numbers them.
constexpr std::array<const char*, 4> kKinds = {"shares", "pipeline", "placement", "splits"};
constexpr std::array<const char*, 6> kPublications = {"",         "none",    "asked",
                                                      "accepted", "refused", "unreachable"};

// What is wrong with a plan: the first thing that was found. What is read behind it is not used.
struct Fault {
  base::ErrorKind kind = base::ErrorKind::kInvalid;
  std::string text;  // "" = nothing

  void add(const char* name, const char* what,
           base::ErrorKind of_kind = base::ErrorKind::kInvalid) {
    if (!text.empty()) return;
    kind = of_kind;
    text = std::string(name) + " " + what;
  }
};

const PlanJson& nothing() {
  static const PlanJson null;
  return null;
}

const PlanJson& member(const PlanJson& object, const char* name, Fault& fault) {
  if (!object.is_object()) {
    fault.add(name, "has to be in an object");
    return nothing();
  }
  const auto found = object.find(name);
  if (found != object.end()) return *found;
  fault.add(name, "is missing");
  return nothing();
}

double checked_number(const PlanJson& value, const char* name, double most, Fault& fault) {
  const double number = value.is_number() ? value.get<double>() : -1;
  if (!value.is_number()) fault.add(name, "has to be a number");
  if (!std::isfinite(number) || number < 0 || number > most) fault.add(name, "is out of range");
  return number;
}

double number_in(const PlanJson& object, const char* name, double most, Fault& fault) {
  return checked_number(member(object, name, fault), name, most, fault);
}

int64_t integer_in(const PlanJson& object, const char* name, double most, Fault& fault) {
  const PlanJson& value = member(object, name, fault);
  if (!value.is_number_integer()) fault.add(name, "has to be a whole number");
  const double number = checked_number(value, name, most, fault);
  return fault.text.empty() ? static_cast<int64_t>(number) : 0;
}

// null: not known.
std::optional<double> optional_in(const PlanJson& object, const char* name, double most,
                                  Fault& fault) {
  const PlanJson& value = member(object, name, fault);
  if (value.is_null()) return std::nullopt;
  return checked_number(value, name, most, fault);
}

std::string text_in(const PlanJson& object, const char* name, std::size_t most, Fault& fault) {
  const PlanJson& value = member(object, name, fault);
  if (!value.is_string()) {
    fault.add(name, "has to be text");
    return "";
  }
  auto text = value.get<std::string>();
  if (text.size() > most) fault.add(name, "is too long");
  if (printable(text) != text) fault.add(name, "has to be printable ASCII");
  return text;
}

// Programs whose package is older do not tell it.
bool tells(const PlanJson& object, const char* name) {
  return object.is_object() && object.contains(name);
}

std::string name_in(const PlanJson& object, const char* name, Fault& fault) {
  std::string text = text_in(object, name, kMaxPlanReason, fault);
  if (!is_cluster_name(text)) {
    fault.add(name, "has to be letters, digits, '.', '_' and '-', at most 63 of them");
  }
  return text;
}

const PlanJson& list_in(const PlanJson& object, const char* name, std::size_t most, Fault& fault) {
  static const PlanJson none = PlanJson::array();
  const PlanJson& value = member(object, name, fault);
  if (!value.is_array()) fault.add(name, "has to be a list");
  if (value.size() > most) fault.add(name, "has too many entries");
  return value.is_array() && value.size() <= most ? value : none;
}

std::vector<double> numbers_in(const PlanJson& object, const char* name, double most,
                               Fault& fault) {
  std::vector<double> numbers;
  for (const PlanJson& one : list_in(object, name, kMaxPlanRanks, fault)) {
    numbers.push_back(checked_number(one, name, most, fault));
  }
  return numbers;
}

PlanRank rank_in(const PlanJson& json, Fault& fault) {
  PlanRank rank;
  rank.node = name_in(json, field::kNode, fault);
  rank.part = number_in(json, field::kPart, kMostLayers, fault);
  rank.busy_seconds = optional_in(json, field::kBusySeconds, kMostSeconds, fault);
  rank.busy = optional_in(json, field::kBusy, 1, fault);
  rank.whole_seconds = optional_in(json, field::kWholeSeconds, kMostSeconds, fault);
  return rank;
}

PlanDivision division_in(const PlanJson& json, Fault& fault) {
  PlanDivision division;
  division.parts = numbers_in(json, field::kParts, kMostLayers, fault);
  division.micro_batches =
      static_cast<int>(integer_in(json, field::kMicroBatches, kMostMicroBatches, fault));
  return division;
}

PlanChange change_in(const PlanJson& json, Fault& fault) {
  PlanChange change;
  change.step = integer_in(json, field::kStep, kMostSteps, fault);
  change.before = division_in(member(json, field::kBefore, fault), fault);
  change.after = division_in(member(json, field::kAfter, fault), fault);
  change.whole_seconds = numbers_in(json, field::kWholeSeconds, kMostSeconds, fault);
  change.predicted = number_in(json, field::kPredicted, kMostGain, fault);
  change.measured = optional_in(json, field::kMeasured, kMostGain, fault);
  const PlanJson& kept = member(json, field::kKept, fault);
  if (!kept.is_boolean()) fault.add(field::kKept, "has to be true or false");
  change.kept = kept.is_boolean() && kept.get<bool>();
  change.reason = text_in(json, field::kReason, kMaxPlanReason, fault);
  return change;
}

// What each part may be depends on what they are parts of.
void check_division(const std::vector<double>& parts, int micro_batches, const JobPlan& plan,
                    Fault& fault) {
  const auto contradicts = [&](const char* name, const char* what) {
    fault.add(name, what, base::ErrorKind::kUnavailable);
  };
  if (parts.size() != plan.ranks.size()) {
    contradicts(field::kParts, "have to be as many as there are ranks");
  }
  for (const double part : parts) {
    if (plan.kind == PlanKind::kShares && part > 1) {
      contradicts(field::kPart, "of a batch is at most 1");
    }
    if (plan.kind == PlanKind::kSplits && part > 1) {
      contradicts(field::kPart, "of the weights is at most 1");
    }
    if (plan.kind == PlanKind::kPipeline && (part < 1 || part != std::floor(part))) {
      contradicts(field::kPart, "of a pipeline is a whole number of layers, at least 1");
    }
    if (plan.kind == PlanKind::kPlacement && part != std::floor(part)) {
      contradicts(field::kPart, "of a placement is a whole number of units");
    }
  }
  if ((plan.kind == PlanKind::kPipeline) != (micro_batches > 0)) {
    contradicts(field::kMicroBatches, "are a pipeline's, which has some");
  }
}

void check_replicas(const JobPlan& plan, Fault& fault) {
  if (plan.replicas.count < 1) fault.add(field::kReplicas, "are 1 at least");
  if (!fault.text.empty() || plan.replicas.count == 1) return;
  if (plan.kind == PlanKind::kShares ||
      plan.ranks.size() % static_cast<std::size_t>(plan.replicas.count) != 0) {
    fault.add(field::kReplicas, "are of a pipeline or a placement, and equal parts of its ranks",
              base::ErrorKind::kUnavailable);
  }
}

void check_divisions(const JobPlan& plan, Fault& fault) {
  std::vector<double> parts;
  for (const PlanRank& rank : plan.ranks) parts.push_back(rank.part);
  check_division(parts, plan.micro_batches, plan, fault);
  for (const PlanChange& change : plan.changes) {
    check_division(change.before.parts, change.before.micro_batches, plan, fault);
    check_division(change.after.parts, change.after.micro_batches, plan, fault);
    if (change.whole_seconds.size() != plan.ranks.size()) {
      fault.add(field::kWholeSeconds, "have to be as many as there are ranks",
                base::ErrorKind::kUnavailable);
    }
  }
}

void read_publication(const PlanJson& json, JobPlan& plan, Fault& fault) {
  if (tells(json, field::kPublication)) {
    plan.publication.state = text_in(json, field::kPublication, kMaxPlanReason, fault);
    if (std::find(kPublications.begin(), kPublications.end(), plan.publication.state) ==
        kPublications.end()) {
      fault.add(field::kPublication, "is none, asked, accepted, refused or unreachable");
    }
  }
  if (tells(json, field::kPublicationReason)) {
    plan.publication.reason = text_in(json, field::kPublicationReason, kMaxPlanReason, fault);
  }
}

JobPlan plan_in(const PlanJson& json, Fault& fault) {
  JobPlan plan;
  plan.job = name_in(json, field::kJob, fault);
  plan.run = name_in(json, field::kRun, fault);
  plan.epoch = integer_in(json, field::kEpoch, kMostSteps, fault);
  plan.step = integer_in(json, field::kStep, kMostSteps, fault);
  plan.since_step = integer_in(json, field::kSinceStep, kMostSteps, fault);
  const std::string kind = text_in(json, field::kKind, kMaxPlanReason, fault);
  const auto found = std::find(kKinds.begin(), kKinds.end(), kind);
  if (found == kKinds.end()) {
    fault.add(field::kKind, "is shares, pipeline, placement or splits");
  } else {
    plan.kind = static_cast<PlanKind>(found - kKinds.begin());
  }
  plan.schedule = text_in(json, field::kSchedule, kMaxSchedule, fault);
  plan.micro_batches =
      static_cast<int>(integer_in(json, field::kMicroBatches, kMostMicroBatches, fault));
  if (tells(json, field::kReplicas)) {
    plan.replicas.count =
        static_cast<int>(integer_in(json, field::kReplicas, kMaxPlanRanks, fault));
  }
  if (tells(json, field::kChoice)) {
    plan.replicas.choice = text_in(json, field::kChoice, kMaxPlanReason, fault);
  }
  if (tells(json, field::kGeneration)) {
    plan.generation.number = integer_in(json, field::kGeneration, kMostSteps, fault);
  }
  if (tells(json, field::kLostNodes)) {
    for (const PlanJson& one : list_in(json, field::kLostNodes, kMaxPlanRanks, fault)) {
      plan.generation.lost_nodes.push_back(name_in({{field::kNode, one}}, field::kNode, fault));
    }
  }
  read_publication(json, plan, fault);
  plan.predicted_seconds = optional_in(json, field::kPredictedSeconds, kMostSeconds, fault);
  plan.measured_seconds = optional_in(json, field::kMeasuredSeconds, kMostSeconds, fault);
  for (const PlanJson& rank : list_in(json, field::kRanks, kMaxPlanRanks, fault)) {
    plan.ranks.push_back(rank_in(rank, fault));
  }
  if (plan.ranks.empty()) fault.add(field::kRanks, "has one rank at least");
  for (const PlanJson& change : list_in(json, field::kChanges, kMaxPlanChanges, fault)) {
    plan.changes.push_back(change_in(change, fault));
  }
  check_replicas(plan, fault);
  check_divisions(plan, fault);
  return plan;
}

PlanJson number_or_null(const std::optional<double>& number) {
  return number ? PlanJson(*number) : PlanJson();
}

PlanJson division_json(const PlanDivision& division) {
  return {{field::kParts, division.parts}, {field::kMicroBatches, division.micro_batches}};
}

PlanJson change_json(const PlanChange& change) {
  return {{field::kStep, change.step},
          {field::kBefore, division_json(change.before)},
          {field::kAfter, division_json(change.after)},
          {field::kWholeSeconds, change.whole_seconds},
          {field::kPredicted, change.predicted},
          {field::kMeasured, number_or_null(change.measured)},
          {field::kKept, change.kept},
          {field::kReason, change.reason}};
}

}  // namespace

PlanJson to_json(const JobPlan& plan) {
  PlanJson ranks = PlanJson::array();
  for (const PlanRank& rank : plan.ranks) {
    ranks.push_back({{field::kNode, rank.node},
                     {field::kPart, rank.part},
                     {field::kBusySeconds, number_or_null(rank.busy_seconds)},
                     {field::kBusy, number_or_null(rank.busy)},
                     {field::kWholeSeconds, number_or_null(rank.whole_seconds)}});
  }
  PlanJson changes = PlanJson::array();
  for (const PlanChange& change : plan.changes) changes.push_back(change_json(change));
  return {{field::kJob, plan.job},
          {field::kRun, plan.run},
          {field::kEpoch, plan.epoch},
          {field::kStep, plan.step},
          {field::kSinceStep, plan.since_step},
          {field::kKind, kKinds[static_cast<std::size_t>(plan.kind)]},
          {field::kSchedule, plan.schedule},
          {field::kMicroBatches, plan.micro_batches},
          {field::kReplicas, plan.replicas.count},
          {field::kChoice, plan.replicas.choice},
          {field::kGeneration, plan.generation.number},
          {field::kLostNodes, plan.generation.lost_nodes},
          {field::kPublication, plan.publication.state},
          {field::kPublicationReason, plan.publication.reason},
          {field::kPredictedSeconds, number_or_null(plan.predicted_seconds)},
          {field::kMeasuredSeconds, number_or_null(plan.measured_seconds)},
          {field::kRanks, std::move(ranks)},
          {field::kChanges, std::move(changes)}};
}

base::Result<JobPlan> read_job_plan(const PlanJson& json) {
  Fault fault;
  JobPlan plan = plan_in(json, fault);
  if (!fault.text.empty()) return base::Error{fault.kind, "no plan of a job: " + fault.text};
  if (to_json(plan).dump().size() > kMaxPlanBytes) return base::invalid("the plan is too long");
  return plan;
}

}  // namespace optile::daemon
