// What a job tells of itself: by which plan its ranks divide the work, what a step takes, and which
// other plans were tried. Only shown, never acted on. It comes from programs and from other nodes:
// nothing of it is believed before read_job_plan() has been through it. Pure; any thread.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace optile::daemon {

inline constexpr std::size_t kMaxPlanBytes = std::size_t{64} << 10;  // as text
inline constexpr std::size_t kMaxPlanRanks = 100;
inline constexpr std::size_t kMaxPlanChanges = 8;  // the latest ones
inline constexpr std::size_t kMaxPlanReason = 256;

enum class PlanKind {
  kShares,     // each rank computes a part of the batch's rows
  kPipeline,   // each rank runs some of the layers
  kPlacement,  // each rank runs some of the units of operators
  kSplits      // each rank computes a part of every layer
};

struct PlanRank {
  std::string node;
  double part = 0;  // how many layers, or units; else the share of the rows or weights, 0 to 1
  // As the last steps measured it; nothing before the first measurement.
  std::optional<double> busy_seconds;   // it computes so long in a step
  std::optional<double> busy;           // 0 to 1: that, of what the job waits for
  std::optional<double> whole_seconds;  // it would take so long for what all ranks do
};

struct PlanDivision {
  std::vector<double> parts;  // of each rank, as above
  int micro_batches = 0;      // 0: not a pipeline
};

struct PlanChange {
  int64_t step = 0;  // behind which it was tried
  PlanDivision before;
  PlanDivision after;
  std::vector<double> whole_seconds;  // of each rank, then
  double predicted = 1;               // how many times as fast
  std::optional<double> measured;     // nothing: it is being tried
  bool kept = true;
  std::string reason;  // why it was taken back
};

// Of the model, each on as many ranks; the first ranks run the first one.
struct PlanReplicas {
  int count = 1;
  std::string choice;  // why so many ranks run one model; "": nobody chose
};

// Of a job that outlives its nodes.
struct PlanGeneration {
  int64_t number = 0;                   // how often they have agreed; 0: it is no such job
  std::vector<std::string> lost_nodes;  // just before
};

// How far the cluster has agreed to the plan in force.
struct PlanPublication {
  // "none" (the job decides alone), "asked", "accepted", "refused", "unreachable"; "": the program
  // does not tell it.
  std::string state;
  std::string reason;
};

struct JobPlan {
  std::string job;
  std::string run;    // another one at every start of the job
  int64_t epoch = 1;  // raised by each change of the plan
  int64_t step = 0;   // when this was told; within an epoch it only grows
  int64_t since_step = 0;
  PlanKind kind = PlanKind::kShares;
  std::string schedule;  // of a pipeline
  int micro_batches = 0;
  PlanReplicas replicas;
  PlanGeneration generation;
  PlanPublication publication;
  std::optional<double> predicted_seconds;  // of a step
  std::optional<double> measured_seconds;
  std::vector<PlanRank> ranks;
  std::vector<PlanChange> changes;  // the oldest first

  // Of two plans of one run the one that is told later has the higher one.
  std::pair<int64_t, int64_t> version() const { return {epoch, step}; }
};

nlohmann::json to_json(const JobPlan& plan);
// kInvalid: a field is missing, of another kind, too long or out of range; kUnavailable: fields
// contradict each other. The message says which.
base::Result<JobPlan> read_job_plan(const nlohmann::json& json);

}  // namespace optile::daemon
