// How a client's steps scale, as far as is known: what its session predicts, what was measured with
// the cores that it had, and what earlier runs measured. Plain value, used from one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "daemon/store/earlier_curve.h"

namespace optile::daemon {

class ClientCurve {
 public:
  // What earlier runs measured: all there is until a step of its own has been measured, and after
  // that what says of numbers of cores that it has not had. `most`: cores that it could use.
  void recall(EarlierCurve curve, int most);
  // Another step number: it does something else from now on, of which what was measured says
  // nothing. An earlier curve about another subject, once that is known, is forgotten; true where
  // nothing is left then.
  bool set_current_step(uint32_t step_number, const CurveSubject& about);
  // Seconds of a step with the cores that it has.
  void measure(int cores, double seconds);
  // Seconds of a step with 1, 2, … cores, by its ops; empty: not known. Whether progress() is
  // another one now.
  bool predict(const std::vector<double>& seconds);

  // Throughput with 1, 2, … cores over that at its own best; empty: nothing is known.
  const std::vector<double>& progress() const { return progress_; }
  int useful() const { return useful_; }  // the fewest cores with the most of it
  // With so many cores, in this run.
  bool is_measured(int cores) const { return measured_.contains(cores); }
  // For the next run; nullopt where nothing was measured in this one. `when`: seconds since 1970.
  std::optional<EarlierCurve> learned(int64_t when) const;

 private:
  bool take(std::vector<double> seconds);

  std::map<int, double> measured_;  // seconds by cores
  uint32_t step_number_ = 0;        // of the step that these are about
  CurveSubject about_;
  std::optional<EarlierCurve> earlier_;  // about the same, as far as is known
  std::vector<double> earlier_seconds_;  // by cores
  std::vector<double> seconds_;          // by cores, that progress_ was made of
  std::vector<double> progress_;
  int useful_ = 0;
};

}  // namespace optile::daemon
