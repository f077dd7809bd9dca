// Words about this very process, and what the next daemon knows of them.
#include "daemon/leases/persisted_commands.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "daemon/process/process_entry.h"
#include "tests/daemon/fixtures/controller_fixture.h"
#include "tests/daemon/fixtures/temporary_directory.h"

namespace optile::daemon {
namespace {

using CommandKind = LeaseCommand::Kind;

LeaseCommand pin(std::vector<int> cores) {
  return {1, CommandKind::kPin, 1.0, std::move(cores), true};
}

LeaseCommand command(CommandKind kind, double share = 1.0) {
  return {1, kind, share, {}, false};
}

std::string text_in(const std::string& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

class PersistedCommandsTest : public testing::Test {
 protected:
  std::string file() const { return folder_.path() + "/words"; }

  TemporaryDirectory folder_;
};

TEST_F(PersistedCommandsTest, NextDaemonReadsCommands) {
  {
    PersistedCommands commands(file());
    commands.record(getpid(), command(CommandKind::kShare, 3));
    commands.record(getpid(), pin({1, 2}));
    commands.record(getpid(), command(CommandKind::kPause));
  }
  const std::vector<LeaseCommand> all = PersistedCommands(file()).commands_of(getpid());
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].kind, CommandKind::kShare);
  EXPECT_DOUBLE_EQ(all[0].share, 3);
  EXPECT_EQ(all[1].kind, CommandKind::kPin);
  EXPECT_EQ(all[1].cores, (std::vector<int>{1, 2}));
  EXPECT_EQ(all[2].kind, CommandKind::kPause);
}

TEST_F(PersistedCommandsTest, PauseIsKeptWithCoresAndFraction) {
  {
    PersistedCommands commands(file());
    commands.record(getpid(), {1, CommandKind::kPause, 1.0, {3}, true, 0.25});
  }
  const std::vector<LeaseCommand> all = PersistedCommands(file()).commands_of(getpid());
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].cores, std::vector<int>{3});
  EXPECT_DOUBLE_EQ(all[0].fraction, 0.25);
}

// An administrator's pause of what its user has pinned does not let the pin go further.
TEST_F(PersistedCommandsTest, EachCommandKeepsItsBoundedFlag) {
  {
    PersistedCommands commands(file());
    commands.record(getpid(), pin({1, 2}));
    commands.record(getpid(), {1, CommandKind::kPause, 1.0, {1, 2}, false});
  }
  const std::vector<LeaseCommand> all = PersistedCommands(file()).commands_of(getpid());
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(all[0].bounded);
  EXPECT_FALSE(all[1].bounded);
}

TEST_F(PersistedCommandsTest, AttachRevokesDetachAndKeepsEarlierShare) {
  PersistedCommands commands(file());
  commands.record(getpid(), command(CommandKind::kShare, 2));
  commands.record(getpid(), command(CommandKind::kDetach));
  commands.record(getpid(), command(CommandKind::kAttach));
  const std::vector<LeaseCommand> all = commands.commands_of(getpid());
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].kind, CommandKind::kShare) << "the one before";
}

TEST_F(PersistedCommandsTest, RevokedCommandsAreForgottenAndFileRemoved) {
  PersistedCommands commands(file());
  commands.record(getpid(), pin({1, 2}));
  EXPECT_TRUE(commands.commands_of(getpid()).at(0).bounded);
  EXPECT_TRUE(std::filesystem::exists(file()));
  commands.record(getpid(), command(CommandKind::kPause));
  commands.record(getpid(), command(CommandKind::kUnpin));
  commands.record(getpid(), command(CommandKind::kResume));
  EXPECT_TRUE(commands.commands_of(getpid()).empty());
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(PersistedCommandsTest, DetachSuppressesEarlierPin) {
  PersistedCommands commands(file());
  commands.record(getpid(), pin({1}));
  commands.record(getpid(), command(CommandKind::kDetach));
  const std::vector<LeaseCommand> all = PersistedCommands(file()).commands_of(getpid());
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].kind, CommandKind::kDetach);
}

TEST_F(PersistedCommandsTest, ReusedPidHasNoCommands) {
  PersistedCommands(file()).record(getpid(), pin({1}));
  std::string text = text_in(file());
  const std::string start = std::to_string(start_of_process(getpid()).value());
  text.replace(text.find(start), start.size(), "1");
  write(file(), text);
  PersistedCommands commands(file());
  EXPECT_TRUE(commands.commands_of(getpid()).empty());
  commands.record(getpid(), command(CommandKind::kShare, 2));
  EXPECT_EQ(commands.commands_of(getpid()).size(), 1u);
  EXPECT_EQ(text_in(file()).find("\"start_ticks\":1,"), std::string::npos) << "it is gone";
}

