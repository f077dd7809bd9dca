// Where steps begin in programs that call several functions in turn.
#include "bindings/preload/probes/tensorflow/step_function.h"

#include <gtest/gtest.h>

#include <string>

namespace optile::preload {
namespace {

// The calls, a letter each, as they begin steps: those that do in capitals.
std::string play(const std::string& calls) {
  StepFunction steps;
  std::string told;
  for (const char function : calls) {
    const bool begins = steps.begins_step(static_cast<uint64_t>(function));
    told += begins ? static_cast<char>(function - 'a' + 'A') : function;
  }
  return told;
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(StepFunction, OnlyFunctionBeginsEveryStep) {
  EXPECT_EQ(play("aaaa"), "AAAA");
}

TEST(StepFunction, FirstOfTwoInTurnBeginsSteps) {
  EXPECT_EQ(play(repeated("ab", 20)), repeated("Ab", 20));
}

TEST(StepFunction, RarerOfTwoBeginsSteps) {
  EXPECT_EQ(play(repeated("aaaaab", 8)).substr(18), repeated("aaaaaB", 5));
}

TEST(StepFunction, EvaluationNowAndThenBelongsToStep) {
  const std::string epoch = repeated("a", 40) + "bbb";
  std::string expected = repeated("A", 40) + "bbb";
  EXPECT_EQ(play(repeated(epoch, 4)), repeated(expected, 4));
}

TEST(StepFunction, FunctionThatIsCalledAloneTakesOver) {
  const std::string told = play(repeated("a", 20) + repeated("b", 20) + repeated("a", 20));
  EXPECT_EQ(told, repeated("A", 20) + repeated("b", 7) + repeated("B", 13) + repeated("a", 7) +
                      repeated("A", 13));
}

TEST(StepFunction, FunctionThatWasCalledOnceHandsOver) {
  EXPECT_EQ(play("ibbbbb"), "IbBBBB");
}

// Another shape is another function, once.
TEST(StepFunction, LastBatchOfEpochBelongsToStep) {
  EXPECT_EQ(play("aaaaaaaab"
                 "aaaaaaaab"
                 "aaaaaaaab"),
            "AAAAAAAAb"
            "AAAAAAAAb"
            "AAAAAAAAb");
}

}  // namespace
}  // namespace optile::preload
