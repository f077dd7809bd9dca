// Where a file is said to be no topology.
#include "perfmodel/topology_text.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "perfmodel/machine.h"

namespace optile::perfmodel {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(TopologyText, WhatLstopoWroteIsOne) {
  EXPECT_FALSE(find_topology_problem(text_of(OPTILE_MACHINE_FILE)).has_value());
}

TEST(TopologyText, WhatIsWrongHasItsPlace) {
  const struct {
    std::string text;
    int line;
    int column;
    std::string what;
  } cases[] = {
      {"", 1, 1, "nothing is in it"},
      {"\n\n", 3, 1, "nothing is in it"},
      {"pack:1 core:4", 1, 1, "XML begins with \"<\""},
      {"{\"format\": 1}", 1, 1, "XML begins with"},
      {"<?xml version=\"1.0\"?>\n<svg/>", 2, 1, "<topology> is expected here, not <svg>"},
      {"<?xml version=\"1.0\"", 1, 1, "<? is never closed"},
      {"<topology>\n <object type=\"Machine\">\n", 2, 2, "<object> is never closed"},
      {"<topology>\n</object></topology>", 2, 1, "</object> where <topology> is open"},
      {"<topology><object a=1/></topology>", 1, 21, "a value in quotes is expected"},
      {"<topology><object a/></topology>", 1, 20, "\"=\" is expected here"},
      {"<topology><object a=\"1></topology>", 1, 21, "this quote is never closed"},
      {"<topology><object &/></topology>", 1, 19, "an attribute or"},
      {"<topology version=\"2.0\"></topology>", 1, 1, "<topology> has no <object>"},
      {"<topology><object/></topology>\n<topology/>", 2, 1, "behind </topology>"},
      {"<topology><object/></topology> x", 1, 32, "something behind the last tag"},
      {"<topology>< object/></topology>", 1, 12, "a name is expected here"},
      {"<!-- a -->\n<topology><object/></topology", 2, 30, "\">\" is expected here"},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.text);
    const auto problem = find_topology_problem(one.text);
    ASSERT_TRUE(problem.has_value());
    EXPECT_EQ(problem->line, one.line);
    EXPECT_EQ(problem->column, one.column);
    EXPECT_NE(problem->what.find(one.what), std::string::npos) << problem->what;
  }
}

// Of a file that was cut off anywhere, the place lies within what is left.
TEST(TopologyText, EveryPrefixIsAProblemWithItsPlace) {
  const std::string whole = text_of(OPTILE_MACHINE_FILE);
  const std::size_t last = whole.rfind('>');
  for (std::size_t bytes = 0; bytes <= last; bytes += 7) {
    const auto problem = find_topology_problem(std::string_view(whole).substr(0, bytes));
    ASSERT_TRUE(problem.has_value()) << bytes;
    EXPECT_GE(problem->column, 1);
    EXPECT_GE(problem->line, 1);
  }
}

TEST(TopologyText, AMachineThatIsNoneSaysWhere) {
  const std::string path = testing::TempDir() + "no_topology.xml";
  std::ofstream(path) << "<topology>\n  <object type=\"Machine\">\n";
  const auto machine = make_machine_source(path)->read();
  ASSERT_FALSE(machine.ok());
  EXPECT_EQ(machine.error().kind, base::ErrorKind::kInvalid);
  EXPECT_EQ(machine.message(),
            path + " is no topology: line 2, column 3: <object> is never closed");
}

}  // namespace
}  // namespace optile::perfmodel
