// What the kernels of a played program take on the described machine: a file that bench/played/
// table.py writes. Plain values; any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace optile::bench {

struct KernelTimes {
  double memory_share = 0;      // of its time at its fastest width, as OpInstance has it
  std::vector<double> seconds;  // alone on the machine, by width; element 0 is width 1

  // As the simulator takes it: beyond the widths that there are, the widest.
  double at(int width) const;
  double fastest() const;
};

// How a table begins; the machine follows.
inline constexpr const char* kTimesFormat = "played kernels 1 ";

// Lines of "memory_share TAB kernel TAB seconds seconds ...", behind a first line that names the
// format and the machine. A kernel is what TensorFlow's trace says behind a node's name:
// "Conv2D#shape=(float[2,32,32,3];float[3,3,3,64])#".
struct TimesTable {
  std::string machine;
  std::map<std::string, KernelTimes, std::less<>> kernels;

  const KernelTimes* find(std::string_view kernel) const;  // null: it is not played
};

// A line that is none is an error that names its number.
base::Result<TimesTable> parse_times(const std::string& text);

// "node:Type#shape=(...)#" without the node's name.
std::string_view kernel_of_trace(std::string_view trace);

}  // namespace optile::bench
