// Algorithms of libstdc++'s parallel mode: sorts, changes and adds up the same numbers in each
// step.
#include <cstdint>
#include <cstdio>
#include <parallel/algorithm>
#include <parallel/numeric>
#include <vector>

namespace {

constexpr std::size_t kNumbers = 200000;
constexpr int kSteps = 40;

void fill(std::vector<std::uint32_t>& numbers) {
  std::uint32_t state = 7;
  for (std::uint32_t& number : numbers) number = state = state * 1664525u + 1013904223u;
}

}  // namespace

int main() {
  std::vector<std::uint32_t> numbers(kNumbers);
  std::uint64_t total = 0;
  for (int step = 0; step < kSteps; step++) {
    fill(numbers);
    __gnu_parallel::sort(numbers.begin(), numbers.end());
    __gnu_parallel::for_each(numbers.begin(), numbers.end(),
                             [](std::uint32_t& number) { number ^= number >> 7; });
    total += __gnu_parallel::accumulate(numbers.begin(), numbers.end(), std::uint64_t{0});
  }
  std::printf("%ju\n", static_cast<std::uintmax_t>(total));
  return 0;
}
