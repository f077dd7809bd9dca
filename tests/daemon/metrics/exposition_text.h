// What a page of metrics says, read as strictly as Prometheus reads it.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace optile::daemon {

struct ExposedSample {
  std::string name;
  std::map<std::string, std::string> labels;
  double value = 0;
};

// Adds a failure to the running test for every line that is not well formed, every series that is
// there twice and every byte that is not UTF-8.
std::vector<ExposedSample> read_exposition(const std::string& page);

// The one sample with these labels; a failure and NaN where there is none.
double value_of(const std::vector<ExposedSample>& samples, const std::string& name,
                const std::map<std::string, std::string>& labels = {});

bool is_utf8(const std::string& text);

}  // namespace optile::daemon
