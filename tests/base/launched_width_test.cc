#include "base/launched_width.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/local_ranks.h"

namespace optile::base {
namespace {

TEST(LaunchedWidth, ReadsWidthRanksAndHost) {
  const LaunchedWidth plain = read_launched_width("launcher:16");
  EXPECT_EQ(plain.width, 16U);
  EXPECT_EQ(plain.ranks, 1U);
  EXPECT_STREQ(plain.host, "");
  const LaunchedWidth full = read_launched_width("launcher:16/4@node7");
  EXPECT_EQ(full.width, 16U);
  EXPECT_EQ(full.ranks, 4U);
  EXPECT_STREQ(full.host, "node7");
  EXPECT_STREQ(read_launched_width("launcher:16@node7").host, "node7");
}

TEST(LaunchedWidth, MalformedTextReadsAsZeroWidth) {
  for (const char* text : {"", "environment", "launcher:", "launcher:0", "launcher:x",
                           "launcher:4 threads", "launcher:99999999", "launcher:-1"}) {
    EXPECT_EQ(read_launched_width(text).width, 0U) << text;
  }
  EXPECT_EQ(read_launched_width(nullptr).width, 0U);
}

TEST(LaunchedWidth, LauncherWidthHoldsOnlyWhileVariableIsUnset) {
  const LaunchedWidth launched = read_launched_width("launcher:16@node7");
  EXPECT_TRUE(is_launched_width(launched, nullptr));
  EXPECT_FALSE(is_launched_width(launched, "16")) << "also where it is the same";
  EXPECT_FALSE(is_launched_width(launched, ""));
}

TEST(LaunchedWidth, ExportedWidthHoldsWhileVariableIsUnsetOrEqual) {
  const LaunchedWidth launched = read_launched_width("exported:16/2@node7");
  EXPECT_EQ(launched.width, 16U);
  EXPECT_EQ(launched.ranks, 2U);
  EXPECT_TRUE(is_launched_width(launched, nullptr));
  EXPECT_TRUE(is_launched_width(launched, "16"));
  for (const char* word : {"", "1", "160", "16,2", "x"}) {
    EXPECT_FALSE(is_launched_width(launched, word)) << word;
  }
  EXPECT_FALSE(is_launched_width({}, nullptr));
}

using Variables = std::map<std::string, std::string>;

auto values_of(const Variables& variables) {
  return [&variables](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

uint32_t ranks_of(const Variables& variables) {
  return local_ranks(values_of(variables));
}

TEST(LocalRanks, ReadsLauncherVariables) {
  EXPECT_EQ(ranks_of({{"LOCAL_WORLD_SIZE", "8"}}), 8U);
  EXPECT_EQ(ranks_of({{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}), 2U);
  EXPECT_EQ(ranks_of({{"MPI_LOCALNRANKS", "4"}}), 4U);
  EXPECT_EQ(ranks_of({{"SLURM_STEP_TASKS_PER_NODE", "16(x2),3"}}), 16U);
  EXPECT_EQ(ranks_of({{"OMPI_COMM_WORLD_LOCAL_SIZE", "x"}}), 1U);
  EXPECT_EQ(ranks_of({}), 1U);
}

TEST(LocalRanks, OneThreadCountsAsTorchrunDefault) {
  const Variables rank = {{"TORCHELASTIC_RUN_ID", "none"}, {"LOCAL_WORLD_SIZE", "2"}};
  EXPECT_TRUE(is_default_of_torchrun("1", values_of(rank)));
  EXPECT_FALSE(is_default_of_torchrun("2", values_of(rank)));
  EXPECT_FALSE(is_default_of_torchrun(nullptr, values_of(rank)));
  EXPECT_FALSE(is_default_of_torchrun("1", values_of({{"LOCAL_WORLD_SIZE", "2"}})));
  // For a single rank torchrun says nothing.
  EXPECT_FALSE(is_default_of_torchrun(
      "1", values_of({{"TORCHELASTIC_RUN_ID", "none"}, {"LOCAL_WORLD_SIZE", "1"}})));
}

}  // namespace
}  // namespace optile::base
