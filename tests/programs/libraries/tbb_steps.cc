// A program whose steps are algorithms of oneTBB, on whole numbers: a parallel_for and a
// parallel_reduce, whose results must be the first step's. With an argument behind the number of
// steps:
//   nested   each piece of the parallel_for is another one
//   throws   in every step one body throws, and the program goes on
//   arena    all in an arena of three threads
//   given    the numbers are mixed by a group of tasks that is waited for, and added by a pipeline
//   own      a global_control of the program's own allows two threads
//   twice    by two threads of the program, one after the other
#include <oneapi/tbb.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr size_t kNumbers = size_t{1} << 16;
constexpr size_t kPiece = 1024;
using Range = oneapi::tbb::blocked_range<size_t>;

uint64_t mixed(uint64_t number) {
  for (int i = 0; i < 16; ++i) number = (number ^ (number >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
  return number;
}

void mix_range(std::vector<uint64_t>& numbers, const Range& range) {
  for (size_t i = range.begin(); i != range.end(); ++i) numbers[i] = mixed(i);
}

void mix_all(std::vector<uint64_t>& numbers, bool nested) {
  oneapi::tbb::parallel_for(Range(0, numbers.size(), kPiece), [&](const Range& range) {
    if (!nested) {
      mix_range(numbers, range);
      return;
    }
    oneapi::tbb::parallel_for(Range(range.begin(), range.end(), kPiece / 4),
                              [&](const Range& part) { mix_range(numbers, part); });
  });
}

uint64_t sum_of(const std::vector<uint64_t>& numbers) {
  return oneapi::tbb::parallel_reduce(
      Range(0, numbers.size(), kPiece), uint64_t{0},
      [&](const Range& range, uint64_t sum) {
        for (size_t i = range.begin(); i != range.end(); ++i) sum += mixed(numbers[i]);
        return sum;
      },
      [](uint64_t left, uint64_t right) { return left + right; });
}

void mix_by_group(std::vector<uint64_t>& numbers) {
  oneapi::tbb::task_group group;
  for (size_t at = 0; at < numbers.size(); at += kPiece) {
    group.run([&numbers, at] { mix_range(numbers, Range(at, at + kPiece)); });
  }
  group.wait();
}

uint64_t sum_by_pipeline(const std::vector<uint64_t>& numbers) {
  using oneapi::tbb::filter_mode;
  size_t at = 0;
  uint64_t sum = 0;
  const auto pieces = oneapi::tbb::make_filter<void, size_t>(
      filter_mode::serial_in_order, [&](oneapi::tbb::flow_control& control) {
        if (at == numbers.size()) control.stop();
        return at == numbers.size() ? at : (at += kPiece) - kPiece;
      });
  const auto adding =
      oneapi::tbb::make_filter<size_t, uint64_t>(filter_mode::parallel, [&](size_t begin) {
        uint64_t part = 0;
        for (size_t i = begin; i < begin + kPiece; ++i) part += mixed(numbers[i]);
        return part;
      });
  const auto all = oneapi::tbb::make_filter<uint64_t, void>(filter_mode::serial_in_order,
                                                            [&](uint64_t part) { sum += part; });
  oneapi::tbb::parallel_pipeline(8, pieces & adding & all);
  return sum;
}

bool throws() {
  try {
    oneapi::tbb::parallel_for(size_t{0}, kNumbers, [](size_t i) {
      if (i == kNumbers / 2) throw i;
    });
  } catch (size_t thrown) {
    return thrown == kNumbers / 2;
  }
  return false;
}

// Steps whose sum is not the first one's.
long run(int steps, const std::string& how) {
  std::vector<uint64_t> numbers(kNumbers);
  uint64_t first = 0;
  long wrong = 0;
  for (int i = 0; i < steps; ++i) {
    numbers.assign(kNumbers, 0);
    const bool given = how == "given";
    if (given) {
      mix_by_group(numbers);
    } else {
      mix_all(numbers, how == "nested");
    }
    const uint64_t sum = given ? sum_by_pipeline(numbers) : sum_of(numbers);
    if (i == 0) first = sum;
    wrong += sum != first;
    if (how == "throws") wrong += throws() ? 0 : 1;
  }
  std::printf("%llu\n", static_cast<unsigned long long>(first));
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 100;
  const std::string how = argc > 2 ? argv[2] : "";
  long wrong = 0;
  if (how == "arena") {
    oneapi::tbb::task_arena arena(3);
    arena.execute([&] { wrong = run(steps, how); });
  } else if (how == "own") {
    using Control = oneapi::tbb::global_control;
    const Control two(Control::max_allowed_parallelism, 2);
    wrong = run(steps, how);
    wrong += Control::active_value(Control::max_allowed_parallelism) != 2;
  } else if (how == "twice") {
    wrong = run(steps, how);
    std::thread([&] { wrong += run(steps, how); }).join();
  } else {
    wrong = run(steps, how);
  }
  std::printf("%d steps, %ld wrong\n", steps, wrong);
  return wrong == 0 ? 0 : 1;
}
