#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <random>
#include <utility>

#include "base/cpu_counter.h"
#include "tests/daemon/fixtures/descriptors.h"
#include "tests/daemon/fixtures/running_daemon.h"

namespace {

// As when the kernel's limit on what epoll may watch is reached: so many additions are refused,
// after so many that are not.
int refused_watches = 0;
int watches_before_refusal = 0;

bool takes_watch() {
  if (refused_watches == 0) return true;
  if (watches_before_refusal > 0) {
    --watches_before_refusal;
    return true;
  }
  --refused_watches;
  return false;
}

}  // namespace

// In place of the C library's.
extern "C" int epoll_ctl(int epoll, int operation, int fd, epoll_event* event) noexcept {
  if (operation == EPOLL_CTL_ADD && !takes_watch()) {
    errno = ENOSPC;
    return -1;
  }
  return static_cast<int>(syscall(SYS_epoll_ctl, epoll, operation, fd, event));
}

namespace optile::daemon {
namespace {

using Answer = FakeConnection::Answer;

// For both ends of a thousand connections.
bool allow_descriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 16384);
  return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

class AttachTest : public testing::Test {
 protected:
  explicit AttachTest(std::size_t places = kMaxClients)
      : running_(with_places(test_config(directory_), places)) {}

  static Config with_places(Config config, std::size_t places) {
    config.max_clients = places;
    return config;
  }

  std::string attach_socket() const { return attach_path(running_.config()); }
  std::size_t clients() { return running_.daemon().controller().client_count(); }
  Answer answer_on(FakeConnection& connection) {
    Answer answer = Answer::kNothing;
    EXPECT_TRUE(running_.serve_until([&] {
      answer = connection.receive();
      return answer != Answer::kNothing;
    }));
    return answer;
  }

  const bool allowed_ = allow_descriptors();  // before the daemon looks how many it may have
  TemporaryDirectory directory_;
  RunningDaemon running_;
};

TEST_F(AttachTest, ServesClientUntilHangUp) {
  FakeConnection connection(attach_socket());
  ClientRegions regions = running_.attach(connection, make_attach_request("train"));
  ASSERT_TRUE(regions.valid());
  EXPECT_TRUE(running_.serve_until([&] { return regions.plan().generation != 0; }));
  const uint32_t op = regions.register_op(42, "aten::mm", "[2, 2]");
  optile_event event{};
  event.kind = OPTILE_EVENT_OP;
  event.op_id = op;
  event.width = 4;
  event.begin_ticks = base::monotonic_ns();
  regions.write(event);
  EXPECT_TRUE(running_.serve_until([&] { return optile_load64(&regions.plan().tails[0]) == 1; }));
  EXPECT_EQ(clients(), 1u);
  connection.hang_up();
  EXPECT_TRUE(running_.serve_until([&] { return clients() == 0; }));
}

TEST_F(AttachTest, PidComesFromSocketCredentials) {
  FakeConnection connection(attach_socket());
  ClientRegions regions = running_.attach(connection, make_attach_request("train"));
  const nlohmann::json status = running_.get("/v1/status").json();
  ASSERT_EQ(status["clients"].size(), 1u);
  EXPECT_EQ(status["clients"][0]["pid"], getpid());  // the attach request said 4711
}

TEST_F(AttachTest, DescriptorsPassedToClientAreSealed) {
  FakeConnection connection(attach_socket());
  ClientRegions regions = running_.attach(connection, make_attach_request("train"));
  EXPECT_EQ(ftruncate(connection.plan_fd(), 0), -1);
  EXPECT_EQ(ftruncate(connection.client_fd(), 0), -1);
}

TEST_F(AttachTest, MalformedFrameClosesOnlyItsConnection) {
  FakeConnection good(attach_socket());
  ClientRegions regions = running_.attach(good, make_attach_request("good"));
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 50; ++round) {
    FakeConnection bad(attach_socket());
    std::vector<char> frame(1 + random() % 3000);
    for (char& byte : frame) byte = static_cast<char>(random());
    ASSERT_TRUE(bad.send(frame.data(), frame.size()));
    EXPECT_EQ(answer_on(bad), Answer::kRefused);
    EXPECT_FALSE(bad.reason().empty());
    EXPECT_EQ(answer_on(bad), Answer::kHangUp);
  }
  EXPECT_EQ(good.receive(), Answer::kNothing);
  EXPECT_EQ(clients(), 1u);
}

