// A bridge is built with the right words, gets into the cache whole, and whatever else is there in
// its place is not taken for one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <regex>
#include <set>

#include "bindings/cli/bridge/bridge_build.h"
#include "bindings/cli/bridge/bridge_cache.h"
#include "bindings/cli/bridge/bridge_sources.h"
#include "bindings/cli/bridge/bridge_state.h"
#include "bindings/cli/bridge/compiler.h"
#include "tests/cli/bridge/fake_wheel.h"

namespace optile::cli {
namespace {

namespace fs = std::filesystem;
using base::BridgeFault;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class BridgeTest : public testing::Test {
 protected:
  BridgeTest()
      : cache_("XDG_CACHE_HOME", folder_ / "cache"),
        wheel_(read_torch_wheel(make_wheel(folder_ / "packages")).value()),
        bridges_(bridge_folder()),
        name_(bridge_name(wheel_.version)) {}

  // A compiler as a shell script: what it is told in a file, and `script` for the rest.
  std::vector<std::string> compiler(const std::string& script) {
    return {write_file(folder_ / "tools/c++",
                       "#!/bin/sh\necho \"$@\" > " + (folder_ / "told") + "\n" + script, 0755)};
  }
  // Writes what `-o` names.
  std::vector<std::string> working_compiler() {
    return compiler(
        "while [ \"$1\" != -o ]; do shift; done\n"
        "echo bridge > \"$2\"\n");
  }
  BridgeFault fault() const { return base::check_bridge_file(bridges_.c_str(), name_.c_str()); }
  std::string file() const { return bridges_ + "/" + name_; }
  void build() {
    const base::Status built = build_bridge(wheel_, bridges_, working_compiler());
    ASSERT_TRUE(built.ok()) << built.message();
    ASSERT_EQ(fault(), BridgeFault::kNone);
  }

  TemporaryDirectory folder_;
  ScopedVariable cache_;
  TorchWheel wheel_;
  std::string bridges_;
  std::string name_;
};

TEST_F(BridgeTest, FolderFollowsCacheAndHomeFolders) {
  char folder[64];
  base::put_bridge_folder(folder, "/var/cache/me", "/me");
  EXPECT_STREQ(folder, "/var/cache/me/optile/bridges");
  base::put_bridge_folder(folder, "", "/me");
  EXPECT_STREQ(folder, "/me/.cache/optile/bridges");
  base::put_bridge_folder(folder, "relative", nullptr);
  EXPECT_STREQ(folder, "");
  base::put_bridge_folder(folder, ("/" + std::string(60, 'x')).c_str(), nullptr);
  EXPECT_STREQ(folder, "");
}

TEST_F(BridgeTest, CompilerCommandMatchesWheelAbi) {
  const std::vector<std::string> command =
      compiler_command({"g++", "-m64"}, wheel_, "/src", "/out.so");
  EXPECT_EQ(command[0], "g++");
  EXPECT_EQ(command[1], "-m64");
  EXPECT_THAT(command, Contains("-DNDEBUG"));
  EXPECT_THAT(command, Contains("-D_GLIBCXX_USE_CXX11_ABI=1"));
  EXPECT_THAT(command, Contains(wheel_.folder + "/include"));
  EXPECT_THAT(command, Contains("-L" + wheel_.folder + "/lib"));
  EXPECT_THAT(command, Contains("/src/bindings/preload/probes/torch/torch_bridge.cc"));
  wheel_.cxx11_strings = false;
  EXPECT_THAT(compiler_command({"g++"}, wheel_, "/src", "/out.so"),
              Contains("-D_GLIBCXX_USE_CXX11_ABI=0"));
}

TEST_F(BridgeTest, PrefersUserCompilerOverSystemCompiler) {
  const std::string tools = folder_ / "tools";
  EXPECT_THAT(find_compiler("", tools), IsEmpty());
  const std::string clang = write_file(tools + "/clang++", "", 0755);
  EXPECT_THAT(find_compiler("", "/nowhere:" + tools), ElementsAre(clang));
  const std::string gcc = write_file(tools + "/g++", "", 0755);
  EXPECT_THAT(find_compiler("", tools), ElementsAre(gcc));
  EXPECT_THAT(find_compiler("clang++ -O1", tools), ElementsAre(clang, "-O1"));
  EXPECT_THAT(find_compiler("missing++", tools), ElementsAre(gcc));
  write_file(tools + "/c++", "", 0644);
  EXPECT_THAT(find_compiler("", tools), ElementsAre(gcc)) << "not executable";
}

TEST_F(BridgeTest, BuildsIntoPrivateCacheFolder) {
  EXPECT_EQ(fault(), BridgeFault::kAbsent);
  build();
  EXPECT_EQ(read_file(file()), "bridge\n");
  EXPECT_THAT(read_file(folder_ / "told"), HasSubstr("-DNDEBUG"));
  struct stat found = {};
  ASSERT_EQ(stat(bridges_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0700U);
  for (const auto& entry : fs::directory_iterator(bridges_)) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("build-")) << entry.path();
  }
}

TEST_F(BridgeTest, SourcesContainEveryIncludedFile) {
  ASSERT_EQ(build_bridge(wheel_, bridges_,
                         compiler("while [ \"$1\" != -I ]; do shift; done\n"
                                  "cp -r \"$2\" " +
                                  (folder_ / "kept") + "\nexit 1\n"))
                .ok(),
            false);
  std::set<std::string> there;
  for (const BridgeSource& source : bridge_sources()) there.insert(source.path);
  const std::regex include("#include \"([^\"]+)\"");
  for (const BridgeSource& source : bridge_sources()) {
    EXPECT_EQ(read_file(folder_ / "kept/" + source.path), source.text);
    EXPECT_EQ(read_file(std::string(OPTILE_SOURCE_DIR) + "/" + source.path), source.text);
    for (std::sregex_iterator at(source.text.begin(), source.text.end(), include);
         at != std::sregex_iterator(); ++at) {
      EXPECT_TRUE(there.contains((*at)[1])) << source.path << " includes " << (*at)[1];
    }
  }
}

TEST_F(BridgeTest, KeepsLogOfFailedBuild) {
  const auto failing = compiler("echo no such header >&2\nexit 1\n");
  const base::Status built = build_bridge(wheel_, bridges_, failing);
  ASSERT_FALSE(built.ok());
  EXPECT_THAT(built.message(), HasSubstr(file() + ".log"));
  EXPECT_THAT(read_file(file() + ".log"), HasSubstr("no such header"));
  EXPECT_EQ(failed_build(bridges_, name_), built.message());
  EXPECT_EQ(fault(), BridgeFault::kAbsent);
  build();
  EXPECT_EQ(failed_build(bridges_, name_), "");
}

TEST_F(BridgeTest, ReportsMissingCompilerOrHeaders) {
  EXPECT_THAT(build_bridge(wheel_, bridges_, {}).message(), HasSubstr("no C++ compiler"));
  wheel_.missing_headers = wheel_.folder + "/include/ATen/record_function.h";
  EXPECT_THAT(build_bridge(wheel_, bridges_, working_compiler()).message(),
              HasSubstr("record_function.h is missing"));
  wheel_.missing_headers.clear();
  EXPECT_THAT(build_bridge(wheel_, bridges_, {folder_ / "tools/none"}).message(),
              HasSubstr("cannot be executed"));
}

TEST_F(BridgeTest, RejectsConcurrentBuild) {
  ASSERT_TRUE(ensure_bridge_folder(bridges_).ok());
  const base::UniqueFd held = lock_bridge_folder(bridges_);
  ASSERT_TRUE(held.valid());
  const base::Status refused = build_bridge(wheel_, bridges_, working_compiler());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, base::ErrorKind::kUnavailable);
  EXPECT_THAT(refused.message(), HasSubstr(bridges_));
}

