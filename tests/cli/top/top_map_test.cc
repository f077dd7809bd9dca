// The cores as cells, and the letters of clients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "bindings/cli/top/core_map.h"
#include "bindings/cli/top/shown_text.h"
#include "tests/cli/top/top_scene.h"

namespace optile::cli {
namespace {

using testing::HasSubstr;

std::string map_of(const Snapshot& seen, MapLimits limits = {100, 0}) {
  Letters letters;
  letters.follow(seen.clients);
  return plain_text(core_map(seen, letters, 0, limits));
}

long count(const std::string& text, char sign) {
  return std::count(text.begin(), text.end(), sign);
}

TEST(CoreMap, BracketsCoresByTile) {
  Snapshot seen = machine_of(1, 2, 2);
  seen.clients = {client_with(1, {0, 1, 2}), client_with(2, {3})};
  EXPECT_EQ(map_of(seen), "cores   [A A] [A B]\n");
}

TEST(CoreMap, MarksOwnedLentSharedAndUngrantedCores) {
  Snapshot seen = machine_of(1, 1, 8);
  seen.tiles[0].cores[7].granted = false;
  ClientSeen waits = client_with(1, {0});
  waits.lends = {1, 2};
  ClientSeen borrows = client_with(2, {1, 2, 3});
  ClientSeen one = client_with(3, {4});
  ClientSeen other = client_with(4, {4});
  one.fraction = other.fraction = 0.5;
  ClientSeen alone_in_turns = client_with(5, {5});
  alone_in_turns.fraction = 0.25;
  seen.clients = {waits, borrows, one, other, alone_in_turns};
  EXPECT_EQ(map_of(seen), "cores   [A b b B * * . -]\n");
}

TEST(CoreMap, SingleCoreTilesHaveNoBrackets) {
  Snapshot seen = machine_of(1, 10, 1);
  EXPECT_EQ(map_of(seen), "cores   . . . . . . . . . .\n");
}

TEST(CoreMap, NumaNodesStartNewRows) {
  Snapshot seen = machine_of(2, 2, 2);
  seen.clients = {client_with(1, {4, 5})};
  EXPECT_EQ(map_of(seen), "node 0  [. .] [. .]\nnode 1  [A A] [. .]\n");
}

TEST(CoreMap, ManyCoreMachineWrapsWithoutLosingCores) {
  Snapshot seen = machine_of(2, 24, 8);  // 384
  seen.clients = {client_with(1, cores_between(0, 99)), client_with(2, cores_between(100, 383))};
  for (const int columns : {10, 20, 40, 80, 100, 200, 400}) {
    const std::string map = map_of(seen, {columns, 0});
    EXPECT_EQ(count(map, 'A'), 100) << columns;
    EXPECT_EQ(count(map, 'B'), 284) << columns;
    EXPECT_EQ(count(map, '['), 48) << columns;
  }
  const Letters letters;
  for (const Line& line : core_map(seen, letters, 0, {80, 0})) {
    EXPECT_LE(columns_of(plain_text(line)), 80);
  }
}

TEST(CoreMap, ShrinksThenCountsHiddenCores) {
  Snapshot seen = machine_of(1, 48, 8);
  const std::string brackets = map_of(seen, {80, 6});
  EXPECT_EQ(count(brackets, '.'), 384);
  EXPECT_EQ(count(brackets, '\n'), 6);
  const std::string tight = map_of(seen, {80, 5});  // 72 cells in a row would be six rows
  EXPECT_THAT(tight, HasSubstr("more cores"));
  const std::string wide = map_of(seen, {140, 3});
  EXPECT_EQ(count(wide, '.'), 384);
  EXPECT_EQ(count(wide, '['), 0);
  const std::string few = map_of(seen, {80, 2});
  EXPECT_EQ(count(few, '.'), 72);
  EXPECT_THAT(few, HasSubstr(" 312 more "));
  EXPECT_THAT(map_of(seen, {80, 1}), HasSubstr(" 384 more "));
}

TEST(CoreMap, WidensCellsForTwoLetters) {
  Snapshot seen = machine_of(1, 1, 30);
  for (uint64_t id = 1; id <= 28; ++id) {
    seen.clients.push_back(client_with(id, {static_cast<int>(id) - 1}));
  }
  const std::string map = map_of(seen);
  EXPECT_THAT(map, HasSubstr("[A  B  C "));
  EXPECT_THAT(map, HasSubstr("Z  AA AB .. ..]"));
}

TEST(CoreMap, SelectedClientIsReversed) {
  Snapshot seen = machine_of(1, 1, 2);
  seen.clients = {client_with(1, {0}), client_with(2, {1})};
  Letters letters;
  letters.follow(seen.clients);
  int reversed = 0;
  const Picture map = core_map(seen, letters, 2, {80, 0});
  for (const Span& span : map[0]) {
    if (!span.style.reverse) continue;
    EXPECT_EQ(span.text, "B");
    ++reversed;
  }
  EXPECT_EQ(reversed, 1);
}

TEST(ClientLetters, StayWithTheirClients) {
  Letters letters;
  letters.follow({client_with(1, {}), client_with(2, {}), client_with(3, {})});
  EXPECT_EQ(letters.of(2), "B");
  letters.follow({client_with(2, {}), client_with(3, {}), client_with(9, {})});
  EXPECT_EQ(letters.of(1), "?");
  EXPECT_EQ(letters.of(2), "B");
  EXPECT_EQ(letters.of(3), "C");
  EXPECT_EQ(letters.of(9), "A");
}

}  // namespace
}  // namespace optile::cli
