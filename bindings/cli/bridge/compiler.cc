#include "bindings/cli/bridge/compiler.h"

#include <unistd.h>

#include <filesystem>
#include <sstream>

namespace optile::cli {
namespace fs = std::filesystem;
namespace {

std::string find_in_path(const std::string& name, const std::string& path) {
  std::error_code ignored;
  const auto usable = [&](const std::string& file) {
    return access(file.c_str(), X_OK) == 0 && !fs::is_directory(file, ignored);
  };
  if (name.find('/') != std::string::npos) return usable(name) ? name : "";
  std::istringstream folders(path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    // What lies in the current folder is not taken for a compiler.
    std::string file = (fs::path(folder) / name).string();
    if (folder.starts_with("/") && usable(file)) return file;
  }
  return "";
}

}  // namespace

std::vector<std::string> find_compiler(const std::string& cxx, const std::string& path) {
  std::istringstream words(cxx);
  std::vector<std::string> named;
  for (std::string word; words >> word;) named.push_back(word);
  if (!named.empty()) {
    named.front() = find_in_path(named.front(), path);
    if (!named.front().empty()) return named;
  }
  for (const char* name : {"c++", "g++", "clang++"}) {
    std::string found = find_in_path(name, path);
    if (!found.empty()) return {std::move(found)};
  }
  return {};
}

std::vector<std::string> compiler_command(const std::vector<std::string>& compiler,
                                          const TorchWheel& wheel, const std::string& sources,
                                          const std::string& output) {
  std::vector<std::string> command = compiler;
  const auto add = [&](std::initializer_list<std::string> words) {
    command.insert(command.end(), words);
  };
  add({"-std=c++20", "-O2", "-fPIC", "-shared", "-fvisibility=hidden"});
  // As the wheel itself: PyTorch's classes have other layouts with assertions, and libstdc++'s
  // strings have two.
  add({"-DNDEBUG", std::string("-D_GLIBCXX_USE_CXX11_ABI=") + (wheel.cxx11_strings ? "1" : "0")});
  add({"-isystem", wheel.folder + "/include", "-isystem",
       wheel.folder + "/include/torch/csrc/api/include", "-I", sources});
  add({sources + "/bindings/preload/probes/torch/op_key.cc",
       sources + "/bindings/preload/probes/torch/torch_bridge.cc", "-o", output});
  // By name and without a run path: the copy that the program has loaded already is the one.
  add({"-L" + wheel.folder + "/lib", "-Wl,-rpath-link," + wheel.folder + "/lib",
       "-Wl,--no-as-needed", "-ltorch_cpu", "-lc10", "-Wl,-z,now", "-Wl,-s"});
  return command;
}

}  // namespace optile::cli
