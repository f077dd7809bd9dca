#include "bindings/cli/place/picture/device_colours.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace optile::cli {
namespace {

constexpr std::array<const char*, 10> kFirst = {"#4e79a7", "#f28e2b", "#59a14f", "#e15759",
                                                "#b07aa1", "#edc948", "#76b7b2", "#9c755f",
                                                "#ff9da7", "#2f4b7c"};
constexpr double kGoldenAngle = 137.508;  // hues that follow each other lie far apart

std::string hex(double red, double green, double blue) {
  char text[16];
  std::snprintf(text, sizeof text, "#%02x%02x%02x", static_cast<unsigned>(std::lround(red)),
                static_cast<unsigned>(std::lround(green)),
                static_cast<unsigned>(std::lround(blue)));
  return text;
}

std::string by_hue(int index) {
  const double hue = std::fmod(index * kGoldenAngle, 360.0);
  const auto channel = [&](double shift) {
    const double at = std::fmod(shift + hue / 30, 12.0);
    return 255 * (0.52 - 0.3 * std::max(-1.0, std::min({at - 3, 9 - at, 1.0})));
  };
  return hex(channel(0), channel(8), channel(4));
}

}  // namespace

std::vector<std::string> device_colours(const placement::Cluster& cluster) {
  std::vector<std::string> colours;
  int accelerators = 0;
  int cpus = 0;
  for (const placement::Device& device : cluster.devices) {
    if (device.kind == placement::DeviceKind::kCpu) {
      const double grey = 120 + 30 * (cpus++ % 3);
      colours.push_back(hex(grey, grey, grey));
      continue;
    }
    const auto index = static_cast<std::size_t>(accelerators++);
    colours.push_back(index < kFirst.size() ? kFirst[index] : by_hue(static_cast<int>(index)));
  }
  return colours;
}

std::string lighter(const std::string& colour, double part) {
  const auto channel = [&](std::size_t at) {
    const double value =
        static_cast<double>(std::strtol(colour.substr(at, 2).c_str(), nullptr, 16));
    return value + (255 - value) * part;
  };
  return hex(channel(1), channel(3), channel(5));
}

}  // namespace optile::cli
