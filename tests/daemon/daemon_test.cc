#include "daemon/daemon.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "daemon/process/process_entry.h"
#include "tests/daemon/fixtures/running_daemon.h"

namespace optile::daemon {
namespace {

TEST(Daemon, SocketsArePrivateAndRemovedAtExit) {
  const TemporaryDirectory directory;
  const Config config = test_config(directory);
  {
    RunningDaemon running(config);
    for (const std::string& path : {config.socket, attach_path(config)}) {
      struct stat found {};
      ASSERT_EQ(stat(path.c_str(), &found), 0);
      EXPECT_TRUE(S_ISSOCK(found.st_mode));
      EXPECT_EQ(found.st_mode & 0777, 0600u);
    }
  }
  EXPECT_NE(access(config.socket.c_str(), F_OK), 0);
  EXPECT_NE(access(attach_path(config).c_str(), F_OK), 0);
}

// F35.
// fault: F35
TEST(Daemon, SecondInstanceLeavesFirstRunning) {
  const TemporaryDirectory directory;
  RunningDaemon running(test_config(directory));
  struct stat before {
  }, after{};
  stat(running.config().socket.c_str(), &before);
  const auto second = Daemon::start(running.config());
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second.value(), nullptr);
  stat(running.config().socket.c_str(), &after);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_EQ(running.get("/v1/status").status, 200);
}

// As logind does with /run/user/UID when its user logs out.
void remove_runtime_files(const Config& config) {
  for (const std::string& path : {config.socket, attach_path(config), lock_path(config)}) {
    ASSERT_EQ(unlink(path.c_str()), 0) << path;
  }
}

std::string log_of(const Config& config) {
  std::ifstream stream(config.log);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::size_t count_in(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

struct DaemonWithClient {
  TemporaryDirectory directory;
  RunningDaemon running{test_config(directory)};
  FakeConnection connection{attach_path(running.config())};
  ClientRegions regions = running.attach(connection, make_attach_request("train"));
};

// F50.
// fault: F50
TEST(Daemon, ReplacedDaemonRemovesOnlyOwnSockets) {
  const TemporaryDirectory directory;
  RunningDaemon first(test_config(directory));
  remove_runtime_files(first.config());
  RunningDaemon second(test_config(directory));
  first.daemon().stop();
  EXPECT_EQ(second.get("/v1/status").status, 200);
  EXPECT_EQ(access(attach_path(second.config()).c_str(), F_OK), 0);
}

// fault: F50
TEST(Daemon, ReplacedDaemonReleasesClientsAndExits) {
  DaemonWithClient with_client;
  RunningDaemon& first = with_client.running;
  ASSERT_TRUE(with_client.regions.valid());
  remove_runtime_files(first.config());
  RunningDaemon second(test_config(with_client.directory));
  ASSERT_TRUE(first.serve_until([&] { return first.daemon().stopped(); }));
  EXPECT_EQ(with_client.connection.receive(), FakeConnection::Answer::kHangUp);
  FakeConnection again(attach_path(second.config()));
  EXPECT_TRUE(second.attach(again, make_attach_request("train")).valid());
}

// fault: F50
TEST(Daemon, DeletedSocketsLeaveOnlyExistingClientsServed) {
  DaemonWithClient with_client;
  RunningDaemon& running = with_client.running;
  const Config& config = running.config();
  ASSERT_TRUE(with_client.regions.valid());
  FakeConnection newcomer(attach_path(config));  // it waits for its attach reply meanwhile
  remove_runtime_files(config);
  const optile_attach_request attach_request = make_attach_request("late");
  ASSERT_TRUE(newcomer.send(&attach_request, sizeof attach_request));
  FakeConnection::Answer answer = FakeConnection::Answer::kNothing;
  ASSERT_TRUE(running.serve_until([&] {
    answer = newcomer.receive();
    return answer != FakeConnection::Answer::kNothing;
  }));
  EXPECT_EQ(answer, FakeConnection::Answer::kRefused);
  EXPECT_FALSE(running.daemon().stopped());
  EXPECT_EQ(running.daemon().controller().client_count(), 1u);
  with_client.connection.hang_up();
  ASSERT_TRUE(running.serve_until([&] { return running.daemon().stopped(); }));
  EXPECT_EQ(count_in(log_of(config), "takes no new programs"), 1u);
}

// So that whoever comes starts another one.
// fault: F50
TEST(Daemon, RemovesApiSocketAfterAttachSocketIsDeleted) {
  DaemonWithClient with_client;
  RunningDaemon& running = with_client.running;
  const Config& config = running.config();
  ASSERT_TRUE(with_client.regions.valid());
  for (const std::string& path : {attach_path(config), lock_path(config)}) unlink(path.c_str());
  EXPECT_TRUE(running.serve_until([&] { return access(config.socket.c_str(), F_OK) != 0; }));
  EXPECT_FALSE(running.daemon().stopped());
}

// As by what cleans /tmp, which leaves sockets that are in use.
// fault: F50
TEST(Daemon, ReacquiresDeletedLockFile) {
  const TemporaryDirectory directory;
  RunningDaemon running(test_config(directory));
  ASSERT_EQ(unlink(lock_path(running.config()).c_str()), 0);
  FakeConnection connection(attach_path(running.config()));
  EXPECT_TRUE(running.attach(connection, make_attach_request("train")).valid());
  const auto second = Daemon::start(running.config());
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second.value(), nullptr);
}

// This one has other cores itself than its client came with.
TEST(Daemon, ClientHeldByPreviousDaemonKeepsOriginalBudget) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  std::vector<int> units;
  for (std::size_t unit = 0; unit < CPU_SETSIZE; ++unit) {
    if (CPU_ISSET(unit, &all)) units.push_back(static_cast<int>(unit));
  }
  const TemporaryDirectory directory;
  Config config = test_config(directory);
  config.machine = "host";
  {
    std::ofstream file(config.socket + ".leases");
    file << nlohmann::json{{{"pid", getpid()},
                            {"start_ticks", *start_of_process(getpid())},
                            {"original", units},
                            {"units", {units.front()}}}};
  }
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(static_cast<std::size_t>(units.front()), &first);
  ASSERT_EQ(sched_setaffinity(0, sizeof first, &first), 0);
  RunningDaemon running(config);
  FakeConnection connection(attach_path(config));
  const ClientRegions regions = running.attach(connection, make_attach_request("held"));
  sched_setaffinity(0, sizeof all, &all);
  ASSERT_TRUE(regions.valid());
  const auto machine = perfmodel::make_machine_source("host")->read();
  ASSERT_TRUE(machine.ok());
  const perfmodel::Budget own = perfmodel::read_budget(machine.value(), {});
  // Its first lease is cut while it is not known yet that it is back.
  const auto whole = [&] { return running.daemon().controller().view(1)->cores == own.cores; };
  EXPECT_TRUE(running.serve_until(whole)) << running.daemon().controller().view(1)->cores;
}

// F36.
// fault: F36
TEST(Daemon, StaleSocketsAreReplaced) {
  const TemporaryDirectory directory;
  const Config config = test_config(directory);
  std::ofstream(config.socket) << "stale";
  std::ofstream(attach_path(config)) << "stale";
  RunningDaemon running(config);
  EXPECT_EQ(running.get("/v1/status").status, 200);
}

TEST(Daemon, SleepsWithoutClients) {
  const TemporaryDirectory directory;
  RunningDaemon running(test_config(directory));
  EXPECT_TRUE(running.daemon().asleep());
  EXPECT_EQ(running.daemon().run_for(std::chrono::milliseconds(30)), 0u);
  {
    FakeConnection connection(attach_path(running.config()));
    ClientRegions regions = running.attach(connection, make_attach_request("train"));
    EXPECT_FALSE(running.daemon().asleep());
  }
  EXPECT_TRUE(running.serve_until([&] { return running.daemon().asleep(); }));
}

TEST(Daemon, ExitsAfterIdleTimeout) {
  const TemporaryDirectory directory;
  Config config = test_config(directory);
  config.idle_exit = std::chrono::seconds(1);
  RunningDaemon running(config);
  EXPECT_TRUE(running.serve_until([&] { return running.daemon().stopped(); }));
  EXPECT_NE(access(config.socket.c_str(), F_OK), 0);
}

TEST(Daemon, InvalidMachineIsStartupError) {
  const TemporaryDirectory directory;
  Config config = test_config(directory);
  config.machine = "a potato";
  const auto started = Daemon::start(config);
  ASSERT_FALSE(started.ok());
  EXPECT_FALSE(started.message().empty());
  EXPECT_NE(access(config.socket.c_str(), F_OK), 0);
}

TEST(Daemon, MissingDirectoryIsStartupError) {
  const TemporaryDirectory directory;
  Config config = test_config(directory);
  config.socket = directory / "missing/d.sock";
  const auto started = Daemon::start(config);
  ASSERT_FALSE(started.ok());
  EXPECT_NE(started.message().find("--socket"), std::string::npos);
}

TEST(Daemon, DoesNotWriteThroughSymlinkedLog) {
  const TemporaryDirectory directory;
  Config config = test_config(directory);
  std::ofstream(directory / "victim") << "precious";
  ASSERT_EQ(symlink((directory / "victim").c_str(), config.log.c_str()), 0);
  {
    RunningDaemon running(config);
    EXPECT_EQ(running.get("/v1/status").status, 200);
  }
  std::string text;
  std::ifstream(directory / "victim") >> text;
  EXPECT_EQ(text, "precious");
}

TEST(Config, DerivesDefaultPathsFromSocket) {
  Config given;
  given.socket = "/tmp/x/optiled.sock";
  const base::Result<Config> config = complete(given);
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config.value().log, "/tmp/x/optiled.log");
  EXPECT_EQ(config.value().store, "/tmp/x/optiled.db") << "a socket of its own, a store of its own";
  EXPECT_EQ(attach_path(config.value()), "/tmp/x/optiled.sock.attach");
  given.socket = "/tmp/" + std::string(100, 'x');
  const base::Result<Config> too_long = complete(given);
  ASSERT_FALSE(too_long.ok());
  EXPECT_NE(too_long.message().find("--socket"), std::string::npos);
}

