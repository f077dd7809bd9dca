// The search of `auto`: repeated, interleaved samples; a case is given up when it is settled worse,
// taken when it is settled better, and the search ends when nothing is open or every open case has
// kEnough samples. First touches are no samples, but one that is far slower than the program's own
// width even after an allowance ends a case without a second run.
//
// Up to kFewCores cores every admitted width is tried. Above, halves of the default width
// downwards, one binding after another, until a width is hopeless (narrower ones are then hopeless
// too); then widths around the best, proposed by a fitted law and by halving, at most kRefinements
// times.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "tuner/plan/op_samples.h"
#include "tuner/search/search.h"

namespace optile::tuner {

struct StatisticalOptions {
  perfmodel::Configuration own;                    // the control
  std::vector<perfmodel::Configuration> admitted;  // without the control
  int cores = 1;
  double least_gain = 0.01;       // of the own time; less is not worth a width
  double refine_from_ns = 500e3;  // shorter ops take the coarse widths only (C > kFewCores)
};

class StatisticalSearch final : public Search {
 public:
  static constexpr int kFewCores = 8;
  static constexpr std::size_t kEnough = 8;
  static constexpr int kRefinements = 3;

  StatisticalSearch(const OpSamples& samples, StatisticalOptions options);

  void review() override;
  std::vector<Wish> wishes() const override;
  bool tolerates(perfmodel::Configuration at, double slack_ns) const override;
  perfmodel::Configuration best() const override;
  Rule rule() const override;

 private:
  enum class CaseState {
    kOpen,
    kDone,      // sampled enough, and not settled worse
    kWorse,     // settled worse than another case, or not worth it
    kHopeless,  // far worse, or not to be had: never run again
  };

  CaseState judge(perfmodel::Configuration at, const Estimate& own, const Estimate& fastest) const;
  CaseState judge_few(perfmodel::Configuration at, const Estimate& own) const;
  void close_last(const Estimate& own);
  Estimate fastest(const Estimate& own) const;
  bool settled_better(const Estimate& candidate, const Estimate& own) const;
  bool grow();
  bool grow_coarse(perfmodel::Binding binding);
  bool refine();
  std::vector<int> widths_of(perfmodel::Binding binding) const;
  bool try_case(perfmodel::Configuration at);

  const OpSamples& samples_;
  StatisticalOptions options_;
  std::map<perfmodel::Configuration, CaseState> cases_;
  int refinements_ = 0;
};

}  // namespace optile::tuner
