#include "bindings/cli/run/wrapper_script.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <utility>

#include "bindings/cli/run/version_manager.h"

namespace optile::cli {
namespace fs = std::filesystem;
namespace {

using Words = std::vector<std::string>;

// Words of a line up to a comment, out of their quotes; nothing is expanded. None where a quote
// stays open.
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
    if (!any && c == '#') break;
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

// What asdf has noted for a shim: lines `# asdf-plugin: TOOL VERSION`.
Words asdf_tools(const std::string& text) {
  constexpr std::string_view kNote = "# asdf-plugin:";
  std::istringstream lines(text);
  Words tools;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kNote)) continue;
    std::istringstream rest(line.substr(kNote.size()));
    std::string tool;
    if (rest >> tool && std::find(tools.begin(), tools.end(), tool) == tools.end()) {
      tools.push_back(tool);
    }
  }
  return tools;
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

}  // namespace

bool is_shell(const std::string& interpreter) {
  constexpr std::array<std::string_view, 5> kShells = {"sh", "bash", "dash", "ksh", "zsh"};
  return std::find(kShells.begin(), kShells.end(), fs::path(interpreter).filename().string()) !=
         kShells.end();
}

WrappedProgram program_behind(const std::string& path) {
  const std::string text = short_text(path);
  const Words exec = only_exec(text);
  if (exec.size() < 2 || exec.back() != "$@") return {};
  const std::string& program = exec.front();
  const std::string manager = fs::path(program).filename().string();
  const std::string name = fs::path(path).filename().string();
  if (manager == "pyenv" && exec[1] == "exec") {
    const std::string root = assigned(text, "PYENV_ROOT");
    if (!root.starts_with("/")) return {};
    return {behind_pyenv(root, name), {}};
  }
  if (manager == "asdf" && exec[1] == "exec") {
    // Its shims lie in a folder of their own beside what is installed.
    return {
        behind_asdf(fs::path(path).parent_path().parent_path().string(), asdf_tools(text), name),
        {}};
  }
  const bool plain = program.starts_with("/") && program.find_first_of("$`") == std::string::npos;
  if (!plain || !can_be_run(program)) return {};
  return {program, {exec.begin() + 1, exec.end() - 1}};
}

}  // namespace optile::cli
