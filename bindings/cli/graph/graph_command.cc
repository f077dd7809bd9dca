#include "bindings/cli/graph/graph_command.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>

#include "bindings/abi/api_fields.h"
#include "bindings/abi/layout.h"
#include "bindings/cli/cluster/cluster_question.h"
#include "bindings/cli/graph/step_assembly.h"
#include "bindings/cli/support/http_client.h"
#include "bindings/cli/support/output_file.h"
#include "perfmodel/synthetic/step_graph_json.h"

namespace optile::cli {
namespace {

constexpr std::size_t kLongestShape = OPTILE_SHAPE_BYTES - 1;
constexpr const char* kUnknownList = "0 x ";

std::string trimmed(std::string text) {
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

bool is_shape(const std::string& known, const std::string& shape) {
  if (trimmed(known) == trimmed(shape)) return true;
  return known.size() + 1 >= kLongestShape && shape.starts_with(trimmed(known));
}

// What the daemon has sampled of an op, by width; of one that ran at one width alone its time
// there.
SecondsByWidth seconds_of(const Json& row, const Json& explanation) {
  SecondsByWidth seconds;
  for (const Json& point : list_of(explanation, field::kCurve)) {
    if (text_of(point, field::kKind) != "sampled") continue;
    const double median = number_of(point, field::kMedianNs) / 1e9;
    const int width = static_cast<int>(number_of(point, field::kWidth));
    if (median <= 0 || width < 1) continue;
    const auto [found, added] = seconds.try_emplace(width, median);
    if (!added) found->second = std::min(found->second, median);  // bound otherwise
  }
  const double each =
      number_of(row, field::kSeconds) / std::max(1.0, number_of(row, field::kPerStep));
  if (seconds.empty() && each > 0) {
    seconds[std::max(1, static_cast<int>(number_of(row, field::kWidth)))] = each;
  }
  return seconds;
}

// The ops of a run, asked of the daemon: each once.
class ProfiledOps {
 public:
  ProfiledOps(std::string socket, const std::string& client)
      : socket_(std::move(socket)),
        query_(client.empty() ? "" : "?client=" + path_component(client)) {}

  base::Status read() {
    base::Result<Json> answer = ask_about_cluster(socket_, "GET", ("/v1/ops" + query_).c_str());
    if (!answer.ok()) return answer.error();
    rows_ = list_of(answer.value(), field::kOps);
    if (rows_.empty()) {
      return base::Error{base::ErrorKind::kNotFound,
                         "the daemon remembers no ops of that run; see optile status"};
    }
    return {};
  }

  // The widest that any op ran at.
  int cores() const {
    double widest = 1;
    for (const Json& row : rows_) {
      widest =
          std::max({widest, number_of(row, field::kWidth), number_of(row, field::kDefaultWidth)});
    }
    return static_cast<int>(widest);
  }

  std::optional<SecondsByWidth> seconds(const std::string& op, const std::string& shape,
                                        bool backward) {
    const Json row = find_op(rows_, op, shape, backward);
    if (row.is_null()) return std::nullopt;
    const std::string id = text_of(row, field::kId);
    const auto known = asked_.find(id);
    if (known != asked_.end()) return known->second;
    const std::string target = "/v1/ops/" + path_component(id) + "/explain" + query_;
    const base::Result<Json> answer = ask_about_cluster(socket_, "GET", target.c_str());
    Json explanation = Json::object();
    if (answer.ok()) {
      for (const Json& one : list_of(answer.value(), field::kExplanations)) {
        if (text_of(one, field::kId) == id) explanation = one;
      }
    }
    SecondsByWidth found = seconds_of(row, explanation);
    if (found.empty()) return asked_[id] = std::nullopt;
    return asked_[id] = std::move(found);
  }

 private:
  std::string socket_;
  std::string query_;
  Json rows_;
  std::map<std::string, std::optional<SecondsByWidth>> asked_;
};

}  // namespace

Json find_op(const Json& rows, const std::string& op, const std::string& shape, bool backward) {
  Json found;
  const bool any_shape = shape.find(kUnknownList) != std::string::npos;
  std::map<std::string, int> shapes;
  for (const Json& row : rows) {
    if (text_of(row, field::kName) != op ||
        (text_of(row, field::kDirection) == "backward") != backward) {
      continue;
    }
    const std::string known = text_of(row, field::kShape);
    if (!any_shape && !is_shape(known, shape)) continue;
    ++shapes[known];
    if (found.is_null() ||
        number_of(row, field::kExecutions) > number_of(found, field::kExecutions)) {
      found = row;
    }
  }
  return shapes.size() == 1 ? found : Json();
}

int write_graph(const Options& options) try {
  const GraphOptions& graph = options.graph;
  base::Status good = may_be_written(graph.output);
  if (!good.ok()) return report_failure(good.message());
  std::ifstream file(graph.model, std::ios::binary);
  if (!file) return report_failure(base::errno_error("cannot open " + graph.model, errno).message);
  const Json model = Json::parse(file, nullptr, false);
  ProfiledOps ops(socket_of(options), options.query.client);
  good = ops.read();
  if (!good.ok()) return report_failure(good.message());
  const base::Result<AssembledStep> step = assemble_step(
      model,
      [&](const std::string& op, const std::string& shape, bool backward) {
        return ops.seconds(op, shape, backward);
      },
      ops.cores());
  if (!step.ok()) return report_failure(graph.model + ": " + step.message());
  good = write_output(graph.output, perfmodel::step_graph_text(step.value().graph));
  if (!good.ok()) return report_failure(good.message());
  const AssembledStep& made = step.value();
  std::printf("%s: %zu ops of a step; %zu of them, %.0f %% of its time, as the run measured them",
              graph.output.c_str(), made.ops, made.matched,
              made.seconds > 0 ? 100 * made.matched_seconds / made.seconds : 0);
  if (made.matched < made.ops) std::printf("; %zu as estimated", made.ops - made.matched);
  std::printf("\n");
  return 0;
} catch (const Json::exception&) {  // a field of another kind than ours
  return report_failure(
      "the daemon's answer cannot be read; it may be of another version: optile stop");
}

}  // namespace optile::cli
