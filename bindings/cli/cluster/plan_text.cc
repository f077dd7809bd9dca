#include "bindings/cli/cluster/plan_text.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <vector>

#include "bindings/abi/api_fields.h"
#include "bindings/cli/cluster/cluster_question.h"
#include "bindings/cli/cluster/plan_words.h"

namespace optile::cli {
namespace {

constexpr const char* kNoJob =
    "no job has told a plan here: one that trains by optile.distributed does, from its rank 0 to "
    "the daemon of that machine; see docs/guide/cluster.md";

std::string percent(double part) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f %%", 100 * part);
  return text;
}

std::string times(double factor) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", factor);
  return text;
}

std::string notes(const Json& answer) {
  const std::string messages = messages_of(answer);
  return messages.empty() ? "" : "note  " + messages + "\n";
}

std::string names_of_jobs(const Json& plans) {
  std::string names;
  for (const Json& plan : plans) {
    names += (names.empty() ? "" : ", ") + shown_field(plan, field::kJob);
  }
  return names;
}

// Those of a job, or with no name all.
base::Result<Json> plans_of(const Json& answer, const std::string& job) {
  const Json plans = list_of(answer, field::kPlans);
  const std::string note = messages_of(answer);
  if (plans.empty()) {
    return base::Error{base::ErrorKind::kNotFound,
                       kNoJob + (note.empty() ? "" : ". Beside that: " + note)};
  }
  Json found = Json::array();
  for (const Json& plan : plans) {
    if (job.empty() || text_of(plan, field::kJob) == job) found.push_back(plan);
  }
  if (!found.empty()) return found;
  return base::Error{base::ErrorKind::kNotFound,
                     "no job is called " + job + " here; there is " + names_of_jobs(plans)};
}

// What came of a change, as the end of a sentence.
std::string outcome(const Json& change) {
  const std::string promised =
      "steps " + times(number_of(change, field::kPredicted)) + " times as fast";
  if (change.value(field::kMeasured, Json()).is_null()) {
    const std::string reason = shown_field(change, field::kReason);
    return promised + (reason.empty() ? "; it is being tried" : ": kept; " + reason);
  }
  if (!change.value(field::kKept, true)) {
    return promised + ": taken back; " + shown_field(change, field::kReason);
  }
  return promised + "; they were " + times(number_of(change, field::kMeasured)) + ": kept";
}

// "5 + 3 layers, 4 micro-batches", "12 + 18 units", "52.5 + 52.5 % of the weights" or
// "50.0 + 50.0 % of the rows".
std::string division_words(const Json& plan, const Json& division) {
  const bool counted = is_pipeline(plan) || is_placement(plan);
  std::string text;
  for (const double part : replica_of(plan, numbers_of(division, field::kParts), 0).parts) {
    char number[32];
    std::snprintf(number, sizeof number, counted ? "%.0f" : "%.1f", counted ? part : 100 * part);
    text += (text.empty() ? "" : " + ") + std::string(number);
  }
  if (is_placement(plan)) return text + " units";
  if (is_splits(plan)) return text + " % of the weights";
  if (!is_pipeline(plan)) return text + " % of the rows";
  return text + " layers, " + text_of(division, field::kMicroBatches) + " micro-batches";
}

// ", 2 replicas of 3 ranks", where there are several.
std::string replica_words(const Json& plan) {
  const std::size_t ranks = model_ranks(plan);
  if (ranks == 0 || ranks == list_of(plan, field::kRanks).size()) return "";
  return ", " + std::to_string(list_of(plan, field::kRanks).size() / ranks) + " replicas of " +
         std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks");
}

std::string kind_words(const Json& plan) {
  if (is_placement(plan)) return "placement of operators" + replica_words(plan);
  if (is_splits(plan)) return "splits of layers";
  if (!is_pipeline(plan)) return "shares of a batch";
  return "pipeline, " + shown_field(plan, field::kSchedule) + ", " +
         text_of(plan, field::kMicroBatches) + " micro-batches" + replica_words(plan);
}

