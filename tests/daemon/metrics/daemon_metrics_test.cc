#include "daemon/metrics/daemon_metrics.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <utility>

#include "base/cpu_counter.h"
#include "daemon/metrics/client_metrics.h"
#include "daemon/metrics/exposition.h"
#include "tests/daemon/fixtures/running_daemon.h"
#include "tests/daemon/fixtures/simulated_program.h"
#include "tests/daemon/metrics/exposition_text.h"

namespace optile::daemon {
namespace {

class DaemonMetricsTest : public testing::Test {
 protected:
  DaemonMetricsTest() : store_(Store::open(":memory:")) {
    Clocks clocks;
    clocks.monotonic_ns = [this] { return now_ns_; };
    clocks.unix_seconds = [] { return int64_t{1700000000}; };
    clocks.counter = clocks.monotonic_ns;
    clocks.counter_hz = []() -> std::optional<uint64_t> { return std::nullopt; };
    const perfmodel::Machine machine =
        perfmodel::make_machine_source("pack:1 l2:1 core:4 pu:1")->read().value();
    Controller::Dependencies dependencies;
    dependencies.machine = machine;
    dependencies.store = store_.get();
    dependencies.clocks = clocks;
    dependencies.leases.read_budget = [machine](int) { return whole_budget(machine); };
    dependencies.leases.confine = [](uint64_t, int, const std::vector<int>&) {};
    dependencies.leases.later = [this](std::function<void()> decide) {
      decide_ = std::move(decide);
    };
    controller_ = std::make_unique<Controller>(std::move(dependencies));
    metrics_ = std::make_unique<DaemonMetrics>(DaemonMetrics::Dependencies{
        controller_.get(), "1.2.3", [this] { return refused_; }, [this] { return now_ns_; }});
  }

  uint64_t attach(const std::string& program, const std::vector<std::string>& ops) {
    const uint64_t id = attach_unread(program, ops);
    decide_and_read();
    return id;
  }

  // A client with these ops, each of which has taken a second; nothing of it has been read yet.
  uint64_t attach_unread(const std::string& program, const std::vector<std::string>& ops) {
    AttachRequest attach_request;
    attach_request.program = program;
    attach_request.executable = "/usr/bin/python3";
    ClientMemory memory = ClientMemory::make().value();
    const ClientMemory::Descriptors fds = memory.take_descriptors();
    regions_.emplace_back(fds.plan.get(), fds.client.get());
    ClientRegions& regions = regions_.back();
    regions.begin(now_ns_, 4);
    const uint64_t id = controller_->arrive(attach_request, std::move(memory)).value();
    optile_store32(&regions.client().threads[0].tid, 100);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      regions.register_op(0x1000 + i, ops[i], "[64,64]");
      optile_aggregate& aggregate = regions.client().threads[0].aggregates[i];
      optile_store64(&aggregate.count, 10);
      optile_store64(&aggregate.ticks, 1000000000);
    }
    return id;
  }

  void decide_and_read() {
    if (decide_) std::exchange(decide_, {})();
    controller_->drain();
  }

  std::vector<ExposedSample> scrape() { return read_exposition(metrics_->page()); }