TEST_F(BridgeTest, RejectsFolderWritableByOthers) {
  build();
  chmod(bridges_.c_str(), 0777);
  EXPECT_EQ(fault(), BridgeFault::kWritable);
  EXPECT_THAT(build_bridge(wheel_, bridges_, working_compiler()).message(),
              HasSubstr("chmod go-w"));
}

TEST_F(BridgeTest, RejectsFileWritableByOthers) {
  build();
  chmod(file().c_str(), 0620);
  EXPECT_EQ(fault(), BridgeFault::kWritable);
  chmod(file().c_str(), 0600);
  chmod((file() + base::kDigestSuffix).c_str(), 0602);
  EXPECT_EQ(fault(), BridgeFault::kWritable);
}

TEST_F(BridgeTest, RejectsChangedFileOrDigest) {
  build();
  write_file(file(), "bridgf\n", 0600);
  EXPECT_EQ(fault(), BridgeFault::kChanged);
  write_file(file(), "", 0600);
  EXPECT_EQ(fault(), BridgeFault::kChanged);
  write_file(file(), "bridge\n", 0600);
  EXPECT_EQ(fault(), BridgeFault::kNone);
  write_file(file() + base::kDigestSuffix, "0123", 0600);
  EXPECT_EQ(fault(), BridgeFault::kNoDigest);
  fs::remove(file() + base::kDigestSuffix);
  EXPECT_EQ(fault(), BridgeFault::kNoDigest);
}

