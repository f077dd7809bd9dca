#include "bindings/cli/support/detached_process.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace optile::cli {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string line_with(const std::string& text, const std::string& name) {
  const std::size_t at = text.find(name);
  return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
}

// A caller that is bound to one processor and has soft limits, while the test runs.
class DetachedProcessTest : public testing::Test {
 protected:
  DetachedProcessTest() {
    sched_getaffinity(0, sizeof before_, &before_);
    std::string pattern = (fs::temp_directory_path() / "optile-detached-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    cpu_set_t first;
    CPU_ZERO(&first);
    for (std::size_t unit = 0; CPU_COUNT(&first) == 0; ++unit) {
      if (CPU_ISSET(unit, &before_)) CPU_SET(unit, &first);
    }
    sched_setaffinity(0, sizeof first, &first);
    for (std::size_t i = 0; i < std::size(kResources); ++i) {
      getrlimit(kResources[i], &limits_[i]);
      rlimit soft = limits_[i];
      soft.rlim_cur = kSoft;
      setrlimit(kResources[i], &soft);
    }
  }
  ~DetachedProcessTest() override {
    for (std::size_t i = 0; i < std::size(kResources); ++i) setrlimit(kResources[i], &limits_[i]);
    sched_setaffinity(0, sizeof before_, &before_);
    fs::remove_all(folder_);
  }

  // What a process that is started so finds of its own status and limits.
  std::string bounds_of(Bounds bounds) {
    const fs::path pipe = folder_ / "pipe";
    EXPECT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    const std::string command = "cat /proc/self/status /proc/self/limits >" + pipe.string();
    EXPECT_TRUE(start_detached({"/bin/sh", "-c", command}, bounds).ok());
    return content_of(pipe);  // from when it opens its end to when it ends
  }
  std::string own_mask() const {
    return line_with(content_of("/proc/thread-self/status"), "Cpus_allowed:");
  }

  static constexpr rlim_t kSoft = rlim_t{1} << 33;  // no test comes near it
  // Not of memory: sanitizers map more than any limit.
  static constexpr int kResources[] = {RLIMIT_CPU, RLIMIT_FSIZE};
  cpu_set_t before_;
  rlimit limits_[std::size(kResources)] = {};
  fs::path folder_;
};

TEST_F(DetachedProcessTest, WidestBoundsLiftMaskAndLimits) {
  const std::string found = bounds_of(Bounds::kWidest);
  const std::string bound = own_mask();
  sched_setaffinity(0, sizeof before_, &before_);
  EXPECT_EQ(line_with(found, "Cpus_allowed:") == bound, CPU_COUNT(&before_) == 1);
  for (const char* name : {"Max cpu time", "Max file size"}) {
    EXPECT_FALSE(line_with(found, name).empty());
    EXPECT_EQ(line_with(found, name).find(std::to_string(kSoft)), std::string::npos) << name;
  }
}

TEST_F(DetachedProcessTest, CallerBoundsKeepMaskAndLimits) {
  const std::string found = bounds_of(Bounds::kCallers);
  EXPECT_EQ(line_with(found, "Cpus_allowed:"), own_mask());
  EXPECT_NE(line_with(found, "Max cpu time").find(std::to_string(kSoft)), std::string::npos);
}

}  // namespace
}  // namespace optile::cli