TEST(Config, PrivateSocketHasPrivateStoreByDefault) {
  const TemporaryDirectory directory;
  const auto store_of = [&](const std::string& socket, const std::string& store = "") {
    Config given;
    given.socket = socket;
    given.store = store;
    return complete(given).value().store;
  };
  EXPECT_EQ(store_of(directory / "mine"), directory / "mine.db");
  EXPECT_EQ(store_of(directory / "mine.sock", directory / "common.db"), directory / "common.db");
  // What somebody else put there is not ours.
  ASSERT_EQ(symlink("elsewhere", (directory / "mine.db").c_str()), 0);
  EXPECT_EQ(store_of(directory / "mine.sock"), ":memory:");
  Config usual;
  EXPECT_TRUE(complete(usual).value().store.ends_with("/optile/store.db"));
}

// The daemon leaves the folder it was started in.
TEST(Config, FilesOfClusterAreAbsoluteAndBelongToHttps) {
  const TemporaryDirectory directory;
  Config given;
  given.socket = directory / "d.sock";
  given.cluster.endpoints = "https://node0";
  given.cluster.tls = {"ca.pem", "/node.pem", "node.key"};
  const base::Result<Config> config = complete(given);
  ASSERT_TRUE(config.ok()) << config.message();
  const EtcdTlsFiles& tls = config.value().cluster.tls;
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(tls, (EtcdTlsFiles{here + "/ca.pem", "/node.pem", here + "/node.key"}));
  given.cluster.endpoints = "http://node0";
  EXPECT_NE(complete(given).message().find("https://"), std::string::npos);
  given.cluster.endpoints = "";
  EXPECT_NE(complete(given).message().find("--cluster-etcd"), std::string::npos);
}

