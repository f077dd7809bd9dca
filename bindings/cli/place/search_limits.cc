#include "bindings/cli/place/search_limits.h"

namespace optile::cli {
namespace {

constexpr double kUsualSeconds = 5;

}  // namespace

placement::Limits search_limits(const SearchOptions& options,
                                const std::atomic<bool>& interrupted) {
  placement::Limits limits;
  if (options.evaluations > 0) limits.evaluations = options.evaluations;
  if (options.seconds) {
    limits.seconds = *options.seconds;
  } else if (options.evaluations == 0) {
    limits.seconds = kUsualSeconds;
  }
  limits.cancelled = &interrupted;
  return limits;
}

}  // namespace optile::cli
