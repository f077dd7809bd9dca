// Programs that asked how to start and have not attached yet: beside those a newcomer will run,
// too. Pure; the daemon's one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <string>

namespace optile::daemon {

struct Arrival {
  std::string executable;
  unsigned user = 0;
  int pid = 0;  // of the launcher, which becomes the program or waits for it; 0: unknown
};

// Who asks how to start.
struct Newcomer {
  Arrival arrival;
  double share = 1;
  bool batch = false;
  bool starts = false;     // it is about to come
  bool announced = false;  // it said so when it asked before, and knows that it was heard
};

// Beside whom it starts: those that have leases, or are about to come. `width`: threads for one
// whose teams nothing resizes; 0: as many as it may use.
struct LaunchBeside {
  bool others = false;
  int width = 0;
};

// Whoever asks only says that it is about to come. So that counts among a user's own programs
// alone: nobody takes width from others by asking.
class ExpectedArrivals {
 public:
  // One that has not come after so long opens no regions, or was never started.
  static constexpr std::chrono::seconds kPatience{10};
  // Of a user; the oldest is forgotten for one more.
  static constexpr std::size_t kMost = 256;

  // Once for each launcher, however often it asks: it may not have heard the answer.
  void expect(const Arrival& arrival, double share, std::chrono::milliseconds now);
  // A process of that program attached.
  void came(const Arrival& arrival, std::chrono::milliseconds now);
  bool someone(std::chrono::milliseconds now);  // is expected
  // Of all that are still expected of that user.
  double share(unsigned user, std::chrono::milliseconds now);
  // The same without the one that asks: the launcher's, or one of its program where no launcher is
  // known.
  double share_beside(const Arrival& arrival, std::chrono::milliseconds now);

 private:
  struct Expected {
    std::string executable;
    int pid = 0;
    double share = 1;
    std::chrono::milliseconds since{0};
  };
  using OfUser = std::deque<Expected>;
  void forget_late(std::chrono::milliseconds now);
  static OfUser::iterator by_pid(OfUser& expected, int pid);
  static OfUser::iterator by_program(OfUser& expected, const std::string& executable);

  std::map<unsigned, OfUser> by_user_;  // oldest first; no empty ones
};

}  // namespace optile::daemon
