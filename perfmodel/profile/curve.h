// A curve: predicted time over width, from a profile (III-C of the hill climb paper). Widths that
// were not sampled are interpolated linearly between the sampled neighbours of the same binding;
// beyond the last sample the last slope goes on and the point is marked. Plain value, any thread.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "perfmodel/profile/configuration.h"
#include "perfmodel/profile/profile.h"

namespace optile::perfmodel {

enum class PointKind { kSampled, kInterpolated, kExtrapolated };

struct CurvePoint {
  Configuration at;
  Nanoseconds time{0};  // median of the samples, or the prediction; never below 1 ns
  PointKind kind = PointKind::kSampled;
};

class Curve {
 public:
  Curve() = default;
  explicit Curve(const Profile& profile);

  bool empty() const { return sampled_.empty(); }
  // nullopt when no case with this binding was sampled.
  std::optional<CurvePoint> at(Configuration wanted) const;
  // The fastest sampled case; nullopt when empty.
  std::optional<CurvePoint> best() const;
  const std::vector<CurvePoint>& sampled() const { return sampled_; }  // by binding, then width

 private:
  std::vector<CurvePoint> sampled_;
};

// 1 − mean(|predicted − measured| / measured): the paper's accuracy. Empty input: nullopt.
struct AccuracySample {
  double predicted_ns = 0;
  double measured_ns = 0;
};
std::optional<double> prediction_accuracy(const std::vector<AccuracySample>& samples);

}  // namespace optile::perfmodel
