// How often clients' rings are read: by what is wanted of their events, and by how full the rings
// were. Every look is time of a processor that some program may be using. Pure; owned by the
// controller.
#pragma once

#include <algorithm>
#include <chrono>

namespace optile::daemon {

class DrainPace {
 public:
  using Period = std::chrono::milliseconds;
  static constexpr Period kProfiling{5};
  static constexpr Period kListening{50};  // reached by and by while rings stay nearly empty
  static constexpr Period kTuned{200};
  static constexpr Period kQuiet{1000};  // the same
  static constexpr double kBusy = 0.25;  // fuller than this: read sooner
  static constexpr double kNearlyEmpty = 0.05;

  // Of the client that wants most: the figures of a run; events of every op, with nothing that
  // depends on them soon; the next page made from the next events.
  enum class Want { kFigures, kListening, kProfiling };

  Period period() const { return period_; }
  // Somebody came: it waits for its first page.
  void on_arrival() { enter(Want::kProfiling); }
  // Rings were read; `fill`: the fullest one, as a share of what it holds.
  void on_drain(Want want, double fill) {
    if (want != want_ || want == Want::kProfiling) {
      enter(want);
    } else if (fill > kBusy) {
      period_ = std::max(kProfiling, period_ / 2);
    } else if (fill < kNearlyEmpty) {
      const Period most = want == Want::kListening ? kListening : kQuiet;
      period_ = std::min(most, period_ + period_ / 8 + Period(1));
    }
  }

 private:
  void enter(Want want) {
    want_ = want;
    period_ = want == Want::kFigures ? kTuned : kProfiling;
  }

  Want want_ = Want::kProfiling;
  Period period_ = kProfiling;
};

}  // namespace optile::daemon
