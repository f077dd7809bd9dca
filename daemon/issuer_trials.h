// Whether a program whose threads are inside ops at the same moment gains where each of them has
// cores of its own for its teams. No curve tells: it depends on how the machine's caches hang
// together and on who waits for whom. So it is tried, without and with in turns, and what gets done
// is compared: ops begun a second. Pure; owned by a client, the daemon's one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace optile::daemon {

class IssuerTrials {
 public:
  // In company for so long before the first.
  static constexpr std::chrono::milliseconds kBefore{3000};
  static constexpr std::chrono::milliseconds kWindow{1000};
  // Windows without and with them side by side; so many of the pairs must gain, which for one in
  // 28 is chance, and so much in the middle of them.
  static constexpr int kPairs = 8;
  static constexpr int kMustGain = 7;
  static constexpr double kLeastGain = 1.02;

  struct Look {
    std::chrono::milliseconds now{0};
    uint64_t progress = 0;    // ops begun by all threads; every one is counted while it tries()
    bool in_company = false;  // usually
    int cores = 0;            // that they share; below 2 there is nothing to divide
  };
  struct Verdict {
    double gain = 1;  // work done a second with cores of their own over that without
    bool kept = false;
    std::string text() const;  // for people, of the threads
  };

  // Whether each is to have cores of its own from now on.
  bool look(const Look& look);
  // All ops have to be counted.
  bool tries() const { return window_.has_value(); }
  // For as many cores as there are now.
  std::optional<Verdict> verdict() const;

 private:
  struct Window {
    std::chrono::milliseconds since{0};
    uint64_t progress = 0;
  };
  void leave();
  void note(double pace);
  bool own_now() const { return windows_ % 4 == 1 || windows_ % 4 == 2; }

  std::map<int, Verdict> verdicts_;  // by cores: with others it may be another matter
  int cores_ = 0;
  std::optional<std::chrono::milliseconds> in_company_since_;
  std::optional<Window> window_;
  int windows_ = 0;  // over, of this trial
  double first_pace_ = 0;
  std::vector<double> gains_;  // by pair
};

}  // namespace optile::daemon
