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

TEST(ProcessMetrics, ReportsOwnProcess) {
  std::vector<MetricSample> samples;
  add_process_samples(samples);
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_GT(samples[0].value, 0) << "seconds";
  EXPECT_LT(samples[0].value, 600);
  EXPECT_GT(samples[1].value, 1 << 20) << "bytes";
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