TEST_F(AttachTest, OtherAbiVersionIsRefusedWithReason) {
  FakeConnection connection(attach_socket());
  optile_attach_request attach_request = make_attach_request("old");
  attach_request.header.abi_version = OPTILE_ABI_VERSION + 1;
  ASSERT_TRUE(connection.send(&attach_request, sizeof attach_request));
  EXPECT_EQ(answer_on(connection), Answer::kRefused);
  EXPECT_NE(connection.reason().find("version"), std::string::npos);
}

TEST_F(AttachTest, FrameAfterAttachReplyClosesConnection) {
  FakeConnection connection(attach_socket());
  const optile_attach_request attach_request = make_attach_request("chatty");
  ClientRegions regions = running_.attach(connection, attach_request);
  EXPECT_EQ(clients(), 1u);
  ASSERT_TRUE(connection.send(&attach_request, sizeof attach_request));
  EXPECT_TRUE(running_.serve_until([&] { return clients() == 0; }));
}

TEST_F(AttachTest, DescriptorsReceivedFromClientAreClosed) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  FakeConnection connection(attach_socket());
  const optile_attach_request attach_request = make_attach_request("gifts");
  ASSERT_TRUE(test::send_with_fds(connection.fd(), attach_request, {ends[1]}));
  EXPECT_EQ(answer_on(connection), Answer::kAttachReply);
  close(ends[1]);
  char byte;
  EXPECT_EQ(read(ends[0], &byte, 1), 0);  // end of file: nobody else holds the write end
  close(ends[0]);
}

// fault: F15
TEST_F(AttachTest, ConnectionWithoutAttachRequestIsClosed) {
  FakeConnection silent(attach_socket());
  ASSERT_TRUE(silent.connected());
  EXPECT_EQ(answer_on(silent), Answer::kHangUp);
  EXPECT_EQ(clients(), 0u);
}

