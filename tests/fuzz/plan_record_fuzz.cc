// The plan of a job, as a program tells it to its daemon and as it stands in etcd.
#include "daemon/cluster/local_plans.h"
#include "tests/daemon/cluster/plan_samples.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace optile::daemon;
  using optile::fuzz::require;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const optile::base::Result<PlanRecord> record = read_plan_record(text);
  if (!record.ok()) {
    require(!record.message().empty(), "a refusal says why");
    return 0;
  }
  if (record.value().protocol != kClusterProtocol) return 0;  // nothing else is read of it
  const JobPlan& plan = record.value().plan;
  require(is_cluster_name(record.value().node) && is_cluster_name(plan.job), "names are names");
  require(plan.ranks.size() <= kMaxPlanRanks && plan.changes.size() <= kMaxPlanChanges,
          "lists are limited");
  for (const std::string& one : {plan.replicas.choice, plan.schedule}) {
    require(one == printable(one), "texts are printable");
  }
  const std::string again = to_text(record.value());
  const optile::base::Result<PlanRecord> read_again = read_plan_record(again);
  require(read_again.ok(), "what is put into etcd can be read there");
  require(to_text(read_again.value()) == again, "and is the same");
  LocalPlans plans;
  static_cast<void>(plans.take(plan, {1, 1}, std::chrono::nanoseconds(1)));
  require(plans.all().size() <= 1, "a job has one plan");
  return 0;
}

std::vector<std::string> optile::fuzz::seeds() {
  using namespace optile::daemon;
  std::vector<std::string> seeds;
  JobPlan elastic = pipeline_plan("train", 2, 9);
  elastic.generation = {2, {"node2"}};
  for (const JobPlan& plan : {elastic, shares_plan("train", 1, 10), placement_plan("train", 2, 20),
                              hybrid_plan("train", 1, 10), splits_plan("train", 1, 30)}) {
    seeds.push_back(to_text(PlanRecord{kClusterProtocol, "i0", "n0", 1000, plan}));
  }
  return seeds;
}