TEST_F(PersistedCommandsTest, MalformedOrForeignFileIsIgnored) {
  for (const char* text : {"", "[", "{}", "[1]", "[{\"pid\":\"x\"}]", "[{}]"}) {
    write(file(), text);
    EXPECT_TRUE(PersistedCommands(file()).commands_of(getpid()).empty()) << text;
  }
  std::filesystem::remove(file());
  std::filesystem::create_symlink("/dev/zero", file());
  EXPECT_TRUE(PersistedCommands(file()).commands_of(getpid()).empty());
}

// fault: F50
TEST_F(PersistedCommandsTest, FileOfAnotherDaemonIsNotWritten) {
  PersistedCommands commands(file(), [] { return false; });
  write(file(), "another's");
  commands.record(getpid(), pin({1}));
  EXPECT_EQ(commands.commands_of(getpid()).size(), 1u);
  commands.record(getpid(), command(CommandKind::kUnpin));
  EXPECT_EQ(text_in(file()), "another's");
}

class PersistedCommandsRestartTest : public ControllerTest {
 protected:
  PersistedCommandsRestartTest() {
    leases_ = true;
    make_controller();
  }
  AttachRequest here(const std::string& run) {
    AttachRequest mine = attach_request(run);
    mine.pid = getpid();
    return mine;
  }
  std::vector<int> pinned(uint64_t id) {
    const auto view = controller_->lease_manager().leases()->table().view(id);
    return view && view->pinned ? view->granted.cores : std::vector<int>();
  }
};

// fault: F1
TEST_F(PersistedCommandsRestartTest, PinHoldsAfterRestart) {
  const Attached before = attach(here("r"));
  ASSERT_TRUE(
      controller_->lease_manager().apply({before.id, CommandKind::kPin, 1.0, {2}, false}).ok());
  ASSERT_EQ(pinned(before.id), std::vector<int>{2});
  make_controller();
  const Attached after = attach(here("r"));
  EXPECT_EQ(pinned(after.id), std::vector<int>{2});
  EXPECT_NE(
      controller_->lease_manager().history().newest_first().back().text.find("pinned to cores 2"),
      std::string::npos);
}

TEST_F(PersistedCommandsRestartTest, PauseKeepsItsCoresAfterRestart) {
  AttachRequest another = attach_request("s");
  another.pid = getppid();
  const Attached first = attach(here("r"));
  const Attached second = attach(another);
  const auto lease = [this](uint64_t id) {
    return controller_->lease_manager().leases()->table().view(id)->granted.cores;
  };
  const std::vector<int> kept = lease(first.id);
  ASSERT_EQ(kept.size(), 2u);
  ASSERT_TRUE(
      controller_->lease_manager().apply({first.id, CommandKind::kPause, 1.0, {}, false}).ok());
  make_controller();
  const Attached back = attach(here("r"));
  EXPECT_EQ(lease(back.id), kept) << "though it is alone now";
  const Attached other = attach(another);
  EXPECT_EQ(lease(back.id), kept);
  EXPECT_EQ(lease(other.id).size(), 2u);
}

TEST_F(PersistedCommandsRestartTest, ReportsPinThatCannotBeKept) {
  const Attached before = attach(here("r"));
  ASSERT_TRUE(
      controller_->lease_manager().apply({before.id, CommandKind::kPin, 1.0, {2}, false}).ok());
  make_controller();
  AttachRequest another = attach_request("s");
  another.pid = getppid();
  const Attached first = attach(another);
  ASSERT_TRUE(
      controller_->lease_manager().apply({first.id, CommandKind::kPin, 1.0, {2}, false}).ok());
  const Attached after = attach(here("r"));
  EXPECT_TRUE(pinned(after.id).empty());
  const auto& told = controller_->lease_manager().history().newest_first();
  EXPECT_TRUE(std::any_of(told.begin(), told.end(), [](const LeaseEvent& one) {
    return one.text.find("that cannot be fulfilled") != std::string::npos;
  }));
}

