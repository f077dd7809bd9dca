#include "tests/daemon/metrics/exposition_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>
#include <sstream>

namespace optile::daemon {
namespace {

const char* const kNameCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:";

std::string take_name(const std::string& line, std::size_t& at) {
  const std::size_t end = std::min(line.find_first_not_of(kNameCharacters, at), line.size());
  const std::string name = line.substr(at, end - at);
  at = end;
  return name;
}

// From the opening quote to behind the closing one; false where an escape is none.
bool take_value(const std::string& line, std::size_t& at, std::string& value) {
  if (at >= line.size() || line[at++] != '"') return false;
  while (at < line.size() && line[at] != '"') {
    char c = line[at++];
    if (c == '\\') {
      if (at >= line.size()) return false;
      const char escaped = line[at++];
      if (escaped != '\\' && escaped != '"' && escaped != 'n') return false;
      c = escaped == 'n' ? '\n' : escaped;
    }
    value += c;
  }
  return at < line.size() && line[at++] == '"';
}

bool take_labels(const std::string& line, std::size_t& at, ExposedSample& sample) {
  if (at >= line.size() || line[at] != '{') return true;
  do {
    ++at;
    const std::string label = take_name(line, at);
    if (label.empty() || at >= line.size() || line[at++] != '=') return false;
    if (!take_value(line, at, sample.labels[label])) return false;
  } while (at < line.size() && line[at] == ',');
  return at < line.size() && line[at++] == '}';
}

bool read_line(const std::string& line, ExposedSample& sample) {
  std::size_t at = 0;
  sample.name = take_name(line, at);
  if (sample.name.empty() || !take_labels(line, at, sample)) return false;
  if (at >= line.size() || line[at++] != ' ') return false;
  char* end = nullptr;
  sample.value = std::strtod(line.c_str() + at, &end);
  return end != line.c_str() + at && *end == '\0';
}

}  // namespace

std::vector<ExposedSample> read_exposition(const std::string& page) {
  EXPECT_TRUE(is_utf8(page));
  EXPECT_TRUE(page.empty() || page.back() == '\n');
  std::vector<ExposedSample> samples;
  std::set<std::pair<std::string, std::map<std::string, std::string>>> seen;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    ExposedSample sample;
    EXPECT_TRUE(read_line(line, sample)) << line;
    EXPECT_TRUE(seen.emplace(sample.name, sample.labels).second) << "twice: " << line;
    samples.push_back(std::move(sample));
  }
  return samples;
}

double value_of(const std::vector<ExposedSample>& samples, const std::string& name,
                const std::map<std::string, std::string>& labels) {
  for (const ExposedSample& sample : samples) {
    if (sample.name == name && sample.labels == labels) return sample.value;
  }
  ADD_FAILURE() << "no sample of " << name << " with these labels";
  return std::numeric_limits<double>::quiet_NaN();
}

// By the shortest-form rule of the standard, over code points.
bool is_utf8(const std::string& text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const int more = first < 0x80       ? 0
                     : first >> 5 == 6  ? 1
                     : first >> 4 == 14 ? 2
                     : first >> 3 == 30 ? 3
                                        : -1;
    if (more < 0 || i + static_cast<std::size_t>(more) >= text.size()) return false;
    uint32_t point = more == 0 ? first : first & (0x3fu >> more);
    for (int k = 1; k <= more; ++k) {
      const auto next = static_cast<unsigned char>(text[i + static_cast<std::size_t>(k)]);
      if (next >> 6 != 2) return false;
      point = point << 6 | (next & 0x3f);
    }
    const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    if (point < least[more] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) {
      return false;
    }
    i += static_cast<std::size_t>(more) + 1;
  }
  return true;
}

}  // namespace optile::daemon