  uint64_t now_ns_ = UINT64_C(10000000000);
  uint64_t refused_ = 0;
  std::vector<ClientRegions> regions_;
  std::unique_ptr<Store> store_;
  std::function<void()> decide_;  // what the controller has put off
  std::unique_ptr<Controller> controller_;
  std::unique_ptr<DaemonMetrics> metrics_;
};

std::size_t count_of(const std::vector<ExposedSample>& samples, const std::string& name) {
  std::size_t count = 0;
  for (const ExposedSample& sample : samples) count += sample.name == name ? 1u : 0u;
  return count;
}

TEST_F(DaemonMetricsTest, ReportsDaemonWithoutClients) {
  refused_ = 3;
  const std::vector<ExposedSample> first = scrape();
  EXPECT_EQ(value_of(first, "optile_build_info", {{"version", "1.2.3"}}), 1);
  EXPECT_EQ(value_of(first, "optile_clients", {{"phase", "tuned"}}), 0);
  EXPECT_EQ(value_of(first, "optile_clients_refused_total"), 3);
  EXPECT_EQ(value_of(first, "optile_store_state", {{"state", "in_memory"}}), 1);
  EXPECT_EQ(value_of(first, "optile_store_state", {{"state", "on_disk"}}), 0);
  EXPECT_EQ(value_of(first, "optile_series"), static_cast<double>(first.size()));
}

TEST_F(DaemonMetricsTest, ClientSeriesFollowAttachAndDepart) {
  const uint64_t id = attach("train.py", {"aten::mm", "aten::add"});
  std::vector<ExposedSample> samples = scrape();
  EXPECT_EQ(value_of(samples, "optile_clients", {{"phase", "recognising"}}), 1);
  EXPECT_EQ(value_of(samples, "optile_client_id", {{"program", "train.py"}, {"client", "1"}}),
            static_cast<double>(id));
  EXPECT_EQ(value_of(samples, "optile_client_phase",
                     {{"program", "train.py"}, {"client", "1"}, {"phase", "recognising"}}),
            1);
  EXPECT_EQ(value_of(samples, "optile_op_seconds_total",
                     {{"program", "train.py"},
                      {"op", "aten::mm"},
                      {"shape", "[64,64]"},
                      {"direction", "forward"}}),
            1);
  controller_->depart(id);
  samples = scrape();
  EXPECT_EQ(count_of(samples, "optile_client_id"), 0u);
  EXPECT_EQ(value_of(samples, "optile_clients_attached_total"), 1);
  samples = scrape();
  EXPECT_EQ(count_of(samples, "optile_op_seconds_total"), 0u);
}

TEST_F(DaemonMetricsTest, WithheldNamesAppearNowhere) {
  const uint64_t first = attach("secret.py", {"aten::mm", "region secret+0x10"});
  attach("hidden.py", {"aten::mm"});
  const auto page = [this] {
    return metrics_->page(DaemonMetrics::Audience::kScraper, DaemonMetrics::Names::kWithheld);
  };
  const std::string text = page();
  for (const char* name : {"secret", "hidden", "aten", "64"}) {
    EXPECT_EQ(text.find(std::string("\"") + name), std::string::npos) << text;
  }
  EXPECT_EQ(text.find("secret"), std::string::npos) << text;
  std::vector<ExposedSample> samples = read_exposition(text);
  EXPECT_EQ(count_of(samples, "optile_client_id"), 2u);
  EXPECT_EQ(value_of(samples, "optile_client_id", {{"program", "unnamed"}, {"client", "2"}}), 2);
  EXPECT_EQ(
      value_of(samples, "optile_client_leased_cores", {{"program", "unnamed"}, {"client", "1"}}),
      2);
  EXPECT_EQ(count_of(samples, "optile_op_seconds_total"), 1u);
  EXPECT_EQ(count_of(samples, "optile_op_width"), 0u);
  EXPECT_EQ(value_of(samples, "optile_op_seconds_total",
                     {{"program", "unnamed"}, {"op", "other"}, {"shape", ""}, {"direction", ""}}),
            3);
  controller_->depart(first);
  samples = read_exposition(page());
  EXPECT_EQ(value_of(samples, "optile_op_executions_total",
                     {{"program", "unnamed"}, {"op", "other"}, {"shape", ""}, {"direction", ""}}),
            30)
      << "what was counted once does not fall";
  EXPECT_NE(metrics_->page().find("hidden.py"), std::string::npos) << "who is known may see names";
}

TEST_F(DaemonMetricsTest, LeasesAreCounted) {
  EXPECT_EQ(value_of(scrape(), "optile_lease_held_cores"), 0);
  attach("a", {});
  const uint64_t second = attach("b", {});
  std::vector<ExposedSample> samples = scrape();
  EXPECT_EQ(value_of(samples, "optile_client_leased_cores", {{"program", "b"}, {"client", "2"}}),
            2);
  EXPECT_EQ(value_of(samples, "optile_lease_held_cores"), 4);
  EXPECT_EQ(count_of(samples, "optile_client_lease_progress"), 0u) << "nothing is measured yet";
  ASSERT_TRUE(
      controller_->lease_manager().apply({second, LeaseCommand::Kind::kDetach, 1, {}}).ok());
  samples = scrape();
  EXPECT_EQ(value_of(samples, "optile_lease_held_cores"), 4) << "the other has them now";
  EXPECT_EQ(count_of(samples, "optile_client_leased_cores"), 1u);
}

TEST_F(DaemonMetricsTest, ReusesClientLabelsOfDepartedClients) {
  const uint64_t first = attach("a", {});
  attach("b", {});
  scrape();
  controller_->depart(first);
  for (int i = 0; i < 20; ++i) {
    const uint64_t id = attach("c", {});
    EXPECT_EQ(value_of(scrape(), "optile_client_id", {{"program", "c"}, {"client", "1"}}),
              static_cast<double>(id));
    EXPECT_EQ(value_of(scrape(), "optile_client_id", {{"program", "b"}, {"client", "2"}}), 2);
    controller_->depart(id);
  }
}

TEST_F(DaemonMetricsTest, MaximumClientsStayWithinSeriesLimit) {
  for (std::size_t i = 0; i < kMaxClients; ++i) {
    std::vector<std::string> ops;
    for (int k = 0; k < 40; ++k) ops.push_back("op" + std::to_string(i % 7 * 40 + unsigned(k)));
    attach_unread("program" + std::to_string(i % 7), ops);
  }
  decide_and_read();
  const std::vector<ExposedSample> samples = scrape();
  EXPECT_LE(samples.size(), kMaxSeries);
  EXPECT_EQ(value_of(samples, "optile_series"), static_cast<double>(samples.size()));
  EXPECT_GT(value_of(samples, "optile_series_dropped"), 0);
  // What is asked first is there for everybody.
  EXPECT_EQ(count_of(samples, "optile_client_steps_total"), kMaxClients);
  EXPECT_EQ(count_of(samples, "optile_op_seconds_total"), kMaxOpRows + 1);
  double op_seconds = 0;
  for (const ExposedSample& sample : samples) {
    if (sample.name == "optile_op_seconds_total") op_seconds += sample.value;
  }
  EXPECT_NEAR(op_seconds, 40.0 * kMaxClients, 1e-6);
}

TEST_F(DaemonMetricsTest, HostileNamesDoNotBreakScrape) {
  const std::vector<std::string> hostile = {"bad \xff\xfe utf-8",
                                            "quote\"quote",
                                            "back\\slash",
                                            "new\nline",
                                            "} 1\n# TYPE x counter",
                                            std::string(10000, 'x'),
                                            "",
                                            "\xed\xa0\x80",
                                            "{}",
                                            "other"};
  for (const std::string& program : hostile) attach(program, hostile);
  const std::vector<ExposedSample> samples = scrape();
  EXPECT_EQ(count_of(samples, "optile_client_steps_total"), hostile.size());
  for (const ExposedSample& sample : samples) {
    for (const auto& [name, value] : sample.labels) EXPECT_LE(value.size(), 96u) << name;
  }
}

TEST_F(DaemonMetricsTest, NodeExporterGetsNoProcessMetrics) {
  const std::string page = metrics_->page(DaemonMetrics::Audience::kNodeExporter);
  EXPECT_EQ(page.find("process_"), std::string::npos);
  EXPECT_NE(metrics_->page().find("process_"), std::string::npos);
}

TEST_F(DaemonMetricsTest, ReportsSpeedupsWithBoundsAndSteps) {
  ClientView client;
  client.attach_request.program = "train.py";
  client.session = tuner::SessionView();
  for (int i = 0; i < 10; ++i) {
    client.session->own_steps.add(std::chrono::milliseconds(8));
    client.session->tuned_steps.add(std::chrono::milliseconds(2));
  }
  RunRecord untouched;
  untouched.kind = RunKind::kBaseline;
  untouched.untouched = true;
  untouched.steps = 20;
  untouched.step_seconds = 0.01;
  std::vector<MetricSample> samples;
  add_client_samples(client, step_times(client, {untouched}), 1, samples);
  const std::vector<ExposedSample> read = read_exposition(exposition(samples));
  const auto speedup = [&](const char* kind) {
    return value_of(read, "optile_client_speedup_ratio",
                    {{"program", "train.py"}, {"client", "1"}, {"kind", kind}});
  };
  EXPECT_DOUBLE_EQ(speedup("control"), 4);
  EXPECT_DOUBLE_EQ(speedup("separate_run"), 5);
  const auto of_separate_run = [&](const char* metric, const char* label, const char* value) {
    return value_of(
        read, metric,
        {{"program", "train.py"}, {"client", "1"}, {"kind", "separate_run"}, {label, value}});
  };
  EXPECT_LE(of_separate_run("optile_client_speedup_bound_ratio", "bound", "low"), 5);
  EXPECT_GE(of_separate_run("optile_client_speedup_bound_ratio", "bound", "high"), 5);
  EXPECT_EQ(of_separate_run("optile_client_speedup_steps", "side", "before"), 20);
  EXPECT_EQ(of_separate_run("optile_client_speedup_steps", "side", "after"), 10);
  EXPECT_EQ(count_of(read, "optile_client_step_seconds"), 3u);  // no uniform width was compared
}

TEST_F(DaemonMetricsTest, ReportsGuardControlsAndRollbacks) {
  ClientView client;
  client.attach_request.program = "train.py";
  client.session = tuner::SessionView();
  tuner::GuardView& guard = client.session->guard;
  guard.control_seconds = 0.5;
  guard.rollbacks = {{100, "plan", "it lost", 0.1}, {200, "aten::mm", "it lost", 0.01}};
  std::vector<MetricSample> samples;
  add_client_samples(client, step_times(client, {}), 1, samples);
  const std::vector<ExposedSample> read = read_exposition(exposition(samples));
  std::map<std::string, std::string> labels = {{"program", "train.py"}, {"client", "1"}};
  EXPECT_EQ(value_of(read, "optile_client_control_seconds_total", labels), 0.5);
  for (const char* what : {"plan", "op"}) {
    labels["what"] = what;
    EXPECT_EQ(value_of(read, "optile_client_rollbacks_total", labels), 1) << what;
  }
}

// ---- the whole daemon

std::string file_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// One request over TCP while the daemon runs in this thread.
std::string ask_tcp(RunningDaemon& running, const std::string& request) {
  const std::string target = running.daemon().metrics_target();
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(std::stoi(target.substr(target.find(':') + 1))));
  const base::UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  std::string text;
  EXPECT_TRUE(running.serve_until([&] {
    std::array<char, 65536> part;
    const ssize_t got = recv(fd.get(), part.data(), part.size(), MSG_DONTWAIT);
    if (got > 0) text.append(part.data(), static_cast<std::size_t>(got));
    return got == 0 || (got < 0 && errno != EAGAIN);
  }));
  return text;
}

