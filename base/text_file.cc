#include "base/text_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>

namespace optile::base {
namespace {

constexpr std::size_t kMaxTextBytes = std::size_t{1} << 20;
constexpr int kMaxCpuNumber = 65535;

std::optional<int> take_number(const char*& at, const char* end) {
  int number = 0;
  const auto [next, error] = std::from_chars(at, end, number);
  if (error != std::errc() || number < 0 || number > kMaxCpuNumber) return std::nullopt;
  at = next;
  return number;
}

}  // namespace

std::optional<std::string> read_text_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  // Most are some bytes long, and many are read a second: no room for the longest is made ready.
  std::string text;
  std::array<char, 4096> piece{};
  while (file && text.size() < kMaxTextBytes) {
    const std::size_t most = std::min(piece.size(), kMaxTextBytes - text.size());
    file.read(piece.data(), static_cast<std::streamsize>(most));
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
  }
  return text;
}

std::vector<int> parse_cpu_list(const std::string& text) {
  std::vector<int> cpus;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end) {
    const std::optional<int> first = take_number(at, end);
    if (!first) break;
    int last = *first;
    if (at < end && *at == '-') {
      ++at;
      const std::optional<int> upper = take_number(at, end);
      if (!upper || *upper < *first) break;
      last = *upper;
    }
    for (int cpu = *first; cpu <= last; ++cpu) cpus.push_back(cpu);
    if (cpus.size() > kMaxCpuNumber) break;  // more than there can be: the same ones again
    if (at >= end || *at != ',') break;
    ++at;
  }
  return cpus;
}

}  // namespace optile::base
