// How long a method may go on: time, evaluations, and somebody's wish to stop. Every method looks
// at its budget between candidates and answers with the best so far once it is spent.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>

namespace optile::placement {

struct Limits {
  double seconds = std::numeric_limits<double>::infinity();
  std::uint64_t evaluations = std::numeric_limits<std::uint64_t>::max();
  // Set from a signal handler or another thread; not owned; may be null.
  const std::atomic<bool>* cancelled = nullptr;
};

// Of one thread. The clock is monotonic; tests give their own.
class Budget {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Clock = std::function<Time()>;

  explicit Budget(Limits limits = {}, Clock now = std::chrono::steady_clock::now);

  // One candidate's cost was asked for.
  void count(std::uint64_t candidates = 1) { evaluations_ += candidates; }
  std::uint64_t evaluations() const { return evaluations_; }
  std::uint64_t evaluations_left() const;
  bool limits_evaluations() const;
  bool limits_time() const;

  // Whether to stop. Cheap: the clock is read on one call in 64, so a call must stand for little
  // work; before a long piece of work, ask spent_now().
  bool spent();
  bool spent_now();

  // How much of it is used, from 0 to 1: the larger of both where both are limited, by evaluations
  // alone where only they are; 0 without limits. Reads the clock where time is limited.
  double used() const;
  double seconds() const;  // since it was made
  double seconds_left() const;

  // A budget over this fraction of what is left of both, with the same cancellation.
  Budget part(double fraction) const { return part(fraction, fraction); }
  Budget part(double of_time, double of_evaluations) const;
  // What a part has used, counted here.
  void absorb(const Budget& part) { evaluations_ += part.evaluations_; }

 private:
  Limits limits_;
  Clock now_;
  Time start_;
  std::uint64_t evaluations_ = 0;
  unsigned calls_ = 0;
  bool over_ = false;
};

}  // namespace optile::placement
