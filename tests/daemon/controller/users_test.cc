// One controller for programs of several users: whose store is read and written, who may see and
// change what, and who gets a lease.
#include <gtest/gtest.h>

#include "daemon/api/api.h"
#include "daemon/api/lease_json.h"
#include "tests/daemon/fixtures/accounts.h"
#include "tests/daemon/fixtures/controller_fixture.h"

namespace optile::daemon {
namespace {

constexpr unsigned kMany = 65534;

class UsersTest : public ControllerTest {
 protected:
  UsersTest() {
    Clocks clocks;
    clocks.monotonic_ns = [this] { return now_ns_; };
    clocks.unix_seconds = [] { return int64_t{1700000000}; };
    clocks.counter = clocks.monotonic_ns;
    clocks.counter_hz = []() -> std::optional<uint64_t> { return std::nullopt; };
    Controller::Dependencies dependencies;
    dependencies.machine = four_cores();
    dependencies.store = store_.get();
    dependencies.clocks = clocks;
    dependencies.store_of = [this](unsigned uid) { return store_of(uid); };
    dependencies.leases.read_budget = [this](int pid) {
      return pid == kConfinedPid ? confined_ : budget_;
    };
    dependencies.leases.confine = [this](uint64_t client, int, const std::vector<int>& units) {
      masks_[client] = units;
    };
    dependencies.leases.write_log = [this](const std::string& line) { said_ += line + "\n"; };
    controller_ = std::make_unique<Controller>(std::move(dependencies));
    metrics_ = std::make_unique<DaemonMetrics>(DaemonMetrics::Dependencies{
        controller_.get(), "1", [] { return 0u; }, [this] { return now_ns_; }});
    Rights::Settings settings;
    settings.system = true;
    settings.own_uid = 990;
    settings.unmapped_uid = kMany;
    api_ = std::make_unique<Api>(*controller_, *metrics_, DaemonFacts{1, "1", 0, Rights(settings)},
                                 [this] { return now_ns_; });
  }

  Store* store_of(unsigned uid) {
    if (uid == kMany) return nullptr;
    std::unique_ptr<Store>& store = stores_[uid];
    if (store == nullptr) store = Store::open(":memory:");
    return store.get();
  }
  Attached attach_as(unsigned uid, int pid = 5) {
    AttachRequest who = attach_request("run-" + std::to_string(uid));
    who.uid = uid;
    who.pid = pid;
    return attach(who);
  }
  HttpResponse ask(unsigned uid, const std::string& method, const std::string& target,
                   const Json& body = nullptr) {
    HttpRequest request;
    request.method = method;
    request.target = target;
    if (!body.is_null()) request.body = body.dump();
    request.peer.known = true;
    request.peer.uid = uid;
    request.peer.gid = uid;
    return api_->answer(request);
  }
  unsigned command(unsigned uid, const Json& body) {
    return ask(uid, "POST", "/v1/leases", body).status;
  }

