// An algorithm of oneTBB's whose two pieces wait for each other, which its rules forbid and which
// goes well on two threads: on one it never returns. Beside it one that does not care. The argument
// is how many steps.
#include <oneapi/tbb.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr int kThreads = 2;
constexpr size_t kCells = 20000;

void work(std::vector<uint64_t>& cells) {
  oneapi::tbb::parallel_for(size_t{0}, cells.size(),
                            [&](size_t i) { cells[i] = (cells[i] * 5 + i) % 1000003; });
}

void meet() {
  std::atomic<int> arrived{0};
  oneapi::tbb::parallel_for(
      0, kThreads,
      [&](int) {
        ++arrived;
        while (arrived < kThreads) std::this_thread::sleep_for(std::chrono::microseconds(20));
      },
      oneapi::tbb::simple_partitioner());
}

}  // namespace

int main(int words, char** word) {
  if (words < 2) return 2;
  const long steps = std::strtol(word[1], nullptr, 10);
  std::vector<uint64_t> cells(kCells);
  oneapi::tbb::task_arena arena(kThreads);
  arena.execute([&] {
    for (long step = 0; step < steps; ++step) {
      work(cells);
      meet();
    }
  });
  uint64_t sum = 0;
  for (const uint64_t cell : cells) sum += cell;
  std::printf("waits for all: %ld steps, sum %llu\n", steps, static_cast<unsigned long long>(sum));
  return 0;
}
