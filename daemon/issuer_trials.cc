#include "daemon/issuer_trials.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>

#include "tuner/step_comparison.h"

namespace optile::daemon {

std::string IssuerTrials::Verdict::text() const {
  char figures[120];
  (void)std::snprintf(figures, sizeof figures,
                      "with cores of its own each they get %.2f times as much done: ", gain);
  return std::string(figures) + (kept ? "each has its own" : "they share them");
}

bool IssuerTrials::look(const Look& look) {
  if (look.cores != cores_) leave();
  cores_ = look.cores;
  if (const auto known = verdict()) return known->kept;
  if (!look.in_company || look.cores < 2) {
    leave();
    return false;
  }
  if (!in_company_since_) in_company_since_ = look.now;
  if (look.now - *in_company_since_ < kBefore) return false;
  if (window_ && look.now - window_->since < kWindow) return own_now();
  if (window_) {
    const double passed = std::chrono::duration<double>(look.now - window_->since).count();
    note(static_cast<double>(look.progress - window_->progress) / passed);
    if (const auto known = verdict()) {
      leave();
      return known->kept;
    }
  }
  window_ = Window{look.now, look.progress};
  return own_now();
}

void IssuerTrials::note(double pace) {
  // Without first, with them first, and so on: whatever changes steadily says nothing.
  const bool own = own_now();
  if (windows_++ % 2 == 0) {
    first_pace_ = pace;
    return;
  }
  if (pace <= 0 || first_pace_ <= 0) {
    windows_ -= 2;  // nobody worked
    return;
  }
  gains_.push_back(own ? pace / first_pace_ : first_pace_ / pace);
  const auto lost =
      std::count_if(gains_.begin(), gains_.end(), [](double gain) { return gain <= 1; });
  const bool gains_enough = lost <= kPairs - kMustGain;
  if (gains_enough && gains_.size() < static_cast<std::size_t>(kPairs)) return;
  const double gain = tuner::median(gains_);
  verdicts_[cores_] = {gain, gains_enough && gain >= kLeastGain};
}

std::optional<IssuerTrials::Verdict> IssuerTrials::verdict() const {
  const auto found = verdicts_.find(cores_);
  return found == verdicts_.end() ? std::nullopt : std::optional(found->second);
}

void IssuerTrials::leave() {
  in_company_since_.reset();
  window_.reset();
  windows_ = 0;
  gains_.clear();
}

}  // namespace optile::daemon
