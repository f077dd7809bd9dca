#include "bindings/cli/cluster/plan_words.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "bindings/abi/api_fields.h"
#include "bindings/cli/top/shown_text.h"

namespace optile::cli {
namespace {

std::string formatted(const char* format, double number) {
  char text[64];
  std::snprintf(text, sizeof text, format, number);
  return text;
}

}  // namespace

std::string shown_field(const Json& object, const char* key) {
  return shown(text_of(object, key), false);
}

std::string seconds_words(double seconds) {
  if (seconds >= 1) return formatted("%.2f s", seconds);
  return seconds >= 1e-3 ? formatted("%.1f ms", seconds * 1e3)
                         : formatted("%.0f us", seconds * 1e6);
}

std::string seconds_field(const Json& object, const char* key) {
  const Json value = object.value(key, Json());
  return value.is_number() ? seconds_words(value.get<double>()) : "-";
}

bool is_pipeline(const Json& plan) {
  return text_of(plan, field::kKind) == "pipeline";
}

bool is_placement(const Json& plan) {
  return text_of(plan, field::kKind) == "placement";
}

bool is_splits(const Json& plan) {
  return text_of(plan, field::kKind) == "splits";
}

std::string generation_words(const Json& plan) {
  const double generation = number_of(plan, field::kGeneration);
  if (generation < 1) return "";
  std::string lost;
  for (const Json& node : list_of(plan, field::kLostNodes)) {
    if (node.is_string())
      lost += (lost.empty() ? "" : ", ") + shown(node.get<std::string>(), false);
  }
  return formatted("generation %.0f", generation) + (lost.empty() ? "" : ", without " + lost);
}

std::string generation_lines(const Json& plans) {
  std::string text;
  for (const Json& plan : list_of(plans, field::kPlans)) {
    const std::string words = generation_words(plan);
    if (!words.empty()) text += "job " + shown_field(plan, field::kJob) + ": " + words + "\n";
  }
  return text;
}

const char* rank_word(const Json& plan) {
  return is_pipeline(plan) ? "stage" : "rank";
}

std::size_t model_ranks(const Json& plan) {
  const std::size_t ranks = list_of(plan, field::kRanks).size();
  const double replicas = number_of(plan, field::kReplicas);
  if (replicas < 1 || replicas > static_cast<double>(ranks)) return ranks;
  return ranks / static_cast<std::size_t>(replicas);
}

ReplicaParts replica_of(const Json& plan, const std::vector<double>& parts, std::size_t rank) {
  const std::size_t ranks = std::max<std::size_t>(1, model_ranks(plan));
  ReplicaParts replica;
  replica.first = rank - rank % ranks;
  for (std::size_t i = replica.first; i < std::min(parts.size(), replica.first + ranks); ++i) {
    replica.parts.push_back(parts[i]);
  }
  return replica;
}

std::vector<double> numbers_of(const Json& object, const char* key) {
  std::vector<double> numbers;
  for (const Json& one : list_of(object, key)) {
    numbers.push_back(one.is_number() ? one.get<double>() : 0);
  }
  return numbers;
}

std::vector<double> parts_in_force(const Json& plan) {
  std::vector<double> parts;
  for (const Json& rank : list_of(plan, field::kRanks)) {
    parts.push_back(number_of(rank, field::kPart));
  }
  return parts;
}

std::string part_words(const Json& plan, const std::vector<double>& parts, std::size_t rank) {
  if (rank >= parts.size()) return "-";
  const ReplicaParts replica = replica_of(plan, parts, rank);
  if (is_placement(plan)) {
    const double units = std::accumulate(replica.parts.begin(), replica.parts.end(), 0.0);
    return formatted("%.0f of ", parts[rank]) + formatted("%.0f units", units);
  }
  if (is_splits(plan)) return formatted("%.1f %% of the weights", 100 * parts[rank]);
  if (!is_pipeline(plan)) return formatted("%.1f %% of the rows", 100 * parts[rank]);
  double first = 0;
  for (std::size_t i = replica.first; i < rank; ++i) first += parts[i];
  const double last = first + parts[rank] - 1;
  if (last <= first) return formatted("layer %.0f", first);
  return formatted("layers %.0f-", first) + formatted("%.0f", last);
}

std::vector<double> speeds_of(const std::vector<double>& whole_seconds) {
  double fastest = 0;
  for (const double seconds : whole_seconds) {
    if (seconds > 0 && (fastest == 0 || seconds < fastest)) fastest = seconds;
  }
  std::vector<double> speeds;
  speeds.reserve(whole_seconds.size());
  for (const double seconds : whole_seconds) {
    speeds.push_back(seconds > 0 ? fastest / seconds : 0);
  }
  return speeds;
}

std::string columns(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const std::vector<std::string>& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += (i == 0 ? "" : "  ") + row[i] + std::string(widths[i] - row[i].size(), ' ');
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace optile::cli
