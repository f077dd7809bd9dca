#include "bindings/cli/bridge/torch_wheel.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "base/bridge_file.h"
#include "base/text_file.h"
#include "bindings/cli/support/elf_file.h"

namespace optile::cli {
namespace fs = std::filesystem;
namespace {

constexpr const char* kHeader = "include/ATen/record_function.h";

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// The symbols of a library that takes strings say which ones it was built with.
bool uses_cxx11_strings(const std::string& library) {
  const auto elf = read_elf_file(library, ElfSymbols::kAll);
  if (!elf.ok()) return true;
  return std::any_of(elf.value().defined.begin(), elf.value().defined.end(),
                     [](const std::string& name) { return name.find("__cxx11") != name.npos; });
}

// lib/python3.11/site-packages and the like, below a prefix.
void add_packages(const fs::path& prefix, std::vector<fs::path>& folders) {
  std::error_code ignored;
  std::vector<fs::path> versions;
  for (const auto& entry : fs::directory_iterator(prefix / "lib", ignored)) {
    if (entry.path().filename().string().starts_with("python3")) versions.push_back(entry.path());
  }
  std::sort(versions.begin(), versions.end());
  for (const fs::path& version : versions) {
    folders.push_back(version / "site-packages");
    folders.push_back(version / "dist-packages");
  }
}

bool sees_system_packages(const fs::path& configuration) {
  std::istringstream lines(base::read_text_file(configuration.string()).value_or(""));
  for (std::string line; std::getline(lines, line);) {
    line.erase(std::remove(line.begin(), line.end(), ' '), line.end());
    if (line == "include-system-site-packages=true") return true;
  }
  return false;
}

// In the order in which Python would look.
std::vector<fs::path> package_folders(const std::string& python, const std::string& home,
                                      const std::string& python_path) {
  std::vector<fs::path> folders;
  std::istringstream words(python_path);
  for (std::string word; std::getline(words, word, ':');) {
    if (!word.empty()) folders.emplace_back(word);
  }
  std::error_code ignored;
  const fs::path environment = fs::path(python).parent_path().parent_path();
  const bool is_virtual = is_there(environment / "pyvenv.cfg");
  if (is_virtual) add_packages(environment, folders);
  if (is_virtual && !sees_system_packages(environment / "pyvenv.cfg")) return folders;
  if (!home.empty()) add_packages(fs::path(home) / ".local", folders);
  const fs::path prefix = fs::canonical(python, ignored).parent_path().parent_path();
  if (prefix == "/usr") add_packages("/usr/local", folders);
  if (!prefix.empty()) add_packages(prefix, folders);
  return folders;
}

}  // namespace

// A distribution's package has a link there, to a library that programs in C++ use as well.
bool is_of_wheel(const std::string& folder) {
  std::error_code ignored;
  const fs::path core = fs::path(folder) / "lib" / "libtorch_cpu.so";
  return fs::is_regular_file(fs::symlink_status(core, ignored));
}

base::Result<TorchWheel> read_torch_wheel(const std::string& folder) {
  TorchWheel wheel;
  wheel.folder = folder;
  if (!is_of_wheel(folder)) {
    return base::Error{
        base::ErrorKind::kNotFound,
        folder + " has no lib/libtorch_cpu.so of its own: it is not PyTorch of a wheel"};
  }
  if (!is_there(fs::path(folder) / "lib/libc10.so")) {
    return base::Error{base::ErrorKind::kNotFound,
                       folder + " has no lib/libc10.so: it is not PyTorch of a wheel"};
  }
  char version[base::kVersionBytes];
  if (!base::read_torch_version((fs::path(folder) / "version.py").c_str(), version)) {
    return base::Error{base::ErrorKind::kInvalid,
                       folder +
                           "/version.py does not tell PyTorch's version: install the wheel "
                           "again"};
  }
  wheel.version = version;
  wheel.cxx11_strings = uses_cxx11_strings(folder + "/lib/libc10.so");
  if (!is_there(fs::path(folder) / kHeader)) wheel.missing_headers = folder + "/" + kHeader;
  return wheel;
}

std::string find_torch_folder(const std::string& python, const std::string& home,
                              const std::string& python_path) {
  if (!fs::path(python).filename().string().starts_with("python")) return "";
  std::error_code ignored;
  for (const fs::path& folder : package_folders(python, home, python_path)) {
    if (is_there(folder / "torch" / "version.py")) {
      return fs::absolute(folder / "torch", ignored).string();
    }
  }
  return "";
}

std::string libraries_of_torch(const std::string& folder) {
  return folder.empty() ? "" : folder + "/lib";
}

}  // namespace optile::cli
