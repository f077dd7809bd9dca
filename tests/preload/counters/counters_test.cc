// The real counter library through its interface, each test in a process of its own.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "bindings/preload/counters/counter_api.h"
#include "tests/preload/fixtures/check_or_exit.h"

namespace {

constexpr int kNotHere = 77;

const optile_counter_api& counters() {
  void* library = dlopen(OPTILE_TEST_COUNTERS, RTLD_NOW | RTLD_LOCAL);
  CHECK_OR_EXIT(library != nullptr);
  const auto get = reinterpret_cast<optile_counters_fn>(dlsym(library, OPTILE_COUNTERS_SYMBOL));
  CHECK_OR_EXIT(get != nullptr && get()->version == OPTILE_COUNTER_API_VERSION);
  return *get();
}

optile_counters_found found_up_to(uint32_t tier) {
  optile_counters_found found = {};
  CHECK_OR_EXIT(counters().find(tier, &found) == 0);
  return found;
}

// Exit status of the body in a fresh process.
template <typename Body>
int status_of(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    std::_Exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::vector<int> perf_descriptors() {
  std::vector<int> found;
  for (int fd = 0; fd < 256; ++fd) {
    uint64_t id = 0;
    if (ioctl(fd, PERF_EVENT_IOC_ID, &id) == 0) found.push_back(fd);
  }
  return found;
}

std::size_t place_of(const optile_counters_found& found, uint8_t event) {
  for (std::size_t i = 0; i < OPTILE_GROUP_EVENTS; ++i) {
    if (found.events[0][i] == event) return i;
  }
  CHECK_OR_EXIT(false);
  return 0;
}

void touch_fresh_pages(std::size_t pages) {
  const std::size_t bytes = pages * 4096;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK_OR_EXIT(memory != MAP_FAILED);
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < pages; ++i) static_cast<volatile char*>(memory)[i * 4096] = 1;
  munmap(memory, bytes);
}

// An answer that only another thread can give: between question and answer this one has to give its
// processor away at least once in so many times.
void wait_for_another_thread() {
  int question[2];
  int answer[2];
  CHECK_OR_EXIT(pipe(question) == 0 && pipe(answer) == 0);
  std::thread echo([&] {
    char byte = 0;
    while (read(question[0], &byte, 1) == 1 && write(answer[1], &byte, 1) == 1) {
    }
  });
  char byte = 'x';
  for (int i = 0; i < 100; ++i) {
    CHECK_OR_EXIT(write(question[1], &byte, 1) == 1 && read(answer[0], &byte, 1) == 1);
  }
  close(question[1]);
  echo.join();
  for (int fd : {question[0], answer[0], answer[1]}) close(fd);
}

TEST(Counters, CountsSoftwareEventsAtAnyPermission) {
  EXPECT_EQ(0, status_of([] {
              const optile_counters_found found = found_up_to(OPTILE_COUNTERS_SOFTWARE);
              CHECK_OR_EXIT(found.tier == OPTILE_COUNTERS_SOFTWARE && found.groups == 1);
              CHECK_OR_EXIT(counters().follow(0) == 0);
              uint64_t before[OPTILE_GROUP_EVENTS];
              uint64_t after[OPTILE_GROUP_EVENTS];
              CHECK_OR_EXIT(counters().read(before) == 0);
              touch_fresh_pages(200);
              wait_for_another_thread();
              CHECK_OR_EXIT(counters().read(after) == 0);
              const auto more = [&](uint8_t event) {
                const std::size_t at = place_of(found, event);
                return after[at] - before[at];
              };
              CHECK_OR_EXIT(more(OPTILE_COUNT_PAGE_FAULTS) >= 200);
              CHECK_OR_EXIT(more(OPTILE_COUNT_CONTEXT_SWITCHES) >= 1);
              CHECK_OR_EXIT(more(OPTILE_COUNT_TASK_CLOCK_NS) > 0);
            }));
}

TEST(Counters, CountsCallingThreadOnly) {
  EXPECT_EQ(0, status_of([] {
              const optile_counters_found found = found_up_to(OPTILE_COUNTERS_SOFTWARE);
              CHECK_OR_EXIT(counters().follow(0) == 0);
              uint64_t before[OPTILE_GROUP_EVENTS];
              uint64_t after[OPTILE_GROUP_EVENTS];
              std::thread idle([] { touch_fresh_pages(1); });
              idle.join();
              CHECK_OR_EXIT(counters().read(before) == 0);
              std::thread([] { touch_fresh_pages(1000); }).join();
              CHECK_OR_EXIT(counters().read(after) == 0);
              const std::size_t faults = place_of(found, OPTILE_COUNT_PAGE_FAULTS);
              CHECK_OR_EXIT(after[faults] - before[faults] < 1000);
            }));
}

TEST(Counters, ClosesDescriptorsWhenThreadLeavesOrEnds) {
  EXPECT_EQ(0, status_of([] {
              found_up_to(OPTILE_COUNTERS_SOFTWARE);
              CHECK_OR_EXIT(perf_descriptors().empty());
              std::thread([] { CHECK_OR_EXIT(counters().follow(0) == 0); }).join();
              CHECK_OR_EXIT(perf_descriptors().empty() && counters().followers() == 0);
              CHECK_OR_EXIT(counters().follow(0) == 0);
              counters().leave();
              CHECK_OR_EXIT(perf_descriptors().empty() && counters().followers() == 0);
              CHECK_OR_EXIT(counters().follow(0) == 0);
              uint64_t counts[OPTILE_GROUP_EVENTS];
              CHECK_OR_EXIT(counters().read(counts) == 0);
            }));
}

// Where perf events are refused there is nothing to open, and nothing that could go wrong with it.
void exit_without_perf() {
  if (perf_descriptors().empty()) std::_Exit(kNotHere);
}

TEST(Counters, DescriptorsAreCloseOnExec) {
  const int status = status_of([] {
    found_up_to(OPTILE_COUNTERS_SOFTWARE);
    CHECK_OR_EXIT(counters().follow(0) == 0);
    exit_without_perf();
    for (int fd : perf_descriptors()) CHECK_OR_EXIT((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
  });
  if (status == kNotHere) GTEST_SKIP() << "no perf events for this user: nothing is opened";
  EXPECT_EQ(0, status);
}

TEST(Counters, NeitherReadsNorClosesReusedDescriptors) {
  const int status = status_of([] {
    found_up_to(OPTILE_COUNTERS_SOFTWARE);
    CHECK_OR_EXIT(counters().follow(0) == 0);
    exit_without_perf();
    int ends[2];
    CHECK_OR_EXIT(pipe2(ends, O_NONBLOCK) == 0);
    CHECK_OR_EXIT(write(ends[1], "0123456789abcdef0123456789abcdef", 32) == 32);
    const std::vector<int> taken = perf_descriptors();
    for (int fd : taken) CHECK_OR_EXIT(dup2(ends[0], fd) == fd);
    uint64_t counts[OPTILE_GROUP_EVENTS];
    CHECK_OR_EXIT(counters().read(counts) != 0);
    counters().leave();
    for (int fd : taken) CHECK_OR_EXIT(fcntl(fd, F_GETFD) >= 0);
    char text[64];
    CHECK_OR_EXIT(read(ends[0], text, sizeof text) == 32);
  });
  if (status == kNotHere) GTEST_SKIP() << "no perf events for this user: nothing is opened";
  EXPECT_EQ(0, status);
}

TEST(Counters, ForkedChildDoesNotStopParentsEvents) {
  const int status = status_of([] {
    const optile_counters_found found = found_up_to(OPTILE_COUNTERS_SOFTWARE);
    CHECK_OR_EXIT(counters().follow(0) == 0);
    exit_without_perf();
    CHECK_OR_EXIT(0 == status_of([] { counters().leave(); }));
    uint64_t before[OPTILE_GROUP_EVENTS];
    uint64_t after[OPTILE_GROUP_EVENTS];
    CHECK_OR_EXIT(counters().read(before) == 0);
    touch_fresh_pages(50);
    CHECK_OR_EXIT(counters().read(after) == 0);
    const std::size_t faults = place_of(found, OPTILE_COUNT_PAGE_FAULTS);
    CHECK_OR_EXIT(after[faults] - before[faults] >= 50);
  });
  if (status == kNotHere) GTEST_SKIP() << "no perf events for this user: nothing is opened";
  EXPECT_EQ(0, status);
}

TEST(Counters, PrintsNothing) {
  EXPECT_EQ(0, status_of([] {
              int ends[2];
              CHECK_OR_EXIT(pipe2(ends, O_NONBLOCK) == 0);
              CHECK_OR_EXIT(dup2(ends[1], 1) == 1 && dup2(ends[1], 2) == 2);
              found_up_to(OPTILE_COUNTERS_HARDWARE);
              counters().follow(0);
              counters().leave();
              char text[64];
              if (read(ends[0], text, sizeof text) > 0) std::_Exit(1);
            }));
}

TEST(Counters, HardwareGroupsIncludeCyclesAndInstructions) {
  const int status = status_of([] {
    const optile_counters_found found = found_up_to(OPTILE_COUNTERS_HARDWARE);
    if (found.tier != OPTILE_COUNTERS_HARDWARE) {
      CHECK_OR_EXIT(found.refused != 0);
      std::_Exit(kNotHere);
    }
    for (uint32_t group = 0; group < found.groups; ++group) {
      CHECK_OR_EXIT(found.events[group][0] == OPTILE_COUNT_CYCLES);
      CHECK_OR_EXIT(found.events[group][1] == OPTILE_COUNT_INSTRUCTIONS);
      CHECK_OR_EXIT(counters().follow(group) == 0);
      uint64_t before[OPTILE_GROUP_EVENTS];
      uint64_t after[OPTILE_GROUP_EVENTS];
      CHECK_OR_EXIT(counters().read(before) == 0);
      touch_fresh_pages(100);
      CHECK_OR_EXIT(counters().read(after) == 0);
      CHECK_OR_EXIT(after[1] - before[1] > 100);
    }
  });
  if (status == kNotHere) GTEST_SKIP() << "no PMU here: hardware counters stay untried";
  EXPECT_EQ(0, status);
}

}  // namespace
