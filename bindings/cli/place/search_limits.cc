#include "bindings/cli/place/search_limits.h"

namespace optile::cli {
namespace {

constexpr double kUsualSeconds = 5;

}  // namespace

placement::Limits search_limits(const PlaceOptions& options, const std::atomic<bool>& interrupted) {
  placement::Limits limits;
  if (options.evaluations > 0) limits.evaluations = options.evaluations;
  if (!options.time_limit.empty()) {
    limits.seconds = parse_duration(options.time_limit);
  } else if (options.evaluations == 0) {
    limits.seconds = kUsualSeconds;
  }
  limits.cancelled = &interrupted;
  return limits;
}

}  // namespace optile::cli
