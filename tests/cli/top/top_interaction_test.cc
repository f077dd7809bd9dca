// Keys in, wishes out; and the loop between a terminal and a daemon, both made up.
#include "bindings/cli/top/interaction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "bindings/cli/top/top.h"
#include "tests/cli/top/top_scene.h"

namespace optile::cli {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

class InteractionTest : public testing::Test {
 protected:
  InteractionTest() : seen_(machine_of(1, 1, 4)) {
    seen_.clients = {client_with(3, {0, 1}), client_with(8, {2, 3})};
    interaction_.follow(seen_);
  }
  Wish press(int key) { return interaction_.on_key(key, seen_); }
  Wish type(const std::string& text) {
    for (const char c : text) EXPECT_EQ(press(c).kind, Wish::Kind::kNone);
    return press(kKeyEnter);
  }

  Snapshot seen_;
  Interaction interaction_;
};

TEST_F(InteractionTest, SelectionFollowsClient) {
  EXPECT_EQ(interaction_.selected(), 3u);
  press(kKeyUp);
  EXPECT_EQ(interaction_.selected(), 3u);
  press('j');
  press(kKeyDown);
  EXPECT_EQ(interaction_.selected(), 8u);
  seen_.clients.insert(seen_.clients.begin(), client_with(1, {}));
  interaction_.follow(seen_);
  EXPECT_EQ(interaction_.selected(), 8u);
  seen_.clients.pop_back();
  interaction_.follow(seen_);
  EXPECT_EQ(interaction_.selected(), 1u);
}

TEST_F(InteractionTest, KeysSendLeaseCommands) {
  EXPECT_EQ(press(' ').command, (Json{{"client", 3}, {"pause", true}}));
  seen_.clients[0].paused = true;
  EXPECT_EQ(press(' ').command, (Json{{"client", 3}, {"resume", true}}));
  press('s');
  EXPECT_THAT(interaction_.bottom_line(), HasSubstr("share of client 3"));
  EXPECT_EQ(type("2.5").command, (Json{{"client", 3}, {"share", 2.5}}));
  press('p');
  EXPECT_EQ(type("0-1,3").command, (Json{{"client", 3}, {"pin", "0-1,3"}}));
  seen_.clients[0].pinned = true;
  EXPECT_EQ(press('p').command, (Json{{"client", 3}, {"unpin", true}}));
  press('d');
  EXPECT_THAT(interaction_.bottom_line(), HasSubstr("y/n"));
  EXPECT_EQ(press('y').command, (Json{{"client", 3}, {"detach", true}}));
  seen_.clients[0].detached = true;
  EXPECT_EQ(press('d').command, (Json{{"client", 3}, {"attach", true}}));
}

TEST_F(InteractionTest, SendsInvalidNumbersUnchanged) {
  press('s');
  EXPECT_EQ(type("2x").command, (Json{{"client", 3}, {"share", "2x"}}));
}

TEST_F(InteractionTest, TypedAnswersCanBeEditedAndCancelled) {
  press('s');
  press('7');
  press(kKeyBackspace);
  press(kKeyBackspace);
  EXPECT_EQ(type("3").command["share"], 3.0);
  press('p');
  press('1');
  EXPECT_EQ(press(kKeyEscape).kind, Wish::Kind::kNone);
  EXPECT_FALSE(interaction_.asking());
  press('p');
  EXPECT_EQ(press(kKeyEnter).kind, Wish::Kind::kNone);  // nothing typed, nothing sent
  press('d');
  EXPECT_EQ(press('n').kind, Wish::Kind::kNone);
  EXPECT_FALSE(interaction_.asking());
  press('s');
  for (int i = 0; i < 1000; ++i) press('1');
  EXPECT_LE(interaction_.bottom_line().size(), Interaction::kMaxAnswer + 100);
}

// Who was asked about may be gone, or another one first in the list, when the answer is typed.
TEST_F(InteractionTest, AnswerAppliesToClientAskedAbout) {
  press('s');
  seen_.clients.erase(seen_.clients.begin());
  interaction_.follow(seen_);
  EXPECT_EQ(type("4").command["client"], 3);
}

TEST_F(InteractionTest, PanesScrollAndClose) {
  EXPECT_EQ(press('e').client, 3u);
  press('?');
  ASSERT_NE(interaction_.pane(), nullptr);
  press(kKeyDown);
  EXPECT_EQ(interaction_.pane()->first, 1u);
  for (int i = 0; i < 100; ++i) press(kKeyPageDown);
  EXPECT_LT(interaction_.pane()->first, interaction_.pane()->lines.size());
  EXPECT_EQ(press('q').kind, Wish::Kind::kNone);  // back, not out
  EXPECT_EQ(interaction_.pane(), nullptr);
  EXPECT_EQ(press('q').kind, Wish::Kind::kQuit);
}

TEST_F(InteractionTest, KeysWithoutClientsSuggestRun) {
  seen_.clients.clear();
  interaction_.follow(seen_);
  for (const int key : {int{'s'}, int{'p'}, int{' '}, int{'d'}, int{kKeyEnter}}) {
    EXPECT_EQ(press(key).kind, Wish::Kind::kNone);
    EXPECT_THAT(interaction_.bottom_line(), HasSubstr("optile run"));
  }
}

// Keys come when their turn is; between them time passes by as much as was waited for.
class FakeTerminal : public Terminal {
 public:
  Size size() const override { return {100, 30}; }
  void show(const Picture& picture) override { pictures.push_back(plain_text(picture)); }
  Event wait(milliseconds most) override {
    if (keys.empty()) return {std::nullopt, true};
    const int key = keys.front();
    keys.pop_front();
    if (key != 0) return {key, false};
    now += most;
    return {};
  }

