// Exceptions of the program's own around and inside its regions, caught where the language allows,
// deep enough that a frame of a wrapped region lies between throw and catch.
#include <omp.h>

#include <cstdio>
#include <exception>
#include <stdexcept>

namespace {

constexpr int kRounds = 200;

class Refused : public std::runtime_error {
 public:
  explicit Refused(int number) : std::runtime_error("refused"), number_(number) {}
  int number() const { return number_; }

 private:
  int number_;
};

// Thrown and caught inside one thread of the region, then handed out and thrown again.
void throws_from_region(int number) {
  std::exception_ptr caught;
#pragma omp parallel
  {
    try {
      if (omp_get_thread_num() == 0) throw Refused(number);
    } catch (...) {
#pragma omp critical
      caught = std::current_exception();
    }
  }
  if (caught) std::rethrow_exception(caught);
}

void throws_between_regions(int number) {
  int sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int i = 0; i < 100; ++i) sum += i;
  if (sum == 4950) throw Refused(number);
}

int caught_number(void (*work)(int), int number) {
  try {
    work(number);
  } catch (const Refused& refused) {
    return refused.number();
  }
  return -1;
}

}  // namespace

int main() {
  const int before = omp_get_max_threads();
  int wrong = 0;
  for (int round = 0; round < kRounds; ++round) {
    if (caught_number(throws_from_region, round) != round) ++wrong;
    if (caught_number(throws_between_regions, round + 1) != round + 1) ++wrong;
    if (omp_get_max_threads() != before) ++wrong;
  }
  std::printf("exceptions: %d rounds, %d wrong\n", kRounds, wrong);
  return wrong == 0 ? 0 : 1;
}