std::string get_tcp(RunningDaemon& running, const std::string& path) {
  return ask_tcp(running, "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
}

TEST(MetricsOutlets, UnixSocketServesMetrics) {
  const TemporaryDirectory directory;
  RunningDaemon running(test_config(directory));
  const Answer answer = running.get("/metrics");
  EXPECT_EQ(answer.status, 200);
  EXPECT_NE(answer.head.find("Content-Type: text/plain; version=0.0.4"), std::string::npos);
  EXPECT_EQ(value_of(read_exposition(answer.body), "optile_clients_attached_total"), 0);
  EXPECT_EQ(running.post("/metrics", "").status, 405);
  EXPECT_TRUE(running.daemon().metrics_target().empty());
}

TEST(MetricsOutlets, TcpServesOnlyMetrics) {
  const TemporaryDirectory directory;
  Config config = test_config(directory);
  config.metrics.listen = "127.0.0.1:0";
  RunningDaemon running(config);
  const std::string answer = get_tcp(running, "/metrics?x=y");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n"));
  read_exposition(answer.substr(answer.find("\r\n\r\n") + 4));
  EXPECT_TRUE(get_tcp(running, "/").starts_with("HTTP/1.1 200 OK\r\n"));
  for (const Api::RouteName& route : Api::routes()) {
    if (route.path == "/metrics") continue;
    EXPECT_TRUE(get_tcp(running, std::string(route.path)).starts_with("HTTP/1.1 404 "))
        << route.path;
  }
  const std::string post =
      ask_tcp(running, "POST /metrics HTTP/1.1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(post.starts_with("HTTP/1.1 405 "));
  EXPECT_NE(post.find("Allow: GET"), std::string::npos);
}

TEST(MetricsOutlets, TcpNamesProgramsOnlyWhenEnabled) {
  for (const bool told : {false, true}) {
    const TemporaryDirectory directory;
    Config config = test_config(directory);
    config.metrics.listen = "127.0.0.1:0";
    config.metrics.programs = told;
    RunningDaemon running(config);
    FakeConnection connection(attach_path(config));
    const ClientRegions regions = running.attach(connection, make_attach_request("secret.py"));
    const auto names = [](const std::string& page) {
      return page.find("program=\"secret.py\"") != std::string::npos;
    };
    EXPECT_EQ(names(get_tcp(running, "/metrics")), told);
    EXPECT_EQ(get_tcp(running, "/metrics").find("program=\"unnamed\"") == std::string::npos, told);
    EXPECT_TRUE(names(running.get("/metrics").body)) << "the socket knows who asks";
  }
}

TEST(MetricsOutlets, WritesFilesAndRemovesDiscoveryAtStop) {
  const TemporaryDirectory directory;
  Config config = test_config(directory);
  config.metrics = {"127.0.0.1:0", directory / "targets.json", directory / "optile.prom"};
  RunningDaemon running(config);
  EXPECT_NE(file_text(config.metrics.discovery).find(running.daemon().metrics_target()),
            std::string::npos);
  const auto clients_in_file = [&](const std::string& name) {
    return value_of(read_exposition(file_text(config.metrics.textfile)), name);
  };
  EXPECT_EQ(clients_in_file("optile_clients_attached_total"), 0);
  EXPECT_TRUE(running.daemon().asleep());
  {
    FakeConnection connection(attach_path(config));
    const ClientRegions regions = running.attach(connection, make_attach_request("train"));
    EXPECT_FALSE(running.daemon().asleep());
    connection.hang_up();
    running.serve_until([&] { return running.daemon().controller().client_count() == 0; });
  }
  // Written when the last one left, and no timer runs from then on.
  EXPECT_EQ(clients_in_file("optile_clients_attached_total"), 1);
  EXPECT_TRUE(running.serve_until([&] { return running.daemon().asleep(); }));
  std::filesystem::remove(config.metrics.textfile);
  running.daemon().stop();
  EXPECT_FALSE(std::filesystem::exists(config.metrics.discovery));
  EXPECT_EQ(clients_in_file("optile_clients_attached_total"), 1);
}

TEST(MetricsOutlets, UnwritableDiscoveryPathIsStartupError) {
  const TemporaryDirectory directory;
  Config config = test_config(directory);
  config.metrics.listen = "127.0.0.1:0";
  config.metrics.discovery = directory / "missing/targets.json";
  const auto daemon = Daemon::start(config);
  ASSERT_FALSE(daemon.ok());
  EXPECT_NE(daemon.message().find("missing/targets.json"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(config.socket));
}

}  // namespace
}  // namespace optile::daemon