  std::map<unsigned, std::unique_ptr<Store>> stores_;
  std::string said_;
  std::unique_ptr<DaemonMetrics> metrics_;
  std::unique_ptr<Api> api_;
};

TEST_F(UsersTest, PlansAndRunsAreKeptPerUser) {
  Attached first = attach_as(kAnna);
  ASSERT_TRUE(run_until_tuned(first, 2000));
  controller_->depart(first.id);
  Attached other = attach_as(kBert);
  run(other, 20);
  EXPECT_FALSE(controller_->view(other.id)->stored.has_value());
  Attached again = attach_as(kAnna);
  run(again, 20);
  EXPECT_TRUE(controller_->view(again.id)->stored.has_value());
  EXPECT_TRUE(daemon::earlier_runs(controller_->history(), *controller_->view(other.id)).empty());
  EXPECT_FALSE(daemon::earlier_runs(controller_->history(), *controller_->view(again.id)).empty());
}

TEST_F(UsersTest, UnmappedUserHasNoStoreAndNoAccessToClients) {
  Attached client = attach_as(kMany);
  ASSERT_TRUE(run_until_tuned(client, 2000));
  controller_->depart(client.id);
  EXPECT_EQ(controller_->history().batches().pending(), 0u);
  EXPECT_EQ(ask(kMany, "POST", "/v1/launch", {{"program", "train.py"}}).status, 200u);
  EXPECT_EQ(ask(kMany, "GET", "/v1/status").status, 200u);
  EXPECT_EQ(ask(kMany, "GET", "/v1/clients/" + std::to_string(client.id)).status, 403u);
  EXPECT_EQ(Json::parse(ask(kMany, "GET", "/v1/runs/run-65534/report").body)["state"], "unknown");
  EXPECT_EQ(ask(kMany, "POST", "/v1/undo", {{"all", true}}).status, 403u) << "whose would they be?";
}

TEST_F(UsersTest, ViewsHideProgramsOfOtherUsers) {
  Attached client = attach_as(kAnna);
  ASSERT_TRUE(run_until_tuned(client, 2000));
  const std::string id = std::to_string(client.id);
  for (const std::string& target :
       {"/v1/clients/" + id, "/v1/ops?client=" + id, "/v1/ops/aten::mm/explain?client=" + id}) {
    EXPECT_EQ(ask(kAnna, "GET", target).status, 200u) << target;
    EXPECT_EQ(ask(0, "GET", target).status, 200u) << target;
    EXPECT_EQ(ask(kBert, "GET", target).status, 403u) << target;
  }
  EXPECT_EQ(ask(kBert, "GET", "/v1/ops/aten::mm/explain").status, 404u);
  EXPECT_TRUE(Json::parse(ask(kBert, "GET", "/v1/ops").body)["ops"].empty());
  EXPECT_EQ(Json::parse(ask(kBert, "GET", "/v1/runs/run-1000/report").body)["state"], "unknown");
  EXPECT_EQ(Json::parse(ask(kAnna, "GET", "/v1/runs/run-1000/report").body)["state"], "running");
  EXPECT_EQ(ask(kBert, "GET", "/metrics").status, 403u);
  EXPECT_EQ(ask(0, "GET", "/metrics").status, 200u);
  for (const char* target : {"/v1/status", "/v1/clients", "/v1/leases"}) {
    const std::string told = ask(kBert, "GET", target).body;
    EXPECT_EQ(told.find("train.py"), std::string::npos) << told;
    EXPECT_NE(told.find("another user's program"), std::string::npos) << told;
    EXPECT_NE(ask(kAnna, "GET", target).body.find("train.py"), std::string::npos);
  }
}

TEST_F(UsersTest, LeaseCommandsAreLimitedToOwnerAndRoot) {
  Attached client = attach_as(kAnna);
  const Json share = {{"client", client.id}, {"share", 2}};
  EXPECT_EQ(command(kBert, share), 403u);
  EXPECT_EQ(command(kMany, share), 403u);
  EXPECT_EQ(command(kAnna, share), 200u);
  EXPECT_EQ(command(0, {{"client", client.id}, {"detach", true}}), 200u);
  EXPECT_EQ(ask(kBert, "POST", "/v1/undo", {{"client", client.id}}).status, 403u);
}

TEST_F(UsersTest, UndoOfAllCoversOwnProgramsOnlyUnlessRoot) {
  for (const unsigned uid : {kAnna, kBert}) {  // programs that both stores know
    Attached client = attach_as(uid);
    ASSERT_TRUE(run_until_tuned(client, 2000));
    controller_->depart(client.id);
  }
  attach_as(kAnna);
  attach_as(kBert);
  const Json undone = Json::parse(ask(kAnna, "POST", "/v1/undo", {{"all", true}}).body);
  EXPECT_EQ(undone["clients"].size(), 1u);
  Conditions later;
  later.machine = controller_->machine().fingerprint;
  later.program = {"/usr/bin/python3", "train.py", "python3 train.py"};
  EXPECT_TRUE(store_of(kAnna)->is_undone(later));
  EXPECT_FALSE(store_of(kBert)->is_undone(later));
  ask(0, "POST", "/v1/undo", {{"all", true}});
  EXPECT_TRUE(store_of(kBert)->is_undone(later)) << "root means everybody";
}

TEST_F(UsersTest, UndoByNameHidesProgramsOfOtherUsers) {
  attach_as(kAnna);
  const HttpResponse answer = ask(kBert, "POST", "/v1/undo", {{"program", "train.py"}});
  EXPECT_EQ(answer.status, 404u);
  EXPECT_EQ(answer.body.find("train.py"), std::string::npos) << answer.body;
  EXPECT_EQ(ask(kAnna, "POST", "/v1/undo", {{"program", "train.py"}}).status, 200u);
}

TEST_F(UsersTest, PinIsLimitedToEvenPartUnlessRoot) {
  Attached client = attach_as(kAnna);
  attach_as(kBert);
  EXPECT_EQ(command(kAnna, {{"client", client.id}, {"pin", "0-2"}}), 409u);
  EXPECT_EQ(command(0, {{"client", client.id}, {"pin", "0-2"}}), 200u);
  EXPECT_EQ(command(kAnna, {{"client", client.id}, {"pin", "0-1"}}), 200u);
  attach_as(kMany);
  EXPECT_NE(said_.find("no longer pinned"), std::string::npos) << said_;
}

TEST_F(UsersTest, RevokedPinDoesNotBoundLaterRootPin) {
  Attached client = attach_as(kAnna);
  attach_as(kBert);
  EXPECT_EQ(command(kAnna, {{"client", client.id}, {"pin", "0-1"}}), 200u);
  EXPECT_EQ(command(kAnna, {{"client", client.id}, {"unpin", true}}), 200u);
  EXPECT_EQ(command(0, {{"client", client.id}, {"pin", "0-2"}}), 200u);
  EXPECT_EQ(command(0, {{"client", client.id}, {"share", 2}}), 200u);
  attach_as(kMany);
  EXPECT_EQ(said_.find("no longer pinned"), std::string::npos) << said_;
}

TEST_F(UsersTest, RootShareKeepsBoundOfUserPin) {
  Attached client = attach_as(kAnna);
  attach_as(kBert);
  EXPECT_EQ(command(kAnna, {{"client", client.id}, {"pin", "0-1"}}), 200u);
  EXPECT_EQ(command(0, {{"client", client.id}, {"share", 2}}), 200u);
  attach_as(kMany);
  EXPECT_NE(said_.find("no longer pinned"), std::string::npos) << said_;
}

TEST_F(UsersTest, ClientInOtherPidNamespaceHasNoLease) {
  AttachRequest who = attach_request("run");
  who.uid = kAnna;
  who.unseen = "its process is in another pid namespace than the daemon";
  Attached client = attach(who);
  const Json leases = leases_json(*controller_);
  EXPECT_TRUE(leases["clients"].empty());
  ASSERT_EQ(leases["unleased"].size(), 1u);
  const std::string reason = leases["unleased"][0]["reason"];
  EXPECT_NE(reason.find("another pid namespace"), std::string::npos) << reason;
  ASSERT_TRUE(run_until_tuned(client, 2000)) << "in width it is tuned like any other";
  const Json told = Json::parse(ask(kAnna, "GET", "/v1/ops/aten::mm/explain").body);
  EXPECT_NE(told["explanations"][0]["held"].get<std::string>().find("pid namespace"),
            std::string::npos);
}

// mpirun, taskset or a cpuset.
TEST_F(UsersTest, BoundClientKeepsItsCore) {
  confined_ = budget_;
  confined_.units = {3};
  confined_.cores = 1;
  Attached bound = attach_as(kAnna, kConfinedPid);
  Attached free = attach_as(kBert);
  for (const sched::LeaseView& view : controller_->lease_manager().leases()->view()) {
    if (view.id == bound.id) {
      EXPECT_EQ(view.granted.cores, std::vector<int>{3});
    }
  }
  for (const int unit : masks_[free.id]) EXPECT_NE(unit, 3);
  EXPECT_FALSE(masks_[free.id].empty());
}

TEST_F(UsersTest, BoundClientKeepsItsCoresWhenBudgetGrows) {
  const perfmodel::Budget all = budget_;
  budget_.units = {2, 3};
  budget_.cores = 2;
  confined_ = budget_;
  Attached bound = attach_as(kAnna, kConfinedPid);
  Attached free = attach_as(kBert);
  budget_ = all;
  controller_->lease_manager().refresh_budgets();
  controller_->lease_manager().refresh_budgets();
  for (const sched::LeaseView& view : controller_->lease_manager().leases()->view()) {
    if (view.id != bound.id) continue;
    EXPECT_TRUE(view.bound);
    for (const int core : view.granted.cores) EXPECT_GE(core, 2);
  }
}

TEST_F(UsersTest, ClientLimitPerUserLeavesRoomForOthers) {
  AttachRequest who = attach_request("storm");
  who.uid = kAnna;
  who.mode = OPTILE_MODE_OBSERVE;
  for (std::size_t i = 0; i < client_limit_per_user(kMaxClients); ++i) {
    ASSERT_TRUE(controller_->arrive(who, ClientMemory::make().value()).ok());
  }
  const base::Result<uint64_t> refused = controller_->arrive(who, ClientMemory::make().value());
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.message().find("of this user"), std::string::npos);
  who.uid = kBert;
  EXPECT_TRUE(controller_->arrive(who, ClientMemory::make().value()).ok());
}

}  // namespace
}  // namespace optile::daemon
