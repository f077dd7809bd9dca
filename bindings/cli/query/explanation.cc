#include "bindings/cli/query/explanation.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "bindings/abi/api_fields.h"

namespace optile::cli {
namespace {

constexpr int kBarColumns = 32;

// As printf would print it.
__attribute__((format(printf, 2, 3))) void add(std::string& text, const char* format, ...) {
  va_list once;
  va_list again;
  va_start(once, format);
  va_copy(again, once);
  const int size = std::vsnprintf(nullptr, 0, format, once);
  va_end(once);
  if (size > 0) {
    const std::size_t before = text.size();
    text.resize(before + static_cast<std::size_t>(size) + 1);  // the last byte is for its zero
    std::vsnprintf(text.data() + before, static_cast<std::size_t>(size) + 1, format, again);
    text.pop_back();
  }
  va_end(again);
}

void add_curve(std::string& text, const Json& curve) {
  double slowest = 0;
  for (const Json& point : curve) slowest = std::max(slowest, number_of(point, field::kMedianNs));
  for (const Json& point : curve) {
    const double ns = number_of(point, field::kMedianNs);
    const int bar = slowest > 0 ? static_cast<int>(kBarColumns * ns / slowest) : 0;
    add(text, "  width %4s %-8s %12.3f us  %5s samples  %s %s\n",
        text_of(point, field::kWidth).c_str(), text_of(point, field::kBinding).c_str(), ns / 1e3,
        text_of(point, field::kCount).c_str(),
        std::string(static_cast<std::size_t>(std::max(1, bar)), '#').c_str(),
        text_of(point, field::kKind) == "sampled" ? "" : text_of(point, field::kKind).c_str());
  }
}

// What was counted, and why it is not more.
void add_counts(std::string& text, const Json& op) {
  const std::string tier = text_of(op, field::kCounters);
  if (tier.empty()) return;
  const std::string reason = text_of(op, field::kCounterReason);
  add(text, "  counters: %s%s%s\n", tier.c_str(), reason.empty() ? "" : "; ", reason.c_str());
  const Json counts = op.value(field::kCounts, Json());
  if (!counts.is_object()) return;
  add(text, "    %.0f executions counted on %.1f threads; %.0f too short to be counted\n",
      number_of(counts, field::kExecutions), number_of(counts, field::kThreads),
      number_of(counts, field::kTooShort));
  const Json means = counts.value(field::kPerExecution, Json::object());
  for (const auto& [name, value] : means.items()) {
    if (value.is_number()) add(text, "    %-32s %14.1f\n", name.c_str(), value.get<double>());
  }
  const Json ratios = counts.value(field::kRatios, Json::object());
  for (const auto& [name, value] : ratios.items()) {
    if (value.is_number()) add(text, "    %-32s %14.3f\n", name.c_str(), value.get<double>());
  }
}

// What bounds the width: the user's own setting, or where the number comes from otherwise.
std::string user_setting(const Json& user, const std::string& cap) {
  const std::string width = text_of(user, field::kDefaultWidth);
  const std::string source = text_of(user, field::kSource);
  const std::string respect = text_of(user, field::kRespect);
  if (!user.value(field::kBinds, false)) {
    return "  default width " + width + ", set by " + source + "; never wider than " + cap +
           (respect == "ignore" ? "; what you set is ignored (--respect ignore)\n" : "\n");
  }
  const std::string where = source == "environment"
                                ? text_of(user, field::kVariable, "OMP_NUM_THREADS")
                                : "set by the program";
  if (respect == "exact") {
    return "  you said so: exactly " + width + " threads (" + where + ", --respect exact)\n";
  }
  return "  you said so: at most " + width + " threads (" + where + "); never wider than " + cap +
         "\n";
}

// What was said of numbers of threads that are no op's width.
std::string other_settings(const Json& user) {
  std::string text;
  for (const Json& limit : user.value(field::kPools, Json::array())) {
    if (!limit.is_object()) continue;
    add(text, "  you said so: %s=%s; %s\n", text_of(limit, field::kName).c_str(),
        text_of(limit, field::kCount).c_str(), text_of(limit, field::kConsequence).c_str());
  }
  return text;
}

}  // namespace

std::string explanation_text(const Json& op) {
  std::string text;
  add(text, "%s %s  (%s)\n", text_of(op, field::kName).c_str(), text_of(op, field::kShape).c_str(),
      text_of(op, field::kId).c_str());
  add(text, "  %s\n", text_of(op, field::kSentence).c_str());
  if (!text_of(op, field::kDecision).empty())
    add(text, "  step: %s\n", text_of(op, field::kDecision).c_str());
  add_curve(text, op.value(field::kCurve, Json::array()));
  const Json runner_up = op.value(field::kRunnerUp, Json());
  if (runner_up.is_object()) {
    add(text, "  runner-up: width %s\n", text_of(runner_up, field::kWidth).c_str());
  }
  const Json provenance = op.value(field::kProvenance, Json::object());
  add(text, "  measured: %s, %s\n", text_of(provenance, field::kSource, "unknown").c_str(),
      text_of(provenance, field::kMadeAt, "date unknown").c_str());
  const Json switching = op.value(field::kSwitchingCost, Json::object());
  if (!switching.empty()) {
    add(text, "  a change of width costs %.1f us (%s)\n", number_of(switching, field::kNs) / 1e3,
        switching.value(field::kMeasured, false) ? "measured" : "assumed");
  }
  const Json user = op.value(field::kUser, Json::object());
  if (!user.empty()) text += user_setting(user, text_of(op, field::kCap)) + other_settings(user);
  for (const char* why : {field::kHeld, field::kTeam}) {
    if (!text_of(op, why).empty()) add(text, "  %s\n", text_of(op, why).c_str());
  }
  add_counts(text, op);
  return text;
}

}  // namespace optile::cli
