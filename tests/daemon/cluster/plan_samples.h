// Plans as jobs tell them.
#pragma once

#include <string>

#include "daemon/cluster/job_plan.h"

namespace optile::daemon {

inline JobPlan pipeline_plan(const std::string& job, int64_t epoch, int64_t step) {
  JobPlan plan;
  plan.job = job;
  plan.run = "run-of-" + job;
  plan.epoch = epoch;
  plan.step = step;
  plan.kind = PlanKind::kPipeline;
  plan.schedule = "1f1b";
  plan.micro_batches = 4;
  plan.predicted_seconds = 0.0121;
  plan.measured_seconds = 0.0126;
  plan.ranks = {{"node0", 6, 0.0101, 0.8, 0.016}, {"node1", 2, 0.0098, 0.78, 0.04}};
  PlanChange change;
  change.step = 30;
  change.before = {{4, 4}, 4};
  change.after = {{6, 2}, 4};
  change.whole_seconds = {0.016, 0.04};
  change.predicted = 1.3;
  change.measured = 1.28;
  plan.changes = {change};
  return plan;
}

inline JobPlan hybrid_plan(const std::string& job, int64_t epoch, int64_t step) {
  JobPlan plan = pipeline_plan(job, epoch, step);
  plan.replicas.count = 2;
  plan.replicas.choice = "2 ranks run a model 1.31 times as fast as one (measured)";
  plan.ranks.insert(plan.ranks.end(), {plan.ranks[0], plan.ranks[1]});
  PlanChange& change = plan.changes.front();
  for (std::vector<double>* of_ranks :
       {&change.before.parts, &change.after.parts, &change.whole_seconds}) {
    of_ranks->insert(of_ranks->end(), {of_ranks->at(0), of_ranks->at(1)});
  }
  return plan;
}

inline JobPlan shares_plan(const std::string& job, int64_t epoch, int64_t step) {
  JobPlan plan;
  plan.job = job;
  plan.run = "run-of-" + job;
  plan.epoch = epoch;
  plan.step = step;
  plan.ranks = {{"node0", 0.5, {}, {}, {}}, {"node1", 0.5, {}, {}, {}}};
  return plan;
}

inline JobPlan placement_plan(const std::string& job, int64_t epoch, int64_t step) {
  JobPlan plan = shares_plan(job, epoch, step);
  plan.kind = PlanKind::kPlacement;
  plan.ranks = {{"node0", 16, 0.1, 0.8, 0.2}, {"node1", 0, 0.0, 0.0, 1.1}};
  PlanChange change;
  change.step = 5;
  change.before = {{8, 8}, 0};
  change.after = {{16, 0}, 0};
  change.whole_seconds = {0.2, 1.1};
  change.predicted = 2.5;
  plan.changes = {change};
  return plan;
}

inline JobPlan splits_plan(const std::string& job, int64_t epoch, int64_t step) {
  JobPlan plan = shares_plan(job, epoch, step);
  plan.kind = PlanKind::kSplits;
  plan.ranks = {{"node0", 1, 0.1, 0.8, 0.2}, {"node1", 1, 0.1, 0.8, 0.2}};
  return plan;
}

}  // namespace optile::daemon
