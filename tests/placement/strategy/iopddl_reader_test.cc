#include "placement/strategy/iopddl_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace optile::placement {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The example of the format's README has this shape; the numbers are ours.
const char* const kSmall = R"({"problem": {"name": "small",
 "nodes": {"intervals": [[0, 4], [2, 5], [3, 3]],
           "costs": [[15, 20], [7], [1000000000000000000, 4]],
           "usages": [[3, 1], [2], [9, 9]]},
 "edges": {"nodes": [[0, 1], [2, 0]], "costs": [[1, 2], [5, 6, 7, 8]]},
 "usage_limit": 5}})";

std::string changed(const std::string& from, const std::string& to) {
  std::string text = kSmall;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string message_of(const std::string& text) {
  const auto problem = read_iopddl(text);
  return problem.ok() ? "it was read" : problem.message();
}

TEST(IopddlReader, ReadsNodesEdgesAndLimit) {
  const auto read = read_iopddl(kSmall);
  ASSERT_TRUE(read.ok()) << read.message();
  const StrategyProblem& problem = read.value();
  EXPECT_EQ(problem.name, "small");
  EXPECT_EQ(problem.usage_limit, 5);
  ASSERT_EQ(problem.nodes.size(), 3U);
  EXPECT_THAT(problem.nodes[0].costs, ElementsAre(15, 20));
  EXPECT_THAT(problem.nodes[2].usages, ElementsAre(9, 9));
  EXPECT_EQ(problem.nodes[1].live.begin, 2);
  EXPECT_EQ(problem.nodes[1].live.end, 5);
  ASSERT_EQ(problem.edges.size(), 2U);
  const StrategyEdge& edge = problem.edges[1];
  EXPECT_EQ(edge.first, 2U);
  // Row by row: the first node's strategies are the rows.
  EXPECT_EQ(problem.tables[edge.table].at(0, 1), 6);
  EXPECT_EQ(problem.tables[edge.table].at(1, 0), 7);
}

TEST(IopddlReader, AcceptsMissingUsageLimit) {
  const auto read = read_iopddl(changed(",\n \"usage_limit\": 5", ""));
  ASSERT_TRUE(read.ok()) << read.message();
  EXPECT_FALSE(read.value().usage_limit.has_value());
}

// The format's numbers have 64 bits; sums have more.
TEST(IopddlReader, ReadsGreatest64BitNumbers) {
  constexpr std::int64_t kGreatest = std::numeric_limits<std::int64_t>::max();
  std::string text = changed("[15, 20], [7]", "[999999999999999999, 9223372036854775807], [7]");
  text.replace(text.find("[3, 1]"), 6, "[9223372036854775807, 9223372036854775806]");
  text.replace(text.find("\"usage_limit\": 5"), 16, "\"usage_limit\": 9223372036854775807");
  const auto read = read_iopddl(text);
  ASSERT_TRUE(read.ok()) << read.message();
  const StrategyProblem& problem = read.value();
  EXPECT_THAT(problem.nodes[0].costs, ElementsAre(999'999'999'999'999'999, kGreatest));
  EXPECT_THAT(problem.nodes[0].usages, ElementsAre(kGreatest, kGreatest - 1));
  EXPECT_EQ(problem.usage_limit, kGreatest);
}

TEST(IopddlReader, DeduplicatesEqualCostTables) {
  const auto read = read_iopddl(changed("[[0, 1], [2, 0]], \"costs\": [[1, 2], [5, 6, 7, 8]]",
                                        "[[0, 1], [0, 1]], \"costs\": [[1, 2], [1, 2]]"));
  ASSERT_TRUE(read.ok()) << read.message();
  EXPECT_EQ(read.value().edges.size(), 2U);
  EXPECT_EQ(read.value().tables.size(), 1U);
}

TEST(IopddlReader, ReportsPositionOfErrors) {
  EXPECT_EQ(message_of(changed("[15, 20]", "[15, 2.5]")),
            "line 3, column 28: costs, usages and times are whole numbers");
  EXPECT_THAT(message_of(changed("[15, 20]", "[15 20]")), HasSubstr("line 3, column 26"));
  EXPECT_THAT(message_of(changed("[15, 20]", "[15, -1]")), HasSubstr("a cost is negative"));
  EXPECT_THAT(message_of(changed("[15, 20]", "[15, 007]")), HasSubstr("leading zero"));
  EXPECT_THAT(message_of(changed("[15, 20]", "[15, 99999999999999999999]")),
              HasSubstr("beyond 64 bits"));
  EXPECT_THAT(message_of(changed("\"usages\"", "\"usage\"")),
              HasSubstr("\"usage\" is nothing that nodes have"));
  EXPECT_THAT(message_of(changed("\"name\": \"small\"", "\"usage_limit\": 1")),
              HasSubstr("stands here twice"));
  EXPECT_THAT(message_of(std::string(kSmall) + "x"), HasSubstr("something follows the problem"));
}

TEST(IopddlReader, RejectsTruncatedText) {
  const std::string text = kSmall;
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(read_iopddl(text.substr(0, length)).ok()) << length;
  }
}

TEST(IopddlReader, RejectsInconsistentNodesAndEdges) {
  EXPECT_THAT(message_of(changed("[[1, 2], [5, 6, 7, 8]]", "[[1, 2], [5, 6, 7]]")),
              HasSubstr("edge 1 has 3 costs for 2 by 2 strategies"));
  EXPECT_THAT(message_of(changed("[2, 0]]", "[3, 0]]")), HasSubstr("edge 1 names a node"));
  EXPECT_THAT(message_of(changed("[[0, 1], [2, 0]], \"costs\": [[1, 2],",
                                 "[[1, 1], [2, 0]], \"costs\": [[1],")),
              HasSubstr("joins a node with itself"));
  EXPECT_THAT(
      message_of("{\"problem\": {\"nodes\": {\"intervals\": [[0, 1]], \"costs\": [[]], \"usages\": "
                 "[[]]}, \"edges\": {\"nodes\": [], \"costs\": []}}}"),
      HasSubstr("node 0 has no strategy"));
  EXPECT_THAT(message_of(changed("[[3, 1], [2], [9, 9]]", "[[3, 1], [2]]")),
              HasSubstr("3 lists of costs, 2 of usages"));
  EXPECT_THAT(message_of(changed("[2, 5]", "[5, 2]")), HasSubstr("node 1 ends before it begins"));
}

TEST(IopddlReader, RecognisesItsFormat) {
  EXPECT_TRUE(looks_like_iopddl(kSmall));
  EXPECT_FALSE(looks_like_iopddl("{\"nodes\": []}"));
  EXPECT_FALSE(looks_like_iopddl("node1 -- x"));
  EXPECT_FALSE(looks_like_iopddl(""));
}

}  // namespace
}  // namespace optile::placement