// How far the cluster has agreed to the plan in force; "" where nobody is asked.
std::string publication_words(const Json& plan) {
  const std::string state = shown_field(plan, field::kPublication);
  const std::string reason = shown_field(plan, field::kPublicationReason);
  if (state == "accepted") return "etcd  published\n";
  if (state == "asked") return "etcd  not published yet\n";
  if (state == "unreachable") {
    return "etcd  unreachable: " + reason + "; this plan stays, and it is asked again\n";
  }
  return state == "refused" ? "etcd  refused: " + reason + "; this plan stays\n" : "";
}

std::string heading(const Json& plan) {
  std::string text = "job " + shown_field(plan, field::kJob) + ": " + kind_words(plan);
  const std::string generation = generation_words(plan);
  if (!generation.empty()) text += "; " + generation;
  char seen[32];
  std::snprintf(seen, sizeof seen, "%.1f s ago", number_of(plan, field::kSeenSeconds));
  text += "\nplan  number " + text_of(plan, field::kEpoch) + ", since step " +
          text_of(plan, field::kSinceStep) + "; told at step " + text_of(plan, field::kStep) +
          " by node " + shown_field(plan, field::kNode) + ", " + seen + "\n";
  const std::string choice = shown_field(plan, field::kChoice);
  if (!choice.empty()) text += "why   " + choice + "\n";
  text += publication_words(plan);
  return text + "step  predicted " + seconds_field(plan, field::kPredictedSeconds) + ", measured " +
         seconds_field(plan, field::kMeasuredSeconds) + "\n";
}

std::string rank_table(const Json& plan) {
  std::vector<std::vector<std::string>> rows = {
      {rank_word(plan), "node", "part", "computes", "busy", "whole"}};
  const std::vector<double> parts = parts_in_force(plan);
  const Json ranks = list_of(plan, field::kRanks);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const Json& rank = ranks[i];
    const bool measured = rank.value(field::kBusy, Json()).is_number();
    rows.push_back({std::to_string(i), shown_field(rank, field::kNode), part_words(plan, parts, i),
                    seconds_field(rank, field::kBusySeconds),
                    measured ? percent(number_of(rank, field::kBusy)) : "-",
                    seconds_field(rank, field::kWholeSeconds)});
  }
  return columns(rows);
}

// Layers from `begin` up to `end` by the rank that has them in `parts`: "4-5 to stage 1".
std::string layers_elsewhere(const ReplicaParts& replica, double begin, double end,
                             const char* way) {
  std::string text;
  double first = 0;
  for (std::size_t i = 0; i < replica.parts.size(); ++i) {
    const std::size_t rank = replica.first + i;
    const double from = std::max(begin, first);
    const double to = std::min(end, first + replica.parts[i]);
    first += replica.parts[i];
    if (from >= to) continue;
    char piece[96];
    if (to - from > 1) {
      std::snprintf(piece, sizeof piece, "%.0f-%.0f %s stage %zu", from, to - 1, way, rank);
    } else {
      std::snprintf(piece, sizeof piece, "%.0f %s stage %zu", from, way, rank);
    }
    text += (text.empty() ? "" : ", ") + std::string(piece);
  }
  return text;
}

struct Layers {
  double begin = 0;
  double end = 0;
};

Layers layers_at(const ReplicaParts& replica, std::size_t rank) {
  const std::vector<double>& parts = replica.parts;
  const std::size_t place = rank - replica.first;
  Layers layers;
  for (std::size_t i = 0; i < place && i < parts.size(); ++i) layers.begin += parts[i];
  layers.end = layers.begin + (place < parts.size() ? parts[place] : 0);
  return layers;
}

// The layers of `mine` that are not in `others`, by who has them in `elsewhere`.
std::string layers_without(const Layers& mine, const Layers& others, const ReplicaParts& elsewhere,
                           const char* way) {
  std::string text = layers_elsewhere(elsewhere, mine.begin, std::min(mine.end, others.begin), way);
  const std::string behind =
      layers_elsewhere(elsewhere, std::max(mine.begin, others.end), mine.end, way);
  if (!text.empty() && !behind.empty()) text += ", ";
  return text + behind;
}

