// Whether a client waits for something else than the processor: data, a file, a peer. Told by the
// ops that it begins and the processor time that its process uses. Pure; the daemon's one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

namespace optile::daemon {

class IdleDetector {
 public:
  // Quiet for so long, it waits. Programs whose pauses end soon after that are given longer, until
  // one of them lasts.
  static constexpr std::chrono::milliseconds kPatience{60};
  static constexpr std::chrono::milliseconds kLongestPatience{2000};
  // How often to look: at who works, and at who waits.
  static constexpr std::chrono::milliseconds kEvery{20};
  static constexpr std::chrono::milliseconds kEveryWaiting{10};
  // Quiet for so long, it is not expected back soon.
  static constexpr std::chrono::milliseconds kLongWait{60000};

  // Whether the answer is another one than before. Between two looks that are due for who works,
  // one that comes for somebody else's sake is over at once. `progress`: ops begun. `busy`:
  // processor time of all its threads so far, asked for only where no op began since the last look;
  // without an answer it is taken to work. `now` never goes back.
  bool look(std::chrono::milliseconds now, uint64_t progress,
            const std::function<std::optional<std::chrono::milliseconds>()>& busy);
  bool waiting() const { return waiting_; }
  // How long it has been quiet.
  std::chrono::milliseconds quiet(std::chrono::milliseconds now) const {
    return now - quiet_since_;
  }

 private:
  bool works(std::chrono::milliseconds now, uint64_t progress,
             const std::function<std::optional<std::chrono::milliseconds>()>& busy);
  void learn_from(std::chrono::milliseconds pause);

  bool waiting_ = false;
  std::optional<std::chrono::milliseconds> looked_;
  uint64_t progress_ = 0;
  std::chrono::milliseconds quiet_since_{0};
  std::optional<std::chrono::milliseconds> busy_then_;  // when the quiet began
  std::chrono::milliseconds patience_ = kPatience;
};

}  // namespace optile::daemon
