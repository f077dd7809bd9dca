#include "bindings/cli/run/report_output.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/result.h"
#include "bindings/abi/api_fields.h"
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
  return {{field::kState, "unknown"},
          {field::kRunId, decision.run_id},
          {field::kWholeProgram, false},
          {field::kSteps, 0},
          {field::kUnsampledSteps, 0},
          {field::kStepSeconds,
           {{field::kBaseline, nullptr}, {field::kTuned, nullptr}, {field::kPresent, nullptr}}},
          {field::kBaselineKind, nullptr},
          {field::kSpeedup, nullptr},
          {field::kFactors, Json::object()},
          {field::kDisturbed, Json::array()},
          {field::kIncomparable, nullptr},
          {field::kSamples, 0},
          {field::kSampledSteps, 0},
          {field::kOverheadRatio, 0.0},
          {field::kCoverage, {{field::kObserved, nullptr}, {field::kSteered, nullptr}}},
          {field::kPlanReplayed, false},
          {field::kOps, Json::array()},
          {field::kCounters, "none"},
          {field::kCounterReason, nullptr},
          {field::kBlas, nullptr},
          {field::kBlasBeside, Json::array()},
          {field::kOpenmpRuntime, nullptr},
          {field::kWaitPolicy, nullptr},
          {field::kFallbacks, Json::array()}};
}

std::string state_of(const Json& report) {
  const Json state = report.value(field::kState, Json());
  return state.is_string() ? state.get<std::string>() : "unknown";
}

bool is_whole_program(const Json& report) {
  const Json whole = report.value(field::kWholeProgram, Json());
  return whole.is_boolean() && whole.get<bool>();
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
  const Json factor = report.value(field::kFactors, Json::object()).value(name, Json());
  if (!factor.is_object()) return "";
  const double low = factor.value(field::kLow, 0.0);
  const double high = factor.value(field::kHigh, 0.0);
  return format("%.2f", factor.value(field::kValue, 0.0)) + "  [" + format("%.2f", low) + ", " +
         format("%.2f", high) +
         "], n = " + std::to_string(factor.value(field::kStepsBefore, uint64_t{0})) + " and " +
         std::to_string(factor.value(field::kStepsAfter, uint64_t{0})) +
         (low < 1 && high > 1 ? ": no settled difference" : "") +
         (factor.value(field::kDisturbed, Json::array()).empty() ? "" : ", disturbed");
}

std::string milliseconds_a_step(const Json& seconds) {
  return format("%9.2f ms a step", seconds.get<double>() * 1e3);
}

// Why there is no factor, and what to type to have one.
std::string why_no_factor(const Json& report, const std::string& command) {
  const std::string type = "; type: optile baseline -- " + command;
  const Json incomparable = report.value(field::kIncomparable, Json());
  if (incomparable.is_string()) return incomparable.get<std::string>() + type;
  if (report.value(field::kBaselineRun, false)) return "this is the untouched run";
  const std::string mode = report.value(field::kMode, std::string("tune"));
  if (mode != "tune" && mode != "freeze") return "nothing is changed in this mode (" + mode + ")";
  if (report.value(field::kBaselineKind, Json()) == "separate_run") return "no step was run tuned";
  return "nothing to compare with" + type;
}

void add_steps(const Json& report, const std::string& command, std::string& out) {
  const Json step = report.value(field::kStepSeconds, Json::object());
  const Json tuned = step.value(field::kTuned, Json());
  const Json baseline = step.value(field::kBaseline, Json());
  const Json present = step.value(field::kPresent, Json());
  // Controls run under the launch plan, which an untouched run does not have.
  const bool control = report.value(field::kBaselineKind, Json()) == "control";
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
  const std::string factor = factor_text(report, field::kSpeedup);
  out += factor.empty() ? "  times faster   not measured: " + why_no_factor(report, command) + "\n"
                        : "  times faster        " + factor + "\n";
  for (const Json& one : report.value(field::kDisturbed, Json::array())) {
    if (one.is_string()) out += "  disturbed      " + one.get<std::string>() + "\n";
  }
}

