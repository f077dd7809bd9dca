#include "daemon/metrics/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <sstream>

#include "base/text_file.h"

namespace optile::daemon {
namespace {

// Fields of /proc/PID/stat, counted from the state, which follows the name. See proc(5).
constexpr std::size_t kUserTicks = 11;
constexpr std::size_t kSystemTicks = 12;
constexpr std::size_t kThreads = 17;
constexpr std::size_t kStartTicks = 19;
constexpr std::size_t kVirtualBytes = 20;
constexpr std::size_t kResidentPages = 21;
constexpr std::size_t kFields = kResidentPages + 1;

std::optional<double> boot_seconds(const std::string& machine_stat) {
  std::istringstream lines(machine_stat);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("btime ", 0) != 0) continue;
    double seconds = 0;
    if (std::istringstream(line.substr(6)) >> seconds) return seconds;
  }
  return std::nullopt;
}

// Nothing where the folder cannot be read. The descriptor that reads it is not counted.
std::optional<double> open_descriptors() {
  std::error_code error;
  std::filesystem::directory_iterator at("/proc/self/fd", error);
  double count = -1;
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) ++count;
  if (error || count < 0) return std::nullopt;
  return count;
}

void add_value(std::vector<MetricSample>& samples, Metric metric, double value) {
  samples.push_back({metric, {}, value});
}

}  // namespace

std::optional<ProcessStatistics> parse_process(const std::string& process_stat,
                                               const std::string& machine_stat,
                                               const KernelUnits& units) {
  // The name may hold anything, brackets and blanks too: the last bracket ends it.
  const std::size_t name_end = process_stat.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream words(process_stat.substr(name_end + 1));
  std::array<double, kFields> fields{};
  std::string state;
  if (!(words >> state)) return std::nullopt;
  for (std::size_t i = 1; i < kFields; ++i) {
    if (!(words >> fields[i])) return std::nullopt;
  }
  const std::optional<double> boot = boot_seconds(machine_stat);
  if (!boot) return std::nullopt;
  ProcessStatistics statistics;
  statistics.cpu_seconds = (fields[kUserTicks] + fields[kSystemTicks]) / units.ticks_per_second;
  statistics.threads = fields[kThreads];
  statistics.start_seconds = *boot + fields[kStartTicks] / units.ticks_per_second;
  statistics.virtual_bytes = fields[kVirtualBytes];
  statistics.resident_bytes = fields[kResidentPages] * units.page_bytes;
  return statistics;
}

void add_process_samples(std::vector<MetricSample>& samples) {
  const std::optional<std::string> process = base::read_text_file("/proc/self/stat");
  const std::optional<std::string> machine = base::read_text_file("/proc/stat");
  const KernelUnits units{static_cast<double>(sysconf(_SC_CLK_TCK)),
                          static_cast<double>(sysconf(_SC_PAGESIZE))};
  if (process && machine) {
    if (const auto statistics = parse_process(*process, *machine, units)) {
      add_value(samples, Metric::kProcessCpuSecondsTotal, statistics->cpu_seconds);
      add_value(samples, Metric::kProcessResidentBytes, statistics->resident_bytes);
      add_value(samples, Metric::kProcessVirtualBytes, statistics->virtual_bytes);
      add_value(samples, Metric::kProcessStartSeconds, statistics->start_seconds);
      add_value(samples, Metric::kProcessThreads, statistics->threads);
    }
  }
  if (const auto open = open_descriptors()) add_value(samples, Metric::kProcessOpenFds, *open);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    add_value(samples, Metric::kProcessMaxFds, static_cast<double>(limit.rlim_cur));
  }
}

}  // namespace optile::daemon
