// The table of clients, and the whole picture in any size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bindings/cli/top/client_table.h"
#include "bindings/cli/top/shown_text.h"
#include "tests/cli/fixtures/golden.h"
#include "tests/cli/top/top_scene.h"
#include "tests/sanitized.h"

namespace optile::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

Snapshot two_clients() {
  Snapshot seen = machine_of(1, 2, 2);
  ClientSeen tuned = client_with(1, {0, 1, 2});
  tuned.progress = 0.875;
  tuned.progress_measured = true;
  tuned.steps_per_second = 50;
  ClientSeen searching = client_with(2, {3});
  searching.phase = "exploring";
  searching.sampled_steps = 12;
  searching.trial_ops = 5;
  searching.trial_widths = {1, 2};
  searching.progress = 0.4;
  searching.priority = "batch";
  searching.pinned = searching.paused = true;
  searching.state = "stopped";
  seen.clients = {tuned, searching};
  seen.leased_cores = 4;
  seen.cause = "client 2 arrived";
  seen.recent = {{"10:00:01", "client 2 from no core to 1 core: client 2 arrived"},
                 {"10:00:00", "client 1 from 4 cores to 3 cores: client 2 arrived"}};
  return seen;
}

Snapshot with_left_cores() {
  Snapshot seen = two_clients();
  seen.left_to_others = 1;
  return seen;
}

Snapshot with_watched_client() {
  Snapshot seen = two_clients();
  seen.clients[1] = client_with(2, {});
  seen.clients[1].leased = false;
  seen.clients[1].mode = "observe";
  return seen;
}

Snapshot with_time_share() {
  Snapshot seen = two_clients();
  seen.clients[0].cores = {2};
  seen.clients[0].fraction = 0.25;
  return seen;
}

TEST(PlainPicture, MatchesGoldenFile) {
  Golden golden("top");
  golden.add("two clients", plain_picture(scene_of(two_clients())));
  golden.add("a core left to others", plain_picture(scene_of(with_left_cores())));
  golden.add("a client without lease", plain_picture(scene_of(with_watched_client())));
  golden.add("a part of a core", plain_picture(scene_of(with_time_share())));
  golden.add("no client", plain_picture(scene_of(machine_of(1, 1, 4))));
  Scene scene = scene_of(two_clients());
  Interaction interaction;
  interaction.follow(scene.seen);
  golden.add("80 columns", plain_text(draw(scene, interaction, {80, 24})));
  interaction.on_key('?', scene.seen);
  golden.add("keys", plain_text(draw(scene, interaction, {80, 24})));
  scene.unreachable = "no daemon";
  golden.add("daemon unreachable", plain_text(draw(scene, Interaction(), {80, 24})));
  golden.check();
}

