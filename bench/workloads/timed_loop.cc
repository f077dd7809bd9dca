#include "bench/workloads/timed_loop.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include <nlohmann/json.hpp>

namespace optile::bench {
namespace {

using Clock = std::chrono::steady_clock;  // the monotonic clock, as Python's time.monotonic()

[[noreturn]] void refuse(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  std::exit(2);
}

template <typename Number>
Number number_of(const std::string& name, const char* text) {
  Number value{};
  const char* end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, value);
  if (error != std::errc() || rest != end || value < 0) {
    refuse(name + " wants a number that is not negative, not " + text);
  }
  return value;
}

std::string openmp_in_use() {
  std::ifstream maps("/proc/self/maps");
  std::string found = "none";
  for (std::string line; std::getline(maps, line);) {
    // libomp answers for libgomp too where it is loaded.
    if (line.find("libomp") != std::string::npos || line.find("libiomp") != std::string::npos) {
      return "llvm";
    }
    if (line.find("libgomp") != std::string::npos) found = "libgomp";
  }
  return found;
}

double seconds_of(Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

LoopOptions parse_options(int count, char** words) {
  LoopOptions options;
  for (int i = 1; i < count; ++i) {
    const std::string name = words[i];
    if (name == "--quiet") {
      options.quiet = true;
      continue;
    }
    if (i + 1 == count) refuse(name + " is unknown, or wants a value");
    const char* value = words[++i];
    if (name == "--steps") {
      options.steps = std::max(1, number_of<int>(name, value));
    } else if (name == "--warmup") {
      options.warmup = number_of<int>(name, value);
    } else if (name == "--batch") {
      options.batch = number_of<int>(name, value);
    } else if (name == "--seconds") {
      options.seconds = number_of<double>(name, value);
    } else if (name == "--json") {
      options.json = value;
    } else {
      refuse(name + " is unknown: --steps, --warmup, --batch, --seconds, --json, --quiet");
    }
  }
  return options;
}

int run_timed(const std::string& name, const LoopOptions& options,
              const std::function<double()>& step) {
  std::vector<double> took;
  std::vector<double> ends;
  double first = 0;
  double figure = 0;
  for (int i = 0;; ++i) {
    const auto begin = Clock::now();
    figure = step();
    const auto end = Clock::now();
    if (i == 0) first = figure;
    if (i < options.warmup) continue;
    took.push_back(seconds_of(end - begin));
    ends.push_back(seconds_of(end.time_since_epoch()));
    if (!options.quiet) {
      std::fprintf(stderr, "step %zu/%d figure %.4g %.3g s\n", took.size(), options.steps, figure,
                   took.back());
    }
    const bool over = options.seconds > 0 ? ends.back() - ends.front() >= options.seconds
                                          : took.size() >= static_cast<std::size_t>(options.steps);
    if (over) break;
  }
  if (options.json.empty()) return 0;
  std::vector<double> sorted = took;
  std::sort(sorted.begin(), sorted.end());
  const nlohmann::json report = {
      {"workload", name},
      {"batch", options.batch},
      {"steps", took.size()},
      {"warmup", options.warmup},
      {"step_seconds", took},
      {"step_ends", ends},
      {"median_seconds", sorted[sorted.size() / 2]},
      {"first_loss", first},
      {"last_loss", figure},
      {"blas", "none"},
      {"openmp_runtime", openmp_in_use()},
  };
  std::ofstream out(options.json);
  out << report.dump(2) << '\n';
  out.close();
  if (out.fail()) {
    std::fprintf(stderr, "%s: the report could not be written to %s\n", name.c_str(),
                 options.json.c_str());
    return 1;
  }
  return 0;
}

}  // namespace optile::bench