  std::deque<int> keys;  // 0: nothing is pressed until the next look
  std::vector<std::string> pictures;
  milliseconds now{0};
};

class FakeSource : public TopSource {
 public:
  base::Result<Snapshot> look() override {
    ++looks;
    if (looks <= failing) return base::Error{base::ErrorKind::kNotFound, "no daemon answers"};
    return seen;
  }
  base::Status issue(const Json& command) override {
    words.push_back(command);
    if (refusal.empty()) return {};
    return base::Error{base::ErrorKind::kInvalid, refusal};
  }
  base::Result<std::vector<std::string>> explain(const ClientSeen& client) override {
    return std::vector<std::string>{"why client " + std::to_string(client.id)};
  }

  Snapshot seen;
  int failing = 0;  // that many looks, from the first
  int looks = 0;
  std::string refusal;
  std::vector<Json> words;
};

class TopLoopTest : public testing::Test {
 protected:
  TopLoopTest() {
    source_.seen = machine_of(1, 1, 4);
    source_.seen.daemon_pid = 5;
    source_.seen.clients = {client_with(1, {0, 1}), client_with(2, {2, 3})};
  }
  void run(std::deque<int> keys) {
    terminal_.keys = std::move(keys);
    run_loop({terminal_, source_, milliseconds(1000), [this] { return terminal_.now; }},
             source_.seen);
  }
  std::string last() const { return terminal_.pictures.back(); }

  FakeTerminal terminal_;
  FakeSource source_;
};

TEST_F(TopLoopTest, PollsOncePerInterval) {
  run({0, 0, 0, 'q', 'j'});
  EXPECT_EQ(source_.looks, 3);
  EXPECT_EQ(terminal_.pictures.size(), 4u);
  EXPECT_EQ(terminal_.keys.size(), 1u);  // nothing is read after the end
}

TEST_F(TopLoopTest, ShowsUnreachableDaemonAndReconnects) {
  source_.failing = 2;
  run({0, 0, 0});
  ASSERT_EQ(terminal_.pictures.size(), 4u);
  for (const std::size_t old : {1U, 2U}) {
    EXPECT_THAT(terminal_.pictures[old], HasSubstr("daemon unreachable, retrying"));
    EXPECT_THAT(terminal_.pictures[old], HasSubstr("train.py"));
  }
  EXPECT_THAT(last(), testing::Not(HasSubstr("unreachable")));
}

// Another daemon counts its clients from 1 again: they are not those whose letters are known.
TEST_F(TopLoopTest, RestartsLettersForNewDaemon) {
  Snapshot before = source_.seen;
  before.clients.erase(before.clients.begin());  // client 2 is A
  source_.seen.daemon_pid = 6;
  terminal_.keys = {0};
  run_loop({terminal_, source_, milliseconds(1000), [this] { return terminal_.now; }}, before);
  EXPECT_THAT(terminal_.pictures[0], HasSubstr("[. . A A]"));
  EXPECT_THAT(last(), HasSubstr("[A A B B]"));
}

TEST_F(TopLoopTest, SendsCommandAndPollsAtOnce) {
  run({' '});
  ASSERT_EQ(source_.words.size(), 1u);
  EXPECT_EQ(source_.words[0], (Json{{"client", 1}, {"pause", true}}));
  EXPECT_EQ(source_.looks, 1);
}

TEST_F(TopLoopTest, ShowsRefusalUntilNextKey) {
  source_.refusal = "core 7 is refused";
  run({'p', '7', kKeyEnter});
  EXPECT_THAT(last(), HasSubstr(source_.refusal));
  run({'p', '7', kKeyEnter, 'j'});
  EXPECT_THAT(last(), testing::Not(HasSubstr(source_.refusal)));
}

TEST_F(TopLoopTest, ExplainsSelectedClient) {
  run({'j', kKeyEnter});
  EXPECT_THAT(last(), HasSubstr("B explained"));
  EXPECT_THAT(last(), HasSubstr("why client 2"));
}

}  // namespace
}  // namespace optile::cli
