// PyTorch of a wheel is recognised by its files, and found where Python would find it.
#include "bindings/cli/bridge/torch_wheel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/bridge_file.h"
#include "tests/cli/bridge/fake_wheel.h"

namespace optile::cli {
namespace {

using testing::HasSubstr;

std::string version_in(const char* text) {
  char version[base::kVersionBytes];
  return base::find_torch_version(text, version) ? version : "none";
}

TEST(TorchVersion, ReadsAssignedVersion) {
  EXPECT_EQ(version_in("__all__ = ['__version__']\n__version__ = '2.13.0+cpu'\n"), "2.13.0+cpu");
  EXPECT_EQ(version_in("__version__ = '2.14.0.dev20260801+cu130'"), "2.14.0.dev20260801+cu130");
}

TEST(TorchVersion, RejectsUnsafeOrIncompleteVersions) {
  const std::string endless = "__version__ = '2." + std::string(100, '1') + "'\n";
  for (const char* text :
       {"__version__ = '../../evil'\n", "__version__ = '2/3'\n", "__version__ = ''\n",
        "__version__ = '2.13.0", "# __version__ = '2.13.0'\n", "", endless.c_str()}) {
    EXPECT_EQ(version_in(text), "none") << text;
  }
}

// The machine's own /lib would be asked before /usr/local/lib.
TEST(LibrariesOfTorch, IsEmptyWithoutTorchFolder) {
  EXPECT_EQ(libraries_of_torch(""), "");
  EXPECT_EQ(libraries_of_torch("/env/torch"), "/env/torch/lib");
}

class TorchWheelTest : public testing::Test {
 protected:
  std::string python(const std::string& prefix) {
    return write_file(prefix + "/bin/python3", "", 0755);
  }
  std::string found(const std::string& python_path = "") {
    return find_torch_folder(folder_ / "env/bin/python3", folder_ / "home", python_path);
  }
  TemporaryDirectory folder_;
};

// Debian's has version.py as well, and links to what is in /usr/lib.
TEST_F(TorchWheelTest, RejectsDistributionPackage) {
  const std::string torch = make_wheel(folder_ / "packages", "1.13.0a0");
  ASSERT_TRUE(read_torch_wheel(torch).ok());
  const std::string core = torch + "/lib/libtorch_cpu.so";
  std::filesystem::rename(core, folder_ / "libtorch_cpu.so.1.13");
  std::filesystem::create_symlink(folder_ / "libtorch_cpu.so.1.13", core);
  EXPECT_EQ(read_torch_wheel(torch).error().kind, base::ErrorKind::kNotFound);
  EXPECT_FALSE(is_of_wheel(torch));
}

TEST_F(TorchWheelTest, ReadsVersionAbiAndHeaders) {
  const auto wheel = read_torch_wheel(make_wheel(folder_ / "packages"));
  ASSERT_TRUE(wheel.ok()) << wheel.message();
  EXPECT_EQ(wheel.value().version, "2.13.0+cpu");
  EXPECT_TRUE(wheel.value().cxx11_strings);
  EXPECT_EQ(wheel.value().missing_headers, "");
}

TEST_F(TorchWheelTest, DetectsOldStringAbi) {
  const auto wheel = read_torch_wheel(make_wheel(folder_ / "packages", "2.5.1", kOldStrings));
  ASSERT_TRUE(wheel.ok()) << wheel.message();
  EXPECT_FALSE(wheel.value().cxx11_strings);
}

TEST_F(TorchWheelTest, NamesMissingHeaders) {
  const std::string torch = make_wheel(folder_ / "packages");
  std::filesystem::remove_all(torch + "/include");
  const auto wheel = read_torch_wheel(torch);
  ASSERT_TRUE(wheel.ok()) << wheel.message();
  EXPECT_EQ(wheel.value().missing_headers, torch + "/include/ATen/record_function.h");
}

TEST_F(TorchWheelTest, RejectsFolderWithoutVersionOrLibrary) {
  const std::string torch = make_wheel(folder_ / "packages");
  write_file(torch + "/version.py", "nothing\n");
  const auto without_version = read_torch_wheel(torch);
  ASSERT_FALSE(without_version.ok());
  EXPECT_EQ(without_version.error().kind, base::ErrorKind::kInvalid);
  EXPECT_THAT(without_version.message(), HasSubstr("/version.py"));
  std::filesystem::remove(torch + "/lib/libtorch_cpu.so");
  const auto without_library = read_torch_wheel(torch);
  ASSERT_FALSE(without_library.ok());
  EXPECT_EQ(without_library.error().kind, base::ErrorKind::kNotFound);
  EXPECT_THAT(without_library.message(), HasSubstr("/libtorch_cpu.so"));
}

TEST_F(TorchWheelTest, FindsWheelInVirtualEnvironment) {
  python(folder_ / "env");
  write_file(folder_ / "env/pyvenv.cfg", "home = /usr/bin\n");
  const std::string packages = folder_ / "env/lib/python3.11/site-packages";
  EXPECT_EQ(found(), "");
  const std::string torch = make_wheel(packages);
  make_wheel(folder_ / "home/.local/lib/python3.11/site-packages");
  EXPECT_EQ(found(), torch);
}

TEST_F(TorchWheelTest, VirtualEnvironmentHidesUserPackages) {
  python(folder_ / "env");
  write_file(folder_ / "env/pyvenv.cfg", "include-system-site-packages = false\n");
  const std::string torch = make_wheel(folder_ / "home/.local/lib/python3.11/site-packages");
  EXPECT_EQ(found(), "");
  write_file(folder_ / "env/pyvenv.cfg", "include-system-site-packages = true\n");
  EXPECT_EQ(found(), torch);
}

TEST_F(TorchWheelTest, PythonPathComesFirst) {
  python(folder_ / "env");
  make_wheel(folder_ / "env/lib/python3.11/site-packages");
  const std::string torch = make_wheel(folder_ / "mine");
  EXPECT_EQ(found(":/nowhere:" + (folder_ / "mine")), torch);
}

}  // namespace
}  // namespace optile::cli
