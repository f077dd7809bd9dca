// A plugin whose constructor runs algorithms of oneTBB and waits for its workers, also for what
// they begin themselves: all the while the dynamic linker's lock is held by the thread that loads
// the plugin. Where it finds what it should, plugin_total is 3.
#include <oneapi/tbb.h>

#include <atomic>

extern "C" __attribute__((visibility("default"))) int plugin_total;
int plugin_total = 0;

namespace {

using Range = oneapi::tbb::blocked_range<int>;

constexpr int kPieces = 1000;
constexpr int kTimes = 20;

// So long that workers come to have a part.
void work() {
  for (std::atomic<int> i{0}; i < 2000;) i.fetch_add(1, std::memory_order_relaxed);
}

bool plain() {
  std::atomic<int> sum{0};
  oneapi::tbb::parallel_for(Range(0, kPieces), [&](const Range& part) {
    work();
    sum += static_cast<int>(part.size());
  });
  return sum == kPieces;
}

// It gives pieces to certain threads, by another function.
bool by_affinity() {
  oneapi::tbb::affinity_partitioner affinity;
  std::atomic<int> sum{0};
  for (int i = 0; i < 2; ++i) {
    oneapi::tbb::parallel_for(
        Range(0, kPieces),
        [&](const Range& part) {
          work();
          sum += static_cast<int>(part.size());
        },
        affinity);
  }
  return sum == 2 * kPieces;
}

bool nested() {
  std::atomic<int> sum{0};
  oneapi::tbb::parallel_for(0, 64, [&](int) {
    work();
    oneapi::tbb::parallel_for(0, 4, [&](int) { ++sum; });
  });
  return sum == 256;
}

__attribute__((constructor)) void start() {
  // Four threads, whatever the machine has.
  const oneapi::tbb::global_control threads(oneapi::tbb::global_control::max_allowed_parallelism,
                                            4);
  oneapi::tbb::task_arena arena(4);
  bool right[] = {true, true, true};
  arena.execute([&] {
    for (int i = 0; i < kTimes; ++i) {
      right[0] = plain() && right[0];
      right[1] = by_affinity() && right[1];
      right[2] = nested() && right[2];
    }
  });
  for (const bool one : right) plugin_total += one ? 1 : 0;
}

}  // namespace
