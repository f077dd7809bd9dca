#include "bindings/cli/wrapper_script.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

namespace optile::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMostBytes = 16384;  // a longer script is no wrapper

using Words = std::vector<std::string>;

std::string read_text(const std::string& path, std::size_t most) {
  std::ifstream file(path, std::ios::binary);
  std::string text(most + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text.size() > most ? "" : text;
}

bool can_be_run(const std::string& path) {
  struct stat found = {};
  return stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) &&
         access(path.c_str(), X_OK) == 0;
}

// Words of a line, out of their quotes; nothing is expanded. None where a quote stays open.
Words words_of(const std::string& line) {
  Words words;
  std::string word;
  char quote = '\0';
  bool any = false;
  for (const char c : line) {
    if (quote == '\0' && (c == ' ' || c == '\t')) {
      if (any) words.push_back(std::exchange(word, ""));
      any = false;
      continue;
    }
    any = true;
    if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == quote) {
      quote = '\0';
    } else {
      word += c;
    }
  }
  if (any) words.push_back(word);
  return quote == '\0' ? words : Words();
}

// `exec 2>&1` and the like stay in the script.
bool redirects_only(const Words& words) {
  return words.size() < 2 || words[1].find_first_of("<>") != std::string::npos;
}

// The words behind the only `exec`, which ends the script; none where there are several or
// something follows, as of a script that chooses.
Words only_exec(const std::string& text) {
  std::istringstream lines(text);
  Words found;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos || line[begin] == '#') continue;
    if (!found.empty()) return {};
    const Words words = words_of(line);
    if (std::find(words.begin(), words.end(), "exec") == words.end()) continue;
    if (words.front() == "exec" && redirects_only(words)) continue;
    if (words.front() != "exec" || !found.empty()) return {};
    found.assign(words.begin() + 1, words.end());
  }
  return found;
}

// The value that the script itself gives a variable, in plain text.
std::string assigned(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    for (const std::string& word : words_of(line)) {
      if (word.starts_with(name + "=")) return word.substr(name.size() + 1);
    }
  }
  return "";
}

std::string from_environment(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

// Versions in a file of pyenv's, in their order.
Words versions_in(const fs::path& file) {
  std::istringstream lines(read_text(file.string(), kMostBytes));
  Words versions;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    for (std::string word; words >> word;) versions.push_back(word);
  }
  return versions;
}

// As `pyenv version-name` looks: the shell's word, a file here or above, the user's choice.
Words chosen_versions(const fs::path& root) {
  Words versions;
  std::istringstream said(from_environment("PYENV_VERSION"));
  for (std::string version; std::getline(said, version, ':');) versions.push_back(version);
  std::error_code ignored;
  const fs::path here = fs::current_path(ignored);
  for (fs::path folder = here; versions.empty() && !folder.empty(); folder = folder.parent_path()) {
    versions = versions_in(folder / ".python-version");
    if (folder == folder.root_path()) break;
  }
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

std::string behind_pyenv(const fs::path& root, const std::string& name) {
  for (const std::string& version : chosen_versions(root)) {
    if (version == "system") return in_path_beside(root / "shims", name);
    const std::string folder = installed(root / "versions", version);
    if (folder.empty()) continue;
    std::string candidate = (fs::path(folder) / "bin" / name).string();
    if (can_be_run(candidate)) return candidate;
  }
  return "";
}

}  // namespace

bool is_shell(const std::string& interpreter) {
  constexpr std::array<std::string_view, 5> kShells = {"sh", "bash", "dash", "ksh", "zsh"};
  return std::find(kShells.begin(), kShells.end(), fs::path(interpreter).filename().string()) !=
         kShells.end();
}

WrappedProgram program_behind(const std::string& path) {
  const std::string text = read_text(path, kMostBytes);
  const Words exec = only_exec(text);
  if (exec.size() < 2 || exec.back() != "$@") return {};
  const std::string& program = exec.front();
  if (fs::path(program).filename() == "pyenv" && exec[1] == "exec") {
    const std::string root = assigned(text, "PYENV_ROOT");
    if (!root.starts_with("/")) return {};
    return {behind_pyenv(root, fs::path(path).filename().string()), {}};
  }
  const bool plain = program.starts_with("/") && program.find_first_of("$`") == std::string::npos;
  if (!plain || !can_be_run(program)) return {};
  return {program, {exec.begin() + 1, exec.end() - 1}};
}

}  // namespace optile::cli
