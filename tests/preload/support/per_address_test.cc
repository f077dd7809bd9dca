#include "bindings/preload/support/per_address.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

namespace optile::preload {
namespace {

struct Answer {
  uintptr_t whose = 0;
  uintptr_t again = 0;
};

const void* address_at(uintptr_t number) {
  // Only ever compared. NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<const void*>(number);
}

// As the loader draws them: apart by anything, with no order that a hash could be good for.
std::vector<const void*> drawn(size_t count) {
  std::set<uintptr_t> numbers;
  for (uint64_t state = 12345; numbers.size() < count;) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    numbers.insert(0x7f0000000000 + (state >> 36) * 16);
  }
  std::vector<const void*> addresses;
  for (const uintptr_t number : numbers) addresses.push_back(address_at(number));
  return addresses;
}

TEST(PerAddress, AsksOnceDespiteCollisions) {
  PerAddress<Answer, 64> answers;
  const std::vector<const void*> addresses = drawn(16);
  int asked = 0;
  for (int round = 0; round < 3; ++round) {
    for (const void* address : addresses) {
      const Answer answer = answers.get(address, [&asked](const void* whose) {
        ++asked;
        return Answer{reinterpret_cast<uintptr_t>(whose), 7};
      });
      EXPECT_EQ(answer.whose, reinterpret_cast<uintptr_t>(address));
      EXPECT_EQ(answer.again, 7U);
    }
  }
  EXPECT_EQ(asked, 16);
}

TEST(PerAddress, CachesNullAnswers) {
  PerAddress<const void*, 8> answers;
  int asked = 0;
  const auto nothing = [&asked](const void*) -> const void* {
    ++asked;
    return nullptr;
  };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(answers.get(&asked, nothing), nullptr);
  EXPECT_EQ(asked, 1);
}

TEST(PerAddress, FullTableStillAnswersCorrectly) {
  PerAddress<uintptr_t, 8> answers;
  const std::vector<const void*> addresses = drawn(100);
  int asked = 0;
  const auto itself = [&asked](const void* whose) {
    ++asked;
    return reinterpret_cast<uintptr_t>(whose);
  };
  for (int round = 0; round < 2; ++round) {
    for (const void* address : addresses) {
      EXPECT_EQ(answers.get(address, itself), reinterpret_cast<uintptr_t>(address));
    }
  }
  EXPECT_EQ(asked, 100 + 92);
}

TEST(PerAddress, ConcurrentThreadsGetCorrectAnswers) {
  PerAddress<Answer, 64> answers;
  const std::vector<const void*> addresses = drawn(24);
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (int& mine : wrong) {
    threads.emplace_back([&answers, &addresses, &mine] {
      for (int round = 0; round < 100; ++round) {
        for (const void* address : addresses) {
          const auto expected = reinterpret_cast<uintptr_t>(address);
          const Answer answer = answers.get(address, [](const void* whose) {
            return Answer{reinterpret_cast<uintptr_t>(whose), ~reinterpret_cast<uintptr_t>(whose)};
          });
          if (answer.whose != expected || answer.again != ~expected) ++mine;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

// fault: F48
TEST(PerAddress, AsksAgainAfterUnloading) {
  PerAddress<uintptr_t, 64> answers;
  const std::vector<const void*> addresses = drawn(16);
  uintptr_t now = 1;
  for (const void* address : addresses) answers.get(address, [&](const void*) { return now; });
  now = 2;
  __atomic_add_fetch(&unloadings_so_far, 1, __ATOMIC_RELEASE);
  for (const void* address : addresses) {
    EXPECT_EQ(answers.get(address, [&](const void*) { return now; }), 2u);
  }
  now = 3;
  for (const void* address : addresses) {
    EXPECT_EQ(answers.get(address, [&](const void*) { return now; }), 2u) << "once is enough";
  }
}

}  // namespace
}  // namespace optile::preload
