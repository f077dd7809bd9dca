#include "bindings/cli/run/version_manager.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "bindings/cli/bridge/tool_run.h"

namespace optile::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMostBytes = 16384;  // a longer script is no wrapper
constexpr const char* kMostSeconds = "5";  // that mise may take for its answer
constexpr const char* kToolVersions = ".tool-versions";

using Words = std::vector<std::string>;

std::string from_environment(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

// Versions in a file of pyenv's, in their order; of asdf's, those on the line of `tool`.
Words versions_in(const fs::path& file, const std::string& tool = "") {
  std::istringstream lines(short_text(file.string()));
  Words versions;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word;
    if (!tool.empty() && !(words >> word && word == tool)) continue;
    while (words >> word) versions.push_back(word);
  }
  return versions;
}

// Of the nearest such file, in this folder or above it.
Words versions_here(const std::string& file, const std::string& tool = "") {
  std::error_code ignored;
  for (fs::path folder = fs::current_path(ignored); !folder.empty();
       folder = folder.parent_path()) {
    if (Words versions = versions_in(folder / file, tool); !versions.empty()) return versions;
    if (folder == folder.root_path()) break;
  }
  return {};
}

// As `pyenv version-name` looks: the shell's word, a file here or above, the user's choice.
Words chosen_versions(const fs::path& root) {
  Words versions;
  std::istringstream said(from_environment("PYENV_VERSION"));
  for (std::string version; std::getline(said, version, ':');) versions.push_back(version);
  if (versions.empty()) versions = versions_here(".python-version");
  if (versions.empty()) versions = versions_in(root / "version");
  if (versions.empty()) versions = {"system"};
  return versions;
}

// 3.9.7 is before 3.11.
std::vector<long> numbers_of(const std::string& version) {
  std::istringstream parts(version);
  std::vector<long> numbers;
  for (std::string part; std::getline(parts, part, '.');) {
    numbers.push_back(std::strtol(part.c_str(), nullptr, 10));
  }
  return numbers;
}

// The folder of a version: of that name, else the latest that it is the begin of.
std::string installed(const fs::path& versions, const std::string& name) {
  std::error_code ignored;
  if (name.empty() || name.find('/') != std::string::npos || name.starts_with(".")) return "";
  if (fs::exists(versions / name, ignored)) return (versions / name).string();
  std::string latest;
  for (const auto& entry : fs::directory_iterator(versions, ignored)) {
    const std::string one = entry.path().filename().string();
    if (!one.starts_with(name + ".")) continue;
    if (latest.empty() || numbers_of(latest) < numbers_of(one)) latest = one;
  }
  return latest.empty() ? "" : (versions / latest).string();
}

std::string in_path_beside(const fs::path& shims, const std::string& name) {
  std::istringstream folders(from_environment("PATH"));
  std::error_code ignored;
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (folder.empty() || fs::equivalent(folder, shims, ignored)) continue;
    std::string candidate = (fs::path(folder) / name).string();
    if (can_be_run(candidate)) return candidate;
  }
  return "";
}

// As asdf looks: the shell's word, a file here or above, the user's choice. A later word of these
// is for where the one before is not installed.
Words chosen_by_asdf(const std::string& tool) {
  std::string variable = "ASDF_" + tool + "_VERSION";
  for (char& c : variable) {
    c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  std::istringstream said(from_environment(variable.c_str()));
  Words versions;
  for (std::string version; said >> version;) versions.push_back(version);
  if (versions.empty()) versions = versions_here(kToolVersions, tool);
  const fs::path home = from_environment("HOME");
  if (versions.empty()) versions = versions_in(home / kToolVersions, tool);
  return versions;
}

// The folder in which one version of asdf's is installed; "" where there is none.
std::string folder_of_asdf(const fs::path& root, const std::string& tool,
                           const std::string& version) {
  constexpr std::string_view kPath = "path:";
  if (version.starts_with(kPath)) return version.substr(kPath.size());
  if (version.find('/') != std::string::npos || version.starts_with(".")) return "";
  return (root / "installs" / tool / version).string();
}

}  // namespace

std::string short_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMostBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text.size() > kMostBytes ? "" : text;
}

bool can_be_run(const std::string& path) {
  struct stat found = {};
  return stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) &&
         access(path.c_str(), X_OK) == 0;
}

std::string behind_pyenv(const std::string& root_folder, const std::string& name) {
  const fs::path root = root_folder;
  for (const std::string& version : chosen_versions(root)) {
    if (version == "system") return in_path_beside(root / "shims", name);
    const std::string folder = installed(root / "versions", version);
    if (folder.empty()) continue;
    std::string candidate = (fs::path(folder) / "bin" / name).string();
    if (can_be_run(candidate)) return candidate;
  }
  return "";
}

std::string behind_mise(const std::string& path) {
  std::error_code failed;
  const std::string name = fs::path(path).filename().string();
  const fs::path manager = fs::is_symlink(path, failed) ? fs::canonical(path, failed) : fs::path();
  if (manager.filename() != "mise" || name == "mise") return "";
  const auto answer = run_tool({"timeout", kMostSeconds, manager.string(), "which", name});
  if (!answer.ok() || !answer.value().succeeded) return "";
  // Warnings may stand before it.
  std::istringstream lines(answer.value().output);
  std::string last;
  for (std::string line; std::getline(lines, line);) last = line;
  const bool is_program = last.starts_with("/") && can_be_run(last);
  return is_program && !fs::equivalent(last, manager, failed) ? last : "";
}

std::string behind_asdf(const std::string& root_folder, const std::vector<std::string>& tools,
                        const std::string& name) {
  const fs::path root = root_folder;
  for (const std::string& tool : tools) {
    for (const std::string& version : chosen_by_asdf(tool)) {
      if (version == "system") return in_path_beside(root / "shims", name);
      const std::string folder = folder_of_asdf(root, tool, version);
      std::string candidate = (fs::path(folder) / "bin" / name).string();
      if (!folder.empty() && can_be_run(candidate)) return candidate;
    }
  }
  return "";
}

}  // namespace optile::cli
