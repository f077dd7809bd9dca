// docs/results/curves.md lists the standard laws and noise: others score against what is written
// there, so the tables and the code have to be the same.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "perfmodel/synthetic/op_law.h"

namespace optile::perfmodel {
namespace {

using Row = std::vector<std::string>;  // cells without the spaces and backquotes around them

std::string bare(const std::string& cell) {
  constexpr const char* kAround = " `";
  const std::size_t first = cell.find_first_not_of(kAround);
  if (first == std::string::npos) return "";
  return cell.substr(first, cell.find_last_not_of(kAround) - first + 1);
}

// Rows of the first table below this heading, without its head.
std::vector<Row> table_below(const std::string& heading) {
  std::ifstream document(OPTILE_CURVES_DOCUMENT);
  std::vector<Row> rows;
  bool below = false;
  for (std::string line; std::getline(document, line);) {
    below = below || line == heading;
    const bool row = !line.empty() && line.front() == '|';
    if (!below || (!row && rows.empty())) continue;
    if (!row) break;
    Row cells;
    std::istringstream text(line.substr(1));
    for (std::string cell; std::getline(text, cell, '|');) cells.push_back(bare(cell));
    rows.push_back(cells);
  }
  if (rows.size() >= 2) rows.erase(rows.begin(), rows.begin() + 2);
  return rows;
}

// An empty cell is zero; anything else that is no number is an error.
double number(const std::string& cell) {
  char* end = nullptr;
  const double value = std::strtod(cell.c_str(), &end);
  EXPECT_TRUE(*end == '\0') << "not a number: " << cell;
  return value;
}

TEST(StandardLaws, MatchDocumentation) {
  const std::vector<Row> rows = table_below("### Standard laws");
  const std::vector<NamedLaw>& laws = standard_laws();
  ASSERT_EQ(rows.size(), laws.size());
  for (std::size_t i = 0; i < laws.size(); ++i) {
    SCOPED_TRACE(laws[i].name);
    ASSERT_EQ(rows[i].size(), 7U);
    const OpLaw& law = laws[i].law;
    EXPECT_EQ(rows[i][0], laws[i].name);
    EXPECT_EQ(rows[i][1], curve_family_name(law.family));
    EXPECT_DOUBLE_EQ(number(rows[i][2]), law.serial * 1e6);
    EXPECT_DOUBLE_EQ(number(rows[i][3]), law.parallel * 1e6);
    EXPECT_DOUBLE_EQ(number(rows[i][4]), law.per_thread * 1e6);
    EXPECT_DOUBLE_EQ(number(rows[i][5]), law.depth);
    EXPECT_DOUBLE_EQ(number(rows[i][6]), law.crowding);
  }
}

TEST(StandardNoise, MatchesDocumentation) {
  const std::vector<Row> rows = table_below("### Standard noise");
  const std::vector<NamedNoise>& models = standard_noise();
  ASSERT_EQ(rows.size(), models.size());
  for (std::size_t i = 0; i < models.size(); ++i) {
    SCOPED_TRACE(models[i].name);
    ASSERT_EQ(rows[i].size(), 4U);
    EXPECT_EQ(rows[i][0], models[i].name);
    EXPECT_DOUBLE_EQ(number(rows[i][1]), models[i].noise.spread);
    EXPECT_DOUBLE_EQ(number(rows[i][2]), models[i].noise.outlier_probability);
    EXPECT_DOUBLE_EQ(number(rows[i][3]), models[i].noise.outlier_factor);
  }
}

}  // namespace
}  // namespace optile::perfmodel