TEST(PlainPicture, ShowsMachineClientsAndLeases) {
  const Snapshot seen = two_clients();
  const std::string text = plain_picture(scene_of(seen));
  for (const std::string& part : {std::string("optiled 1.2.3  2 clients  4 of 4 cores"),
                                  std::string("4 cores in 2 tiles"),
                                  seen.cause,
                                  std::string("cores   [A A] [A B]"),
                                  std::string("A client  a lent"),
                                  seen.clients[0].command,
                                  std::string("tuned"),
                                  std::string("0-2"),
                                  std::string("1-4"),
                                  std::string("88% meas"),
                                  std::string("50.0"),
                                  seen.clients[0].decision,
                                  std::string("exploring 12"),
                                  std::string("40% pred"),
                                  std::string("batch"),
                                  std::string("stopped,pinned,paused"),
                                  std::string("5 ops at widths 1,2"),
                                  "A lease: " + seen.clients[0].reason,
                                  "B lease: " + seen.clients[1].reason,
                                  seen.recent[1].at + "  " + seen.recent[1].text}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(PlainPicture, ShowsCoresLeftToOthers) {
  EXPECT_THAT(plain_picture(scene_of(with_left_cores())), HasSubstr("0 lent, 1 left"));
}

TEST(PlainPicture, SuggestsRunWithoutClients) {
  EXPECT_THAT(plain_picture(scene_of(machine_of(1, 1, 4))), HasSubstr("optile run"));
}

TEST(PlainPicture, ListsClientWithoutLease) {
  const Snapshot seen = with_watched_client();
  EXPECT_THAT(plain_picture(scene_of(seen)), HasSubstr("B lease: none"));
  EXPECT_EQ(state_text(seen.clients[1]), "observe");
}

TEST(ClientTable, ShowsTimeShareAsFraction) {
  EXPECT_THAT(plain_picture(scene_of(with_time_share())), HasSubstr("0.25 of 2"));
}

TEST(ClientTable, DropsMinorColumnsWhenNarrow) {
  const Scene scene = scene_of(two_clients());
  const auto header = [&](int columns) {
    return plain_text(client_table({scene.seen, scene.letters, 1, columns}).header);
  };
  for (const char* title : {"id", "pid", "command", "phase", "cores", "width", "share", "prio",
                            "of alone", "steps/s", "state", "now"}) {
    EXPECT_THAT(header(200), HasSubstr(title));
  }
  EXPECT_THAT(header(80), Not(HasSubstr("prio")));
  EXPECT_THAT(header(80), HasSubstr("of alone"));
  EXPECT_THAT(header(20), HasSubstr("cores"));
  for (int columns = 12; columns < 250; ++columns) {
    EXPECT_LE(columns_of(header(columns)), columns);
  }
}

// Whatever the terminal is like and whoever is on the machine: as many lines as it has, none
// longer than it is wide.
TEST(Draw, FitsEveryTerminalSize) {
  Snapshot crowded = machine_of(2, 24, 8);
  for (uint64_t id = 1; id <= 60; ++id) {
    crowded.clients.push_back(client_with(id, {static_cast<int>(id)}));
    crowded.recent.push_back({"10:00:00", std::string(300, 'x')});
  }
  for (const Snapshot& seen : {two_clients(), crowded, machine_of(1, 1, 4), Snapshot()}) {
    Scene scene = scene_of(seen);
    Interaction watching;
    watching.follow(scene.seen);
    Interaction typing = watching;
    typing.on_key('s', scene.seen);
    for (int i = 0; i < 40; ++i) typing.on_key('7', scene.seen);
    Interaction reading = watching;
    reading.on_key('?', scene.seen);
    for (const Interaction* interaction : {&watching, &typing, &reading}) {
      for (int columns = 1; columns < 130; columns += test::kSanitized ? 11 : 3) {
        for (int rows = 1; rows < 50; rows += test::kSanitized ? 3 : 1) {
          const Picture picture = draw(scene, *interaction, {columns, rows});
          ASSERT_EQ(picture.size(), static_cast<std::size_t>(rows));
          for (const Line& line : picture) ASSERT_LE(columns_of(plain_text(line)), columns);
        }
      }
    }
  }
}

TEST(Draw, TinyTerminalShowsHeadCoresAndSelection) {
  Scene scene = scene_of(two_clients());
  Interaction interaction;
  interaction.follow(scene.seen);
  interaction.on_key(kKeyDown, scene.seen);
  const std::string text = plain_text(draw(scene, interaction, {20, 5}));
  EXPECT_THAT(text, HasSubstr("optiled 1.2.3"));
  EXPECT_THAT(text, HasSubstr("[A A] [A B]"));
  EXPECT_THAT(text, HasSubstr("> B train"));
  EXPECT_THAT(text, HasSubstr("q quit"));
}

TEST(Draw, LongTableScrollsToSelection) {
  Snapshot seen = machine_of(1, 1, 64);
  for (uint64_t id = 1; id <= 64; ++id) seen.clients.push_back(client_with(id, {int(id) - 1}));
  Scene scene = scene_of(seen);
  Interaction interaction;
  interaction.follow(scene.seen);
  for (int i = 0; i < 40; ++i) interaction.on_key(kKeyDown, scene.seen);
  const std::string text = plain_text(draw(scene, interaction, {100, 24}));
  EXPECT_THAT(text, HasSubstr("> AO"));  // the 41st
  EXPECT_THAT(text, HasSubstr(" of 64"));
}

TEST(Draw, ShowsUnreachableDaemon) {
  Scene scene = scene_of(two_clients());
  scene.unreachable = "no daemon";
  const Picture picture = draw(scene, Interaction(), {80, 24});
  EXPECT_THAT(plain_text(picture[0]), HasSubstr("daemon unreachable, retrying"));
  EXPECT_THAT(plain_text(picture), HasSubstr("train.py"));
}

}  // namespace
}  // namespace optile::cli
