#include "bench/played/kernel_times.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace optile::bench {
namespace {

base::Error unreadable(int line, const char* what) {
  return {base::ErrorKind::kInvalid, "line " + std::to_string(line) + ": " + what};
}

bool parse_kernel(const std::string& line, std::string* name, KernelTimes* times) {
  std::istringstream fields(line);
  std::string share;
  std::string seconds;
  if (!std::getline(fields, share, '\t') || !std::getline(fields, *name, '\t') ||
      !std::getline(fields, seconds) || name->empty()) {
    return false;
  }
  std::istringstream shares(share);
  if (!(shares >> times->memory_share) || times->memory_share < 0 || times->memory_share > 1) {
    return false;
  }
  std::istringstream words(seconds);
  for (double one = 0; words >> one;) {
    if (!(one > 0) || !std::isfinite(one)) return false;
    times->seconds.push_back(one);
  }
  return words.eof() && !times->seconds.empty();
}

}  // namespace

double KernelTimes::at(int width) const {
  const auto last = static_cast<int>(seconds.size());
  return seconds[static_cast<std::size_t>(std::clamp(width, 1, last) - 1)];
}

double KernelTimes::fastest() const {
  return *std::min_element(seconds.begin(), seconds.end());
}

const KernelTimes* TimesTable::find(std::string_view kernel) const {
  const auto found = kernels.find(kernel);
  return found == kernels.end() ? nullptr : &found->second;
}

base::Result<TimesTable> parse_times(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  TimesTable table;
  if (!std::getline(lines, line) || line.rfind(kTimesFormat, 0) != 0) {
    return unreadable(1, "not a table of played kernels");
  }
  table.machine = line.substr(std::string(kTimesFormat).size());
  for (int number = 2; std::getline(lines, line); ++number) {
    std::string name;
    KernelTimes times;
    if (!parse_kernel(line, &name, &times)) return unreadable(number, "not a kernel's times");
    if (!table.kernels.emplace(name, times).second) return unreadable(number, "a kernel again");
  }
  return table;
}

std::string_view kernel_of_trace(std::string_view trace) {
  const std::size_t name = trace.find(':');
  return name == std::string_view::npos ? trace : trace.substr(name + 1);
}

}  // namespace optile::bench
