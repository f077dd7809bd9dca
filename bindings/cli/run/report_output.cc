#include "bindings/cli/run/report_output.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/result.h"
#include "bindings/cli/run/unseen_program.h"
#include "bindings/cli/support/http_client.h"
#include "bindings/cli/support/output_file.h"
#include "bindings/cli/support/shell_word.h"

namespace optile::cli {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kReportPatience(5000);
constexpr milliseconds kPause(20);
constexpr std::size_t kRows = 12;

std::string format(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

// Of a program that nothing is known about, because it never attached or the daemon is gone. Who
// reads reports finds every field that they can count on.
Json empty_report(const LaunchDecision& decision) {
  return {{"state", "unknown"},
          {"run_id", decision.run_id},
          {"steps", 0},
          {"unwatched_steps", 0},
          {"step_seconds", {{"baseline", nullptr}, {"tuned", nullptr}, {"present", nullptr}}},
          {"baseline_kind", nullptr},
          {"speedup", nullptr},
          {"factors", Json::object()},
          {"disturbed", Json::array()},
          {"incomparable", nullptr},
          {"samples", 0},
          {"sampled_steps", 0},
          {"overhead_ratio", 0.0},
          {"coverage", {{"observed", nullptr}, {"steered", nullptr}}},
          {"plan_replayed", false},
          {"ops", Json::array()},
          {"counters", "none"},
          {"counter_reason", nullptr},
          {"blas", nullptr},
          {"blas_beside", Json::array()},
          {"openmp_runtime", nullptr},
          {"wait_policy", nullptr},
          {"fallbacks", Json::array()}};
}

std::string state_of(const Json& report) {
  const Json state = report.value("state", Json());
  return state.is_string() ? state.get<std::string>() : "unknown";
}

struct FetchedReport {
  Json report;
  bool answered = false;
};

// The daemon hears of the program's end a moment after we do.
FetchedReport fetch_report(const LaunchDecision& decision) {
  const auto end = steady_clock::now() + kReportPatience;
  FetchedReport fetched{empty_report(decision)};
  if (decision.shim.empty()) return fetched;  // it could not attach
  while (steady_clock::now() < end) {
    const auto answer = ask_daemon(
        decision.socket, "GET", "/v1/runs/" + decision.run_id + "/report", "", milliseconds(1000));
    const bool nobody = !answer.ok() && answer.error().kind == base::ErrorKind::kNotFound;
    if (nobody && !decision.daemon_starts) break;
    if (answer.ok()) {
      fetched.answered = true;
      Json parsed = Json::parse(answer.value().body, nullptr, false);
      if (parsed.is_object()) fetched.report.update(parsed);
      // A program that never opened a region never attached: nothing will come.
      if (state_of(fetched.report) != "running") break;
    }
    std::this_thread::sleep_for(kPause);
  }
  return fetched;
}

// "4.00  [3.80, 4.21], n = 20 and 50": a factor of the report, the one way in which any is printed;
// "" where the report has none of that name.
std::string factor_text(const Json& report, const char* name) {
  const Json factor = report.value("factors", Json::object()).value(name, Json());
  if (!factor.is_object()) return "";
  const double low = factor.value("low", 0.0);
  const double high = factor.value("high", 0.0);
  return format("%.2f", factor.value("value", 0.0)) + "  [" + format("%.2f", low) + ", " +
         format("%.2f", high) +
         "], n = " + std::to_string(factor.value("steps_before", uint64_t{0})) + " and " +
         std::to_string(factor.value("steps_after", uint64_t{0})) +
         (low < 1 && high > 1 ? ": no settled difference" : "") +
         (factor.value("disturbed", Json::array()).empty() ? "" : ", disturbed");
}

std::string milliseconds_a_step(const Json& seconds) {
  return format("%9.2f ms a step", seconds.get<double>() * 1e3);
}

// Why there is no factor, and what to type to have one.
std::string why_no_factor(const Json& report, const std::string& command) {
  const std::string type = "; type: optile baseline -- " + command;
  const Json incomparable = report.value("incomparable", Json());
  if (incomparable.is_string()) return incomparable.get<std::string>() + type;
  if (report.value("baseline_run", false)) return "this is the untouched run";
  const std::string mode = report.value("mode", std::string("tune"));
  if (mode != "tune" && mode != "freeze") return "nothing is changed in this mode (" + mode + ")";
  if (report.value("baseline_kind", Json()) == "separate_run") return "no step was run tuned";
  return "nothing to compare with" + type;
}

void add_steps(const Json& report, const std::string& command, std::string& out) {
  const Json step = report.value("step_seconds", Json::object());
  const Json tuned = step.value("tuned", Json());
  const Json baseline = step.value("baseline", Json());
  const Json present = step.value("present", Json());
  // Controls run under the launch plan, which an untouched run does not have.
  const bool control = report.value("baseline_kind", Json()) == "control";
  if (baseline.is_number()) {
    out += (control ? "  default widths     " : "  untouched      ") +
           milliseconds_a_step(baseline) + "  (" +
           (control ? "control steps inside this run" : "a run of its own") + ")\n";
  }
  if (tuned.is_number()) {
    out += "  tuned          " + milliseconds_a_step(tuned) + "\n";
  } else if (present.is_number() && !control) {
    out += "  under optile   " + milliseconds_a_step(present) + "  (it has no width to tune)\n";
  }
  const std::string factor = factor_text(report, "speedup");
  out += factor.empty() ? "  times faster   not measured: " + why_no_factor(report, command) + "\n"
                        : "  times faster        " + factor + "\n";
  for (const Json& one : report.value("disturbed", Json::array())) {
    if (one.is_string()) out += "  disturbed      " + one.get<std::string>() + "\n";
  }
}

void add_parts(const Json& report, std::string& out) {
  const std::pair<const char*, const char*> names[] = {{"launch_plan", "launch plan"},
                                                       {"blas_pool", "BLAS pool"},
                                                       {"uniform_width", "one best width"},
                                                       {"width_per_op", "width per op"}};
  for (const auto& [key, text] : names) {
    const std::string factor = factor_text(report, key);
    if (factor.empty()) continue;
    out += "    by " + std::string(text) + std::string(18 - std::string(text).size(), ' ') +
           factor + "\n";
  }
}

// 0 where it is not known.
int width_of(const Json& op, const char* key) {
  const Json width = op.value(key, Json());
  return width.is_number_integer() ? width.get<int>() : 0;
}

void add_ops(const Json& report, std::string& out) {
  std::vector<Json> changed;
  const Json ops = report.value("ops", Json::array());
  for (const Json& op : ops) {
    if (width_of(op, "width") != width_of(op, "default_width")) changed.push_back(op);
  }
  if (changed.empty()) {
    out += "  no op runs at another width than the program's own\n";
    return;
  }
  const auto seconds = [](const Json& op) { return op.value("seconds", 0.0); };
  std::sort(changed.begin(), changed.end(),
            [&](const Json& a, const Json& b) { return seconds(a) > seconds(b); });
  out +=
      "  ops at another width than the program's own (" + std::to_string(changed.size()) + "):\n";
  for (std::size_t i = 0; i < changed.size() && i < kRows; ++i) {
    const Json& op = changed[i];
    std::string name = op.value("name", "");
    name.resize(std::max<std::size_t>(name.size(), 28), ' ');
    out += "    " + name + " width " + std::to_string(width_of(op, "width")) + "  " +
           op.value("reason", "") + "\n";
  }
}

void add_sharing(const Json& report, std::string& out) {
  const Json sharing = report.value("sharing", Json::object());
  const int threads = sharing.value("issuing_threads", 0);
  if (threads < 2) return;
  out += "  threads        " + std::to_string(threads) + " issued ops, " +
         std::to_string(sharing.value("most_in_ops", 0)) + " at the same moment";
  const Json cores = sharing.value("shared_cores", Json());
  if (cores.is_number_integer()) {
    out += "; they share " + std::to_string(cores.get<int>()) + " cores, which narrowed " +
           std::to_string(sharing.value("narrowed_ops", uint64_t{0})) + " executions";
  }
  out += "\n";
}

// "openblas (beside it libopenblas64_-1.so, 2 more)"
std::string blas_of(const Json& report) {
  std::string text = report.value("blas", std::string("unknown"));
  std::string beside;
  for (const Json& name : report.value("blas_beside", Json::array())) {
    if (name.is_string()) beside += (beside.empty() ? "" : ", ") + name.get<std::string>();
  }
  return beside.empty() ? text : text + " (beside it " + beside + ")";
}

std::string table_of(const Json& report, const std::string& command) {
  std::string out = "optile: " + report.value("program", "the program") + ", " +
                    std::to_string(report.value("steps", 0)) + " steps\n";
  add_steps(report, command, out);
  add_parts(report, out);
  const Json coverage = report.value("coverage", Json::object());
  const auto percent = [&](const char* key) {
    const Json value = coverage.value(key, Json());
    return value.is_number() ? format("%.1f %%", value.get<double>() * 100)
                             : std::string("unknown");
  };
  out += "  coverage       " + percent("observed") + " of a step observed, " + percent("steered") +
         " steerable\n";
  out +=
      "  sampled steps  " + std::to_string(report.value("sampled_steps", 0)) +
      (report.value("plan_replayed", false) ? "  (the plan of an earlier run was used)\n" : "\n");
  out += "  BLAS " + blas_of(report) + ", OpenMP " +
         report.value("openmp_runtime", std::string("unknown")) + ", launch plan " +
         report.value("launch_plan", std::string("none")) + "\n";
  const Json reason = report.value("counter_reason", Json());
  out += "  counters " + report.value("counters", std::string("none")) +
         (reason.is_string() ? "; " + reason.get<std::string>() : "") + "\n";
  add_sharing(report, out);
  const std::string decision = report.value("decision", "");
  if (!decision.empty()) out += "  " + decision + "\n";
  add_ops(report, out);
  const Json guard = report.value("guard", Json::object());
  for (const Json& one : guard.value("rollbacks", Json::array())) {
    out += "  rolled back in step " + std::to_string(one.value("step", 0)) + ": " +
           one.value("what", "") + ": " + one.value("reason", "") + "\n";
  }
  const Json fallbacks = report.value("fallbacks", Json::array());
  for (const Json& fallback : fallbacks) {
    if (fallback.is_string()) out += "  note: " + fallback.get<std::string>() + "\n";
  }
  return out;
}

}  // namespace

std::string summary_table(const std::string& text, const std::string& command) {
  const Json report = Json::parse(text, nullptr, false);
  if (!report.is_object() || state_of(report) == "unknown") return unseen_program_text({});
  try {
    return table_of(report, command);
  } catch (const Json::exception&) {  // a field of another kind than ours
    return "optile: the report cannot be read; the daemon may be of another version: optile stop\n";
  }
}

std::string report_of(const LaunchDecision& decision) {
  return fetch_report(decision).report.dump();
}

void write_outputs(const Options& options, const LaunchDecision& decision) {
  const FetchedReport fetched = fetch_report(decision);
  const Json& report = fetched.report;
  const std::string text = report.dump(2) + "\n";
  const bool unseen = state_of(report) == "unknown";
  if (!options.run.report.empty()) {
    const base::Status written = write_output(options.run.report, text);
    if (!written.ok()) std::cerr << "optile: the report " << written.message() << "\n";
    if (unseen) std::cerr << "optile: the program never attached, so its report is empty\n";
  }
  if (!options.run.summary) return;
  std::cerr << (unseen ? unseen_program_text(
                             {decision.unseen, fetched.answered, unseen_framework(options.command)})
                       : summary_table(text, shell_command(options.command)));
}

}  // namespace optile::cli
