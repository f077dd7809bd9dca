#include "daemon/support/rights.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "base/unique_fd.h"
#include "daemon/store/stores.h"
#include "tests/daemon/fixtures/accounts.h"
#include "tests/daemon/fixtures/temporary_directory.h"

namespace optile::daemon {
namespace {

constexpr unsigned kDaemon = 990;
constexpr unsigned kAdmins = 27;
constexpr unsigned kNobody = 65534;

Peer peer(unsigned uid, std::vector<unsigned> groups = {}) {
  Peer made;
  made.known = true;
  made.uid = uid;
  made.gid = uid;
  made.groups = std::move(groups);
  return made;
}

Rights system_rights(std::optional<unsigned> unmapped = std::nullopt) {
  Rights::Settings settings;
  settings.system = true;
  settings.own_uid = kDaemon;
  settings.admin_group = kAdmins;
  settings.unmapped_uid = unmapped;
  return Rights(settings);
}

TEST(Rights, UserDaemonAdmitsOwnerAndRootOnly) {
  Rights::Settings settings;
  settings.own_uid = kAnna;
  const Rights rights(settings);
  EXPECT_TRUE(rights.may_connect(peer(kAnna)));
  EXPECT_TRUE(rights.may_connect(peer(0)));
  EXPECT_FALSE(rights.may_connect(peer(kBert)));
  EXPECT_FALSE(rights.may_connect(Peer())) << "no credentials mean no";
  EXPECT_TRUE(rights.may(peer(kAnna), kBert)) << "whoever got in may everything";
}

// fault: F39
TEST(Rights, SystemDaemonGrantsUsersOnlyTheirOwn) {
  const Rights rights = system_rights();
  EXPECT_TRUE(rights.may_connect(peer(kAnna)));
  EXPECT_TRUE(rights.may_connect(peer(kBert)));
  EXPECT_FALSE(rights.may_connect(Peer()));
  EXPECT_TRUE(rights.may(peer(kAnna), kAnna));
  EXPECT_FALSE(rights.may(peer(kAnna), kBert));
  EXPECT_FALSE(rights.may_all(peer(kAnna)));
  EXPECT_FALSE(rights.may(Peer(), 0)) << "no credentials are not root's";
}

TEST(Rights, AdminsMayControlAllUsers) {
  const Rights rights = system_rights();
  EXPECT_TRUE(rights.may_all(peer(0)));
  EXPECT_TRUE(rights.may_all(peer(kDaemon)));
  EXPECT_TRUE(rights.may_all(peer(kBert, {5, kAdmins})));
  EXPECT_TRUE(rights.may(peer(kBert, {kAdmins}), kAnna));
  EXPECT_FALSE(rights.may_all(peer(kBert, {5})));
  Peer primary = peer(kBert);
  primary.gid = kAdmins;
  EXPECT_TRUE(rights.may_all(primary));
}

// Two people may stand behind it.
TEST(Rights, UnmappedUidOwnsNothing) {
  const Rights rights = system_rights(kNobody);
  EXPECT_TRUE(rights.may_connect(peer(kNobody)));
  EXPECT_FALSE(rights.may(peer(kNobody), kNobody));
  EXPECT_FALSE(rights.may_all(peer(kNobody, {kAdmins})));
  EXPECT_TRUE(rights.may(peer(0), kNobody));
  EXPECT_TRUE(system_rights().may(peer(kNobody), kNobody)) << "where it is a user like others";
}

TEST(Rights, UnmappedUidIsDerivedFromUidMap) {
  EXPECT_EQ(unmapped_uid("         0          0 4294967295\n", "65534\n"), std::nullopt);
  EXPECT_EQ(unmapped_uid("0 1000 1\n", "65534\n"), kNobody);
  EXPECT_EQ(unmapped_uid("0 1000 1\n1 100000 65536\n", "4711\n"), 4711u);
  EXPECT_EQ(unmapped_uid("", ""), kNobody) << "nothing can be read: nobody is believed";
}

TEST(Rights, PeerCredentialsComeFromKernel) {
  std::array<int, 2> pair;
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
  const base::UniqueFd one(pair[0]), other(pair[1]);
  const Peer found = peer_of(one.get());
  EXPECT_TRUE(found.known);
  EXPECT_EQ(found.pid, getpid());
  EXPECT_EQ(found.uid, geteuid());
  EXPECT_EQ(found.gid, getegid());
  const int groups = getgroups(0, nullptr);
  EXPECT_EQ(found.groups.size(), static_cast<std::size_t>(groups));
  EXPECT_FALSE(peer_of(-1).known);
}

TEST(Stores, SystemDaemonHasOneStorePerUser) {
  const TemporaryDirectory directory;
  Stores stores(directory.path(), system_rights(kNobody));
  Store* const of_anna = stores.of(kAnna);
  ASSERT_NE(of_anna, nullptr);
  EXPECT_EQ(stores.of(kAnna), of_anna);
  EXPECT_EQ(of_anna->state().path, directory / "1000.db");
  ASSERT_NE(stores.of(kBert), nullptr);
  EXPECT_NE(stores.of(kBert), of_anna);
  EXPECT_EQ(stores.of(kNobody), nullptr);
  Conditions conditions;
  conditions.machine = "m";
  conditions.program.program = "train";
  for (Store* store : {of_anna, stores.of(kBert)}) {
    StoreBatch known;
    known.runs.push_back({});
    known.runs.back().conditions = conditions;
    ASSERT_TRUE(store->write(known).ok());
  }
  StoreBatch batch;
  batch.undone.push_back({conditions, false, 1});
  ASSERT_TRUE(of_anna->write(batch).ok());
  EXPECT_TRUE(of_anna->is_undone(conditions));
  EXPECT_FALSE(stores.of(kBert)->is_undone(conditions));
}

TEST(Stores, UserDaemonHasSingleStore) {
  const TemporaryDirectory directory;
  Stores stores(directory / "store.db", Rights());
  ASSERT_NE(stores.of(0), nullptr);
  EXPECT_EQ(stores.of(0), stores.of(kAnna));
  EXPECT_EQ(stores.of(0)->state().path, directory / "store.db");
}

}  // namespace
}  // namespace optile::daemon
