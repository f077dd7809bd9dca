// The small ones: process statistics, loopback addresses, published files, discovery.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "daemon/config.h"
#include "daemon/metrics/loopback.h"
#include "daemon/metrics/metrics_outlets.h"
#include "daemon/metrics/process_metrics.h"
#include "daemon/support/published_file.h"
#include "tests/daemon/fixtures/temporary_directory.h"

namespace optile::daemon {
namespace {

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::size_t files_in(const TemporaryDirectory& directory) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    static_cast<void>(entry);
    ++count;
  }
  return count;
}

TEST(ProcessMetrics, ParsesProcStatLine) {
  const std::string line =
      "7 (evil) name) S 1 7 7 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 3 0 1000 8192000 300 "
      "18446744073709551615 1 1 0 0 0 0 0 4096 0 0 0 0 17 1 0 0 0 0 0\n";
  const auto read = parse_process(line, "cpu 1 2 3\nbtime 1700000000\nprocesses 5\n", {100, 4096});
  ASSERT_TRUE(read.has_value());
  EXPECT_DOUBLE_EQ(read->cpu_seconds, 3.0);
  EXPECT_EQ(read->threads, 3);
  EXPECT_EQ(read->virtual_bytes, 8192000);
  EXPECT_EQ(read->resident_bytes, 300 * 4096);
  EXPECT_DOUBLE_EQ(read->start_seconds, 1700000010);
  EXPECT_FALSE(parse_process("7 (x) S 1 2", "btime 1\n", {100, 4096}));
  EXPECT_FALSE(parse_process(line, "cpu 1\n", {100, 4096}));
  EXPECT_FALSE(parse_process("", "", {100, 4096}));
}

TEST(ProcessMetrics, ReportsOwnProcess) {
  std::vector<MetricSample> samples;
  add_process_samples(samples);
  EXPECT_EQ(samples.size(), 7u);
  for (const MetricSample& sample : samples) {
    EXPECT_GE(sample.value, 0) << metric_entry(sample.metric).name;
  }
}

TEST(Loopback, AcceptsLoopbackAddressesOnly) {
  EXPECT_EQ(parse_loopback("127.0.0.1:9464").value().port, 9464);
  EXPECT_EQ(parse_loopback("localhost:0").value().port, 0);
  EXPECT_TRUE(parse_loopback("[::1]:80").value().v6);
  for (const char* refused : {"0.0.0.0:9464", "[::]:9464", "192.168.0.1:9464", ":9464", "*:9464",
                              "example.org:80", "127.0.0.1.example.org:80", "::1:80"}) {
    const auto result = parse_loopback(refused);
    ASSERT_FALSE(result.ok()) << refused;
    EXPECT_NE(result.message().find("this machine only"), std::string::npos) << result.message();
  }
  for (const char* malformed : {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:-1",
                                "127.0.0.1:65536", "127.0.0.1:80x", "127.0.0.1: 80"}) {
    EXPECT_FALSE(parse_loopback(malformed).ok()) << malformed;
  }
}

TEST(Loopback, ReportsAssignedPort) {
  const auto listener = listen_on_loopback({false, 0});
  ASSERT_TRUE(listener.ok()) << listener.message();
  const auto again = parse_loopback(listener.value().target);
  ASSERT_TRUE(again.ok());
  EXPECT_NE(again.value().port, 0);
  EXPECT_FALSE(listen_on_loopback(again.value()).ok());  // taken
}

TEST(PublishedFile, ReplacesFileAtomically) {
  const TemporaryDirectory directory;
  const std::string path = directory / "a.prom";
  const mode_t before = umask(077);
  ASSERT_TRUE(publish_file(path, "one\n", kForEverybody).ok());
  const std::ifstream reader(path);  // of the old file
  ASSERT_TRUE(publish_file(path, "two\n", kForEverybody).ok());
  umask(before);
  std::ostringstream old;
  old << reader.rdbuf();
  EXPECT_EQ(old.str(), "one\n");
  EXPECT_EQ(text_of(path), "two\n");
  EXPECT_EQ(files_in(directory), 1u);
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0644u);
  ASSERT_TRUE(publish_file(path, "three\n", kForTheNextDaemon).ok());
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u) << "who is held where is nobody else's business";
}

TEST(PublishedFile, FailureLeavesNoTemporaryFile) {
  const TemporaryDirectory directory;
  EXPECT_FALSE(publish_file(directory / "missing/a.prom", "x", kForEverybody).ok());
  std::filesystem::create_directory(directory / "a.prom");
  EXPECT_FALSE(publish_file(directory / "a.prom", "x", kForEverybody).ok());
  EXPECT_EQ(files_in(directory), 1u);
}

TEST(Discovery, TextHasPrometheusFormat) {
  const nlohmann::json json = nlohmann::json::parse(discovery_text("127.0.0.1:9464"));
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0]["targets"], nlohmann::json::array({"127.0.0.1:9464"}));
  EXPECT_TRUE(json[0]["labels"].is_object());
}

TEST(MetricsOptions, InvalidCombinationsAreRejected) {
  const TemporaryDirectory directory;
  Config config;
  config.socket = directory / "d.sock";
  config.store = ":memory:";
  EXPECT_TRUE(complete(config).ok());
  config.metrics.programs = true;
  EXPECT_FALSE(complete(config).ok()) << "named where?";
  config.metrics.programs = false;
  config.metrics.listen = "0.0.0.0:0";
  EXPECT_FALSE(complete(config).ok());
  config.metrics.listen = "";
  config.metrics.discovery = directory / "d.json";
  EXPECT_FALSE(complete(config).ok());  // of which port?
  config.metrics.listen = "127.0.0.1:0";
  EXPECT_TRUE(complete(config).ok());
  config.metrics.textfile = directory / "optile.txt";
  EXPECT_FALSE(complete(config).ok());
  config.metrics.textfile = "optile.prom";
  config.metrics.programs = true;
  const auto completed = complete(config);
  ASSERT_TRUE(completed.ok());
  EXPECT_EQ(completed.value().metrics.textfile[0], '/');
}

}  // namespace
}  // namespace optile::daemon