TEST_F(BridgeTest, RejectsLinksAndFolders) {
  build();
  fs::rename(file(), folder_ / "elsewhere");
  fs::create_symlink(folder_ / "elsewhere", file());
  EXPECT_EQ(fault(), BridgeFault::kNotRegular);
  fs::remove(file());
  fs::create_directory(file());
  EXPECT_EQ(fault(), BridgeFault::kNotRegular);
  fs::remove_all(bridges_);
  write_file(bridges_, "");
  EXPECT_EQ(fault(), BridgeFault::kNotRegular);
}

TEST_F(BridgeTest, RejectsFileOfOtherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  build();
  ASSERT_EQ(chown(file().c_str(), 65534, 65534), 0);
  EXPECT_EQ(fault(), BridgeFault::kForeign);
  ASSERT_EQ(chown(file().c_str(), 0, 0), 0);
  ASSERT_EQ(chown(bridges_.c_str(), 65534, 65534), 0);
  EXPECT_EQ(fault(), BridgeFault::kForeign);
}

TEST_F(BridgeTest, DescribesEveryStateWithAdvice) {
  BridgeState state = look_at_bridge(wheel_);
  state.compiler.clear();
  EXPECT_EQ(state.fault, BridgeFault::kAbsent);
  EXPECT_EQ(state.failure, "") << "nobody has tried";
  EXPECT_THAT(bridge_advice(state), HasSubstr("install a C++ compiler"));
  state.compiler = {"c++"};
  EXPECT_THAT(bridge_advice(state), HasSubstr("optile bridge build --torch " + wheel_.folder));
  state.failure = "c++ could not";
  EXPECT_THAT(bridge_finding(state), HasSubstr("c++ could not"));
  state.wheel.missing_headers = "some.h";
  EXPECT_THAT(bridge_advice(state), HasSubstr("some.h is missing"));
  state.fault = BridgeFault::kChanged;
  EXPECT_THAT(bridge_finding(state), HasSubstr(base::bridge_fault_text(state.fault)));
  build();
  state = look_at_bridge(wheel_);
  EXPECT_EQ(state.fault, BridgeFault::kNone);
  EXPECT_THAT(bridge_finding(state), HasSubstr("PyTorch 2.13.0+cpu"));
  EXPECT_EQ(bridge_advice(state), "");
}

}  // namespace
}  // namespace optile::cli