std::string moved_words(const Json& plan, const std::vector<double>& before,
                        const std::vector<double>& after, std::size_t rank) {
  if (!is_pipeline(plan)) return "";
  const ReplicaParts parts_before = replica_of(plan, before, rank);
  const ReplicaParts parts_after = replica_of(plan, after, rank);
  const Layers was = layers_at(parts_before, rank);
  const Layers is = layers_at(parts_after, rank);
  const std::string went = layers_without(was, is, parts_after, "to");
  const std::string came = layers_without(is, was, parts_before, "from");
  if (went.empty() && came.empty()) return "  moved     none of its layers\n";
  return "  moved     layers " + went + (went.empty() || came.empty() ? "" : ", ") + came + "\n";
}

std::string measured_words(const Json& plan, const std::vector<double>& whole) {
  std::string text;
  const Json ranks = list_of(plan, field::kRanks);
  const std::vector<double> speeds = speeds_of(whole);
  for (std::size_t i = 0; i < ranks.size() && i < whole.size(); ++i) {
    text += (text.empty() ? "" : ", ") + shown_field(ranks[i], field::kNode) + " took " +
            (whole[i] > 0 ? seconds_words(whole[i]) : "-") +
            (speeds[i] > 0 && speeds[i] < kSlowSpeed ? " (slow)" : "");
  }
  return text;
}

std::string change_words(const Json& plan, const Json& change, std::size_t rank) {
  const Json before = change.value(field::kBefore, Json::object());
  const Json after = change.value(field::kAfter, Json::object());
  const std::vector<double> was = numbers_of(before, field::kParts);
  const std::vector<double> is = numbers_of(after, field::kParts);
  std::string text = "behind step " + text_of(change, field::kStep) + ": " +
                     part_words(plan, was, rank) + " became " + part_words(plan, is, rank) + "\n";
  text += "  before    " + division_words(plan, before) + "\n";
  text += "  tried     " + division_words(plan, after) + "\n";
  text += moved_words(plan, was, is, rank);
  text += "  because   for all the work alone " +
          measured_words(plan, numbers_of(change, field::kWholeSeconds)) + "\n";
  return text + "  promised  " + outcome(change) + "\n";
}

const char* first_reason(const Json& plan) {
  if (is_placement(plan)) {
    return "at the start: as given, or as `optile place` found it for what a warm-up of each unit "
           "measured\n";
  }
  if (is_splits(plan)) {
    return "at the start: as given, or as `optile place strategy` found them for what each layer "
           "was measured to take under each split; they stay\n";
  }
  return is_pipeline(plan)
             ? "at the start: boundaries as given, or of the shortest step, as a warm-up of each "
               "layer simulates it\n"
             : "at the start: equal shares\n";
}

std::string stages_of(const Json& plan) {
  std::string text;
  const Json ranks = list_of(plan, field::kRanks);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    text += (text.empty() ? "" : ", ") + std::to_string(i) + " (" +
            shown_field(ranks[i], field::kNode) + ")";
  }
  return text;
}

// By its number, else by its node.
base::Result<std::size_t> find_stage(const Json& plan, const std::string& stage) {
  const Json ranks = list_of(plan, field::kRanks);
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (stage == std::to_string(i)) return i;
    if (text_of(ranks[i], field::kNode) == stage) found.push_back(i);
  }
  if (found.size() == 1) return found.front();
  const std::string word = rank_word(plan);
  const std::string known = "job " + shown_field(plan, field::kJob) + " has " + stages_of(plan);
  if (found.empty()) {
    return base::Error{base::ErrorKind::kNotFound,
                       "there is no " + word + " " + stage + "; " + known};
  }
  return base::invalid("node " + stage + " runs several; say a number: " + known);
}

}  // namespace

base::Result<std::string> plan_text(const Json& answer, const std::string& job) {
  const base::Result<Json> plans = plans_of(answer, job);
  if (!plans.ok()) return plans.error();
  std::string text;
  for (const Json& plan : plans.value()) {
    text += (text.empty() ? "" : "\n") + heading(plan) + rank_table(plan);
    for (const Json& change : list_of(plan, field::kChanges)) {
      text += "tried behind step " + text_of(change, field::kStep) + ": " +
              division_words(plan, change.value(field::kAfter, Json::object())) + "\n  promised " +
              outcome(change) + "\n";
    }
  }
  return text + notes(answer);
}