void add_parts(const Json& report, std::string& out) {
  const std::pair<const char*, const char*> names[] = {{field::kLaunchPlan, "launch plan"},
                                                       {field::kBlasPool, "BLAS pool"},
                                                       {field::kUniformWidth, "one best width"},
                                                       {field::kWidthPerOp, "width per op"}};
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
  const Json ops = report.value(field::kOps, Json::array());
  for (const Json& op : ops) {
    if (width_of(op, field::kWidth) != width_of(op, field::kDefaultWidth)) changed.push_back(op);
  }
  if (changed.empty()) {
    out += "  no op runs at another width than the program's own\n";
    return;
  }
  const auto seconds = [](const Json& op) { return op.value(field::kSeconds, 0.0); };
  std::sort(changed.begin(), changed.end(),
            [&](const Json& a, const Json& b) { return seconds(a) > seconds(b); });
  out +=
      "  ops at another width than the program's own (" + std::to_string(changed.size()) + "):\n";
  for (std::size_t i = 0; i < changed.size() && i < kRows; ++i) {
    const Json& op = changed[i];
    std::string name = op.value(field::kName, "");
    name.resize(std::max<std::size_t>(name.size(), 28), ' ');
    out += "    " + name + " width " + std::to_string(width_of(op, field::kWidth)) + "  " +
           op.value(field::kReason, "") + "\n";
  }
}

void add_sharing(const Json& report, std::string& out) {
  const Json sharing = report.value(field::kSharing, Json::object());
  const int threads = sharing.value(field::kIssuingThreads, 0);
  if (threads < 2) return;
  out += "  threads        " + std::to_string(threads) + " issued ops, " +
         std::to_string(sharing.value(field::kMostInOps, 0)) + " at the same moment";
  const Json cores = sharing.value(field::kSharedCores, Json());
  if (cores.is_number_integer()) {
    out += "; they share " + std::to_string(cores.get<int>()) + " cores, which narrowed " +
           std::to_string(sharing.value(field::kNarrowedOps, uint64_t{0})) + " executions";
  }
  out += "\n";
}

// "openblas (beside it libopenblas64_-1.so, 2 more)"
// Whose threads an op's width is: a BLAS library's, or a framework's that brings its own pool.
std::string steered_library(const Json& report) {
  const std::string text = report.value(field::kBlas, std::string("unknown"));
  if (text.find("libtensorflow") != std::string::npos) return "TensorFlow's own threads";
  std::string beside;
  for (const Json& name : report.value(field::kBlasBeside, Json::array())) {
    if (name.is_string()) beside += (beside.empty() ? "" : ", ") + name.get<std::string>();
  }
  return "BLAS " + text + (beside.empty() ? "" : " (beside it " + beside + ")");
}

std::string table_of(const Json& report, const std::string& command) {
  std::string out = "optile: " + report.value(field::kProgram, "the program") + ", " +
                    std::to_string(report.value(field::kSteps, 0)) + " steps\n";
  add_steps(report, command, out);
  add_parts(report, out);
  const Json coverage = report.value(field::kCoverage, Json::object());
  const auto percent = [&](const char* key) {
    const Json value = coverage.value(key, Json());
    return value.is_number() ? format("%.1f %%", value.get<double>() * 100)
                             : std::string("unknown");
  };
  out += "  coverage       " + percent(field::kObserved) + " of a step observed, " +
         percent(field::kSteered) + " steerable\n";
  out += "  sampled steps  " + std::to_string(report.value(field::kSampledSteps, 0)) +
         (report.value(field::kPlanReplayed, false) ? "  (the plan of an earlier run was used)\n"
                                                    : "\n");
  out += "  " + steered_library(report) + ", OpenMP " +
         report.value(field::kOpenmpRuntime, std::string("unknown")) + ", launch plan " +
         report.value(field::kLaunchPlan, std::string("none")) + "\n";
  const Json reason = report.value(field::kCounterReason, Json());
  out += "  counters " + report.value(field::kCounters, std::string("none")) +
         (reason.is_string() ? "; " + reason.get<std::string>() : "") + "\n";
  add_sharing(report, out);
  const std::string decision = report.value(field::kDecision, "");
  if (!decision.empty()) out += "  " + decision + "\n";
  add_ops(report, out);
  const Json guard = report.value(field::kGuard, Json::object());
  for (const Json& one : guard.value(field::kRollbacks, Json::array())) {
    out += "  rolled back in step " + std::to_string(one.value(field::kStep, 0)) + ": " +
           one.value(field::kWhat, "") + ": " + one.value(field::kReason, "") + "\n";
  }
  const Json fallbacks = report.value(field::kFallbacks, Json::array());
  for (const Json& fallback : fallbacks) {
    if (fallback.is_string()) out += "  note: " + fallback.get<std::string>() + "\n";
  }
  return out;
}

}  // namespace

std::string summary_table(const std::string& text, const std::string& command) {
  const Json report = Json::parse(text, nullptr, false);
  if (!report.is_object() || state_of(report) == "unknown") return unseen_program_text({});
  if (is_whole_program(report)) return whole_program_text(report.value(field::kProgram, ""));
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