TEST_F(AttachTest, KilledClientIsNoticedDespiteForkedChild) {
  int told[2];
  ASSERT_EQ(pipe2(told, 0), 0);
  const std::string path = attach_socket();
  const pid_t client = fork();
  ASSERT_GE(client, 0);
  if (client == 0) {
    FakeConnection connection(path);
    const optile_attach_request attach_request = make_attach_request("parent");
    if (!connection.send(&attach_request, sizeof attach_request)) _exit(1);
    const pid_t child = fork();  // keeps the connection open
    if (child == 0) {
      pause();
      _exit(0);
    }
    if (write(told[1], &child, sizeof child) != sizeof child) _exit(1);
    pause();
    _exit(0);
  }
  pid_t child = 0;
  ASSERT_EQ(read(told[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
  EXPECT_TRUE(running_.serve_until([&] { return clients() == 1; }));
  kill(client, SIGKILL);
  waitpid(client, nullptr, 0);
  EXPECT_TRUE(running_.serve_until([&] { return clients() == 0; }));
  kill(child, SIGKILL);
  close(told[0]);
  close(told[1]);
}

TEST_F(AttachTest, RandomClientMemoryDoesNotStopDaemon) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 6; ++round) {
    FakeConnection connection(attach_socket());
    ClientRegions regions = running_.attach(connection, make_attach_request("hostile"));
    ASSERT_TRUE(regions.valid());
    optile_client_region& region = regions.client();
    for (int id = 0; id < 50; ++id) regions.register_op(1 + random() % 40, "op", "");
    for (int i = 0; i < 2000; ++i) {
      optile_event event{};
      auto* words = reinterpret_cast<uint64_t*>(&event);
      for (std::size_t w = 0; w < sizeof event / sizeof(uint64_t); ++w) words[w] = random();
      if (i % 2 == 0) {  // plausible on the outside
        event.kind = static_cast<uint16_t>(1 + random() % 2);
        event.op_id = static_cast<uint32_t>(random() % 50);
        event.flags = static_cast<uint16_t>(random() % 32);
        event.width = static_cast<uint16_t>(random() % 9);
        event.binding = static_cast<uint8_t>(random() % 3);
        event.column = static_cast<uint8_t>(random() % 4);
        event.generation_low = static_cast<uint32_t>(random() % 3);
        event.begin_ticks = base::monotonic_ns() - random() % 100000;
        event.ticks = random() % 100000;
      }
      regions.write(event, static_cast<uint32_t>(random() % OPTILE_MAX_THREADS));
    }
    region.header.default_width = static_cast<uint32_t>(random());
    region.header.fallbacks = static_cast<uint32_t>(random());
    optile_store32(&region.header.registry_count, static_cast<uint32_t>(random()));
    optile_store32(&region.header.runtime, static_cast<uint32_t>(random() % 5));
    for (int i = 0; i < 20; ++i) running_.daemon().controller().drain();
    for (const char* target : {"/v1/status", "/v1/clients", "/v1/ops"}) {
      EXPECT_EQ(running_.get(target).status, 200) << target;
    }
    connection.hang_up();
    EXPECT_TRUE(running_.serve_until([&] { return clients() == 0; }));
    EXPECT_EQ(running_.get("/v1/runs/run-hostile/report").status, 200);
  }
}

// fault: F13
TEST_F(AttachTest, ShedsConnectionsWithoutFreeDescriptors) {
  FakeConnection waiting(attach_socket());  // in the backlog
  ASSERT_TRUE(waiting.connected());
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int lowest_free = dup(0);
  close(lowest_free);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(lowest_free);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const std::size_t wakes = running_.daemon().run_for(std::chrono::milliseconds(50));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_LT(wakes, 20u);
  EXPECT_EQ(answer_on(waiting), Answer::kHangUp);
  FakeConnection next(attach_socket());
  EXPECT_TRUE(running_.attach(next, make_attach_request("next")).valid());
}

TEST_F(AttachTest, RefusesConnectionThatEpollCannotWatch) {
  FakeConnection served(attach_socket());
  ASSERT_TRUE(running_.attach(served, make_attach_request("train")).valid());
  refused_watches = 1;
  FakeConnection connection(attach_socket());
  EXPECT_EQ(answer_on(connection), Answer::kRefused);
  EXPECT_EQ(refused_watches, 0);
  EXPECT_NE(connection.reason().find("No space left"), std::string::npos) << connection.reason();
  EXPECT_EQ(clients(), 1u);
  FakeConnection next(attach_socket());
  EXPECT_TRUE(running_.attach(next, make_attach_request("train")).valid());
}

// Its own connection is watched, its process is not: the hang-up tells that it has left.
TEST_F(AttachTest, ServesClientWhoseProcessCannotBeWatched) {
  FakeConnection connection(attach_socket());
  const optile_attach_request attach_request = make_attach_request("train");
  ASSERT_TRUE(connection.send(&attach_request, sizeof attach_request));
  watches_before_refusal = 1;
  refused_watches = 1;
  EXPECT_EQ(answer_on(connection), Answer::kAttachReply);
  EXPECT_EQ(refused_watches, 0);
  EXPECT_EQ(clients(), 1u);
  connection.hang_up();
  EXPECT_TRUE(running_.serve_until([&] { return clients() == 0; }));
}

constexpr std::size_t kThousand = 1000;

// F13. Each as the shim does: it connects without waiting, and tries again at a later op boundary
// where it was turned away.
// fault: F13
TEST_F(AttachTest, ServesThousandSimultaneousClients) {
  FakeConnection first(attach_socket());
  ClientRegions regions = running_.attach(first, make_attach_request("first"));
  const optile_attach_request attach_request = make_attach_request("storm");
  std::vector<std::unique_ptr<FakeConnection>> all(kThousand);
  std::vector<bool> served(kThousand);
  std::size_t attach_reply = 0, readings = 0;
  uint64_t heartbeat = 0;
  const auto knock = [&](std::unique_ptr<FakeConnection>& one) {
    one = std::make_unique<FakeConnection>(attach_socket());
    if (!one->connected() || !one->send(&attach_request, sizeof attach_request)) one.reset();
  };
  ASSERT_TRUE(running_.serve_until([&] {
    for (std::size_t i = 0; i < kThousand; ++i) {
      if (served[i]) continue;
      const Answer answer = all[i] == nullptr ? Answer::kHangUp : all[i]->receive();
      EXPECT_NE(answer, Answer::kRefused);
      if (answer == Answer::kHangUp) knock(all[i]);
      served[i] = answer == Answer::kAttachReply;
      if (served[i]) ++attach_reply;
    }
    const uint64_t now = optile_load64(&regions.plan().heartbeat);
    if (now != std::exchange(heartbeat, now)) ++readings;
    return attach_reply == kThousand;
  }));
  EXPECT_EQ(clients(), kThousand + 1);
  EXPECT_EQ(first.receive(), Answer::kNothing);
  EXPECT_GT(readings, 1u) << "who was there before is read meanwhile";
  all.clear();
  EXPECT_TRUE(running_.serve_until([&] { return clients() == 1; }));
}

// F13. All have sent their request before the daemon looks for the first time: nobody is turned
// away, and nobody has to come again. fault: F13
TEST_F(AttachTest, ServesThousandClientsQueuedAtStart) {
  const optile_attach_request attach_request = make_attach_request("storm");
  std::vector<std::unique_ptr<FakeConnection>> all;
  while (all.size() < kThousand) {
    auto one = std::make_unique<FakeConnection>(attach_socket());
    if (one->connected()) {
      ASSERT_TRUE(one->send(&attach_request, sizeof attach_request));
      all.push_back(std::move(one));
    } else {  // a kernel that lets fewer wait
      ASSERT_EQ(errno, EAGAIN);
      running_.daemon().run_for(std::chrono::milliseconds(1));
    }
  }
  for (const auto& connection : all) EXPECT_EQ(answer_on(*connection), Answer::kAttachReply);
  EXPECT_EQ(clients(), kThousand);
}

class ClientLimitTest : public AttachTest {
 protected:
  ClientLimitTest() : AttachTest(256) {}
};

// F13.
// fault: F13
TEST_F(ClientLimitTest, ServesUpToLimitAndTurnsAwayOthers) {
  std::vector<std::unique_ptr<FakeConnection>> all;
  const optile_attach_request attach_request = make_attach_request("storm");
  std::size_t attach_reply = 0, refused = 0, closed = 0;
  for (int i = 0; i < 1000; ++i) {
    std::unique_ptr<FakeConnection> connection;
    // Refused by the kernel while the backlog is full.
    ASSERT_TRUE(running_.serve_until([&] {
      connection = std::make_unique<FakeConnection>(attach_socket());
      return connection->connected();
    }));
    connection->send(&attach_request, sizeof attach_request);
    all.push_back(std::move(connection));
  }
  for (const auto& connection : all) {
    switch (answer_on(*connection)) {
      case Answer::kAttachReply:
        ++attach_reply;
        break;
      case Answer::kRefused:
        ++refused;
        break;
      default:
        ++closed;
    }
  }
  EXPECT_EQ(attach_reply, 256u);
  EXPECT_EQ(attach_reply + refused + closed, 1000u);
  EXPECT_EQ(clients(), 256u);
  all.clear();
  EXPECT_TRUE(running_.serve_until([&] { return clients() == 0; }));
}

}  // namespace
}  // namespace optile::daemon
