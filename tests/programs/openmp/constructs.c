/* One region of every kind that GCC compiles to an entry point of its own: plain, loops of each
 * schedule, combined and not, sections, tasks, task loops and reductions, ordered, cancelled. GCC
 * only: clang 14 cannot read a task loop with a reduction. */
#include <omp.h>
#include <stdio.h>

enum { kRounds = 20, kCount = 500 };
static const long kExpected = (long)kCount * (kCount - 1) / 2;

static long loop_static(void) {
  long sum = 0;
#pragma omp parallel for schedule(static, 7) reduction(+ : sum)
  for (int i = 0; i < kCount; i++) sum += i;
  return sum;
}

static long loop_dynamic(void) {
  long sum = 0;
#pragma omp parallel for schedule(dynamic, 3) reduction(+ : sum)
  for (int i = 0; i < kCount; i++) sum += i;
  return sum;
}

static long loop_guided(void) {
  long sum = 0;
#pragma omp parallel for schedule(guided) reduction(+ : sum)
  for (int i = 0; i < kCount; i++) sum += i;
  return sum;
}

static long loop_monotonic(void) {
  long sum = 0;
#pragma omp parallel for schedule(monotonic : dynamic, 2) reduction(+ : sum)
  for (int i = 0; i < kCount; i++) sum += i;
  return sum;
}

static long loop_runtime(void) {
  long sum = 0;
#pragma omp parallel for schedule(runtime) reduction(+ : sum)
  for (int i = 0; i < kCount; i++) sum += i;
  return sum;
}

static long loop_ordered(void) {
  long sum = 0;
  int last = -1;
#pragma omp parallel for ordered schedule(dynamic)
  for (int i = 0; i < kCount; i++) {
#pragma omp ordered
    {
      if (last == i - 1) sum += i;
      last = i;
    }
  }
  return sum;
}

static long sections(void) {
  long parts[4] = {0, 0, 0, 0};
#pragma omp parallel sections
  {
#pragma omp section
    for (int i = 0; i < kCount; i += 4) parts[0] += i;
#pragma omp section
    for (int i = 1; i < kCount; i += 4) parts[1] += i;
#pragma omp section
    for (int i = 2; i < kCount; i += 4) parts[2] += i;
#pragma omp section
    for (int i = 3; i < kCount; i += 4) parts[3] += i;
  }
  return parts[0] + parts[1] + parts[2] + parts[3];
}

static long task_tree(int begin, int end) {
  if (end - begin <= 16) {
    long sum = 0;
    for (int i = begin; i < end; i++) sum += i;
    return sum;
  }
  long left = 0;
  long right = 0;
  const int middle = begin + (end - begin) / 2;
#pragma omp task shared(left)
  left = task_tree(begin, middle);
#pragma omp task shared(right)
  right = task_tree(middle, end);
#pragma omp taskwait
  return left + right;
}

static long tasks(void) {
  long sum = 0;
#pragma omp parallel
#pragma omp single
  sum = task_tree(0, kCount);
  return sum;
}

#ifdef __clang__ /* its own lowering of a taskloop converts the loop variable back and forth */
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wconversion"
#pragma clang diagnostic ignored "-Wsign-conversion"
#endif
static long task_loop(void) {
  long sum = 0;
#pragma omp parallel
#pragma omp single
#pragma omp taskloop grainsize(20) reduction(+ : sum)
  for (int i = 0; i < kCount; i++) sum += i;
  return sum;
}
#ifdef __clang__
#pragma clang diagnostic pop
#endif

static long task_reduction(void) {
  long sum = 0;
#pragma omp parallel reduction(task, + : sum)
#pragma omp single
  for (int i = 0; i < kCount; i++) {
#pragma omp task in_reduction(+ : sum) firstprivate(i)
    sum += i;
  }
  return sum;
}

static long by_thread(void) {
  long parts[256] = {0};
#pragma omp parallel
  {
    const int threads = omp_get_num_threads();
    for (int i = omp_get_thread_num(); i < kCount; i += threads) {
      parts[omp_get_thread_num() & 255] += i;
    }
#pragma omp barrier
#pragma omp critical
    parts[255] += 0;
  }
  long sum = 0;
  for (int i = 0; i < 256; i++) sum += parts[i];
  return sum;
}

int main(void) {
  long (*const kinds[])(void) = {loop_static,  loop_dynamic,   loop_guided, loop_monotonic,
                                 loop_runtime, loop_ordered,   sections,    tasks,
                                 task_loop,    task_reduction, by_thread};
  const size_t count = sizeof kinds / sizeof kinds[0];
  long wrong = 0;
  for (int round = 0; round < kRounds; round++) {
    for (size_t i = 0; i < count; i++) {
      if (kinds[i]() != kExpected) wrong++;
    }
  }
  printf("constructs: %zu kinds, %d rounds, %ld wrong sums\n", count, kRounds, wrong);
  return wrong == 0 ? 0 : 1;
}
