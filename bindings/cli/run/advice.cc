#include "bindings/cli/run/advice.h"

#include <cstdio>

#include "bindings/cli/support/shell_word.h"

namespace optile::cli {
namespace {

std::string in_milliseconds(double seconds) {
  char text[40];
  std::snprintf(text, sizeof text, "%.4g ms a step", seconds * 1e3);
  return text;
}

void add_header(const AdviceFacts& facts, std::string& out) {
  out += "optile: advice for " + facts.program + "; nothing was changed in this run";
  if (facts.step_seconds > 0) out += " (" + in_milliseconds(facts.step_seconds) + ")";
  out += "\n";
  for (const std::string& reason : facts.plan.reasons) out += "  # " + reason + "\n";
}

// What the environment alone can do.
void add_environment(const AdviceFacts& facts, std::string& out) {
  std::string lines;
  if (facts.plan.preload_libomp) {
    lines +=
        "  export LD_PRELOAD=" + shell_word(facts.libomp_path) + "${LD_PRELOAD:+:$LD_PRELOAD}\n";
  }
  for (const auto& [name, value] : facts.plan.environment) {
    lines += "  export " + name + "=" + shell_word(value) + "\n";
  }
  int threads = facts.stored.uniform_width;
  if (threads == 0) threads = facts.budget_cores;
  if (!facts.omp_num_threads_set && !facts.as_untuned) {
    lines += "  export OMP_NUM_THREADS=" + std::to_string(threads) +
             (facts.stored.uniform_width > 0 ? "  # the best single width of an earlier run\n"
                                             : "  # the cores that the kernel grants\n");
  }
  if (!lines.empty()) out += "  without optile:\n" + lines;
}

std::string launch_flags(const AdviceFacts& facts) {
  std::string flags;
  const auto add = [&](const char* name, const std::string& typed) {
    if (typed != "auto") flags += std::string(" ") + name + " " + typed;
  };
  add("--launch", facts.typed.overall);
  add("--openmp", facts.typed.openmp);
  add("--blas", facts.typed.blas);
  if (facts.as_untuned) flags += " --numerics as-untuned";
  return flags;
}

void add_widths(const AdviceFacts& facts, std::string& out) {
  if (!facts.has_stored) {
    out += "  # no widths were tried yet: the first tuned run does that\n";
    return;
  }
  const StoredAdvice& stored = facts.stored;
  if (stored.changed_ops > 0) {
    out += "  # an earlier run found better widths for " + std::to_string(stored.changed_ops) +
           " ops; only optile can set them one by one\n";
  } else {
    out += "  # an earlier run found no width better than the program's own\n";
  }
  if (stored.own_step_seconds > 0 && stored.tuned_step_seconds > 0 && stored.changed_ops > 0) {
    out += "  # it took " + in_milliseconds(stored.tuned_step_seconds) + " with them, " +
           in_milliseconds(stored.own_step_seconds) + " without\n";
  }
}

}  // namespace

std::string advice_text(const AdviceFacts& facts) {
  std::string out;
  add_header(facts, out);
  add_environment(facts, out);
  out += "  with optile:\n";
  add_widths(facts, out);
  out += "  optile run" + launch_flags(facts) + " --";
  for (const std::string& word : facts.command) out += " " + shell_word(word);
  return out + "\n";
}

}  // namespace optile::cli
