// A thread that is cancelled where nothing of ours may be a point for that.
#pragma once

#include <pthread.h>

#include "tests/preload/check_or_exit.h"

namespace optile::test {

// Runs `body` on a thread that is to be cancelled already, and has to get to its end.
inline void cancel_a_thread(void (*body)()) {
  struct Run {
    void (*body)();
    bool past;
  };
  Run run = {body, false};
  const auto start = [](void* argument) -> void* {
    auto* mine = static_cast<Run*>(argument);
    pthread_cancel(pthread_self());
    mine->body();
    mine->past = true;
    pthread_testcancel();
    return nullptr;
  };
  pthread_t thread{};
  void* result = nullptr;
  CHECK_OR_EXIT(pthread_create(&thread, nullptr, start, &run) == 0);
  pthread_join(thread, &result);
  CHECK_OR_EXIT(run.past && result == PTHREAD_CANCELED);
}

}  // namespace optile::test