// The program itself, as a child.
class OptiledTest : public testing::Test {
 protected:
  pid_t spawn(const std::vector<std::string>& arguments) {
    std::vector<char*> argv;
    std::vector<std::string> words = arguments;
    words.insert(words.begin(), OPTILED_PATH);
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const pid_t child = fork();
    if (child < 0) abort();  // -1 in a later kill() would mean everybody
    if (child == 0) {
      const int null = open("/dev/null", O_RDWR);
      dup2(null, 1);
      dup2(null, 2);
      execv(OPTILED_PATH, argv.data());
      _exit(127);
    }
    return child;
  }
  std::vector<std::string> serve_arguments() {
    return {"--socket", directory_ / "d.sock", "--store", directory_ / "store.db"};
  }
  int exit_code(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  bool wait_for_socket() {
    const timespec pause{0, 1000000};
    for (int i = 0; i < 20000; ++i) {
      const int fd = connect_stream(directory_ / "d.sock");
      if (fd >= 0) {
        close(fd);
        return true;
      }
      nanosleep(&pause, nullptr);
    }
    return false;
  }
  TemporaryDirectory directory_;
};

TEST_F(OptiledTest, ExitsCleanlyOnSignals) {
  for (const int signal : {SIGTERM, SIGINT}) {
    const pid_t child = spawn(serve_arguments());
    ASSERT_TRUE(wait_for_socket());
    kill(child, signal);
    EXPECT_EQ(exit_code(child), 0);
    EXPECT_NE(access((directory_ / "d.sock").c_str(), F_OK), 0);
    EXPECT_NE(access((directory_ / "d.sock.attach").c_str(), F_OK), 0);
  }
}

// F35, F36.
// fault: F35
TEST_F(OptiledTest, SecondInstanceExitsAndKilledOneIsReplaced) {
  const pid_t first = spawn(serve_arguments());
  ASSERT_TRUE(wait_for_socket());
  EXPECT_EQ(exit_code(spawn(serve_arguments())), 3);
  kill(first, SIGKILL);
  exit_code(first);
  const pid_t next = spawn(serve_arguments());
  EXPECT_TRUE(wait_for_socket());
  kill(next, SIGTERM);
  EXPECT_EQ(exit_code(next), 0);
}

TEST_F(OptiledTest, ClosesInheritedDescriptors) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);  // inherited on purpose
  const pid_t child = spawn(serve_arguments());
  close(ends[1]);
  ASSERT_TRUE(wait_for_socket());
  char byte;
  EXPECT_EQ(read(ends[0], &byte, 1), 0);  // end of file although it still runs
  close(ends[0]);
  kill(child, SIGTERM);
  EXPECT_EQ(exit_code(child), 0);
}

TEST_F(OptiledTest, ExitCodeDistinguishesInvalidFlags) {
  EXPECT_EQ(exit_code(spawn({"--bogus"})), 2);
  EXPECT_EQ(exit_code(spawn({"--idle-exit", "-3"})), 2);
  EXPECT_EQ(exit_code(spawn({"--socket", "/tmp/" + std::string(200, 'x')})), 2);
  EXPECT_EQ(exit_code(spawn({"--version"})), 0);
  EXPECT_EQ(exit_code(spawn({"--help"})), 0);
}

}  // namespace
}  // namespace optile::daemon
