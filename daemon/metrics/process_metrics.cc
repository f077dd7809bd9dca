#include "daemon/metrics/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <optional>
#include <sstream>
#include <string>

#include "base/text_file.h"

namespace optile::daemon {
namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// See proc(5): pages of the address space, then those in memory.
std::optional<double> resident_pages() {
  const std::optional<std::string> text = base::read_text_file("/proc/self/statm");
  double whole = 0, resident = 0;
  if (!text || !(std::istringstream(*text) >> whole >> resident)) return std::nullopt;
  return resident;
}

}  // namespace

void add_process_samples(std::vector<MetricSample>& samples) {
  rusage used{};
  if (getrusage(RUSAGE_SELF, &used) == 0) {
    samples.push_back({Metric::kProcessCpuSecondsTotal,
                       {},
                       seconds_of(used.ru_utime) + seconds_of(used.ru_stime)});
  }
  if (const std::optional<double> pages = resident_pages()) {
    samples.push_back(
        {Metric::kProcessResidentBytes, {}, *pages * static_cast<double>(sysconf(_SC_PAGESIZE))});
  }
}

}  // namespace optile::daemon