base::Result<Json> stage_json(const Json& answer, const std::string& job,
                              const std::string& stage) {
  const base::Result<Json> plans = plans_of(answer, job);
  if (!plans.ok()) return plans.error();
  if (plans.value().size() > 1) {
    return base::invalid("there are several jobs: say --job, one of " +
                         names_of_jobs(plans.value()));
  }
  const Json& plan = plans.value().front();
  const base::Result<std::size_t> found = find_stage(plan, stage);
  if (!found.ok()) return found.error();
  return Json{{field::kRank, found.value()},
              {field::kPlan, plan},
              {field::kMessages, list_of(answer, field::kMessages)}};
}

base::Result<std::string> explanation_of_stage(const Json& answer, const std::string& job,
                                               const std::string& stage) {
  const base::Result<Json> found = stage_json(answer, job, stage);
  if (!found.ok()) return found.error();
  const Json& plan = found.value().at(field::kPlan);
  const auto rank = found.value().at(field::kRank).get<std::size_t>();
  const Json ranks = list_of(plan, field::kRanks);
  std::vector<double> whole;
  for (const Json& one : ranks) whole.push_back(number_of(one, field::kWholeSeconds));
  std::string text = "job " + shown_field(plan, field::kJob) + ", " + rank_word(plan) + " " +
                     std::to_string(rank) + " on node " + shown_field(ranks[rank], field::kNode) +
                     ": " + part_words(plan, parts_in_force(plan), rank) + ", since step " +
                     text_of(plan, field::kSinceStep) + "\n";
  text += "it computes " + seconds_field(ranks[rank], field::kBusySeconds) + " in a step of " +
          seconds_field(plan, field::kMeasuredSeconds) + "\n";
  text += "lately, for all the work alone, " + measured_words(plan, whole) + "\n";
  text += first_reason(plan);
  const Json changes = list_of(plan, field::kChanges);
  for (const Json& change : changes) text += change_words(plan, change, rank);
  if (changes.empty() && !is_splits(plan)) {
    text += "since then no other plan has promised enough to be tried\n";
  }
  return text + notes(answer);
}

std::string node_table(const Json& cluster, const Json& plans) {
  std::vector<std::vector<std::string>> rows = {
      {"node", "job", "rank", "part", "step", "busy", "speed", ""}};
  std::set<std::string> members;
  for (const Json& node : list_of(cluster, field::kNodes)) {
    members.insert(shown_field(node, field::kName));
  }
  std::set<std::string> idle = members;
  for (const Json& plan : list_of(plans, field::kPlans)) {
    const Json ranks = list_of(plan, field::kRanks);
    std::vector<double> whole;
    for (const Json& rank : ranks) whole.push_back(number_of(rank, field::kWholeSeconds));
    const std::vector<double> speeds = speeds_of(whole);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const std::string node = shown_field(ranks[i], field::kNode);
      idle.erase(node);
      const bool slow = speeds[i] > 0 && speeds[i] < kSlowSpeed;
      const bool gone = !members.empty() && !members.contains(node);
      rows.push_back({node, shown_field(plan, field::kJob), std::to_string(i),
                      part_words(plan, parts_in_force(plan), i),
                      seconds_field(plan, field::kMeasuredSeconds),
                      ranks[i].value(field::kBusy, Json()).is_number()
                          ? percent(number_of(ranks[i], field::kBusy))
                          : "-",
                      speeds[i] > 0 ? times(speeds[i]) : "-",
                      std::string(slow ? "slow" : "") + (slow && gone ? ", " : "") +
                          (gone ? "no member" : "")});
    }
  }
  for (const std::string& node : idle) rows.push_back({node, "-", "-", "-", "-", "-", "-", ""});
  std::sort(rows.begin() + 1, rows.end(),
            [](const auto& a, const auto& b) { return a.front() < b.front(); });
  return columns(rows) + generation_lines(plans) + notes(plans);
}

}  // namespace optile::cli