// fault: F1
TEST_F(PersistedCommandsRestartTest, PinOfAllCoresHoldsBesideOtherClient) {
  AttachRequest another = attach_request("s");
  another.pid = getppid();
  const std::vector<int> all = {0, 1, 2, 3};
  const Attached before = attach(here("r"));
  ASSERT_TRUE(
      controller_->lease_manager().apply({before.id, CommandKind::kPin, 1.0, all, false}).ok());
  make_controller();
  const Attached other = attach(another);  // back first
  const Attached after = attach(here("r"));
  EXPECT_EQ(pinned(after.id), all);
  ASSERT_TRUE(
      controller_->lease_manager().apply({after.id, CommandKind::kDetach, 1.0, {}, false}).ok());
  ASSERT_TRUE(
      controller_->lease_manager().apply({after.id, CommandKind::kAttach, 1.0, {}, false}).ok());
  EXPECT_EQ(pinned(after.id), all);
  EXPECT_TRUE(controller_->lease_manager().status(after.id).pending.empty());
}

// One with a pin that stood before its detachment, which another one's stands against now.
class PendingCommands : public PersistedCommandsRestartTest {
 protected:
  void attach_both(const std::vector<int>& of_other) {
    first_ = attach(here("r"));
    change({first_.id, CommandKind::kPin, 1.0, {2}, false});
    change({first_.id, CommandKind::kDetach, 1.0, {}, false});
    AttachRequest another = attach_request("s");
    another.pid = getppid();
    other_ = attach(another);
    change({other_.id, CommandKind::kPin, 1.0, of_other, false});
    change({first_.id, CommandKind::kAttach, 1.0, {}, false});
    ASSERT_TRUE(pinned(first_.id).empty());
    ASSERT_EQ(controller_->lease_manager().status(first_.id).pending.size(), 1u);
  }
  void change(const LeaseCommand& command) {
    ASSERT_TRUE(controller_->lease_manager().apply(command).ok());
  }

  Attached first_;
  Attached other_;
};

// fault: F1
TEST_F(PendingCommands, ApplyOnceConflictEnds) {
  attach_both({2, 3});
  const std::string text = controller_->lease_manager().status(first_.id).pending[0];
  EXPECT_NE(text.find("pinned to cores 2: core 2 is pinned to client"), std::string::npos);
  controller_->lease_manager().refresh_budgets();
  EXPECT_TRUE(pinned(first_.id).empty());
  controller_->depart(other_.id);
  controller_->lease_manager().refresh_budgets();
  EXPECT_EQ(pinned(first_.id), std::vector<int>{2});
  EXPECT_TRUE(controller_->lease_manager().status(first_.id).pending.empty());
}

TEST_F(PendingCommands, AreDroppedWhenRevoked) {
  attach_both({2});
  change({first_.id, CommandKind::kUnpin, 1.0, {}, false});
  EXPECT_TRUE(controller_->lease_manager().status(first_.id).pending.empty());
  change({other_.id, CommandKind::kUnpin, 1.0, {}, false});
  EXPECT_TRUE(pinned(first_.id).empty());
}

TEST_F(PersistedCommandsRestartTest, DetachedClientHasNoLeaseUntilAttached) {
  const Attached before = attach(here("r"));
  ASSERT_TRUE(
      controller_->lease_manager().apply({before.id, CommandKind::kDetach, 1.0, {}, false}).ok());
  make_controller();
  const Attached after = attach(here("r"));
  EXPECT_FALSE(controller_->lease_manager().leases()->clients().at(after.id).has_lease());
  EXPECT_TRUE(controller_->lease_manager().status(after.id).detached);
  ASSERT_TRUE(
      controller_->lease_manager().apply({after.id, CommandKind::kAttach, 1.0, {}, false}).ok());
  make_controller();
  const Attached again = attach(here("r"));
  EXPECT_TRUE(controller_->lease_manager().leases()->clients().at(again.id).has_lease());
}

TEST_F(PersistedCommandsRestartTest, AttachRestoresPinFromBeforeDetach) {
  const Attached one = attach(here("r"));
  EXPECT_FALSE(
      controller_->lease_manager().apply({one.id, CommandKind::kAttach, 1.0, {}, false}).ok());
  ASSERT_TRUE(
      controller_->lease_manager().apply({one.id, CommandKind::kPin, 1.0, {1, 2}, false}).ok());
  ASSERT_TRUE(
      controller_->lease_manager().apply({one.id, CommandKind::kDetach, 1.0, {}, false}).ok());
  EXPECT_TRUE(masks_[one.id].empty());
  ASSERT_TRUE(
      controller_->lease_manager().apply({one.id, CommandKind::kAttach, 1.0, {}, false}).ok());
  EXPECT_EQ(pinned(one.id), (std::vector<int>{1, 2}));
  EXPECT_EQ(masks_[one.id], (std::vector<int>{1, 2}));
  EXPECT_FALSE(controller_->lease_manager().status(one.id).detached);
}

}  // namespace
}  // namespace optile::daemon
