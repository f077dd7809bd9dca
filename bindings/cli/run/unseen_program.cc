#include "bindings/cli/run/unseen_program.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

namespace optile::cli {
namespace {

constexpr std::size_t kMostRead = 1 << 20;  // of a script

constexpr std::pair<std::string_view, const char*> kFrameworks[] = {
    {"tensorflow", "TensorFlow"}, {"jax", "JAX"}, {"flax", "JAX"}};

std::string beginning_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMostRead, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

// What Python is told to run; empty where it is not told by the command itself, as with -m.
std::string python_text(const std::vector<std::string>& command) {
  if (command.empty()) return "";
  const std::string name = std::filesystem::path(command[0]).filename().string();
  if (!name.starts_with("python")) {
    std::string text = beginning_of(command[0]);
    const std::string first = text.substr(0, text.find('\n'));
    const bool script = first.starts_with("#!") && first.find("python") != std::string::npos;
    return script ? text : "";
  }
  for (std::size_t i = 1; i < command.size() && command[i] != "-m"; ++i) {
    if (command[i] == "-c") return i + 1 < command.size() ? command[i + 1] : "";
    if (!command[i].starts_with("-")) return beginning_of(command[i]);
  }
  return "";
}

// "import jax.numpy as jnp", "import os, jax", "from tensorflow.keras import layers".
std::string framework_in(const std::string& statement) {
  std::istringstream words(statement);
  std::string word;
  if (!(words >> word) || (word != "import" && word != "from")) return "";
  const bool from = word == "from";
  while (words >> word) {
    if (word == "as" && words >> word) continue;  // a name of the program's own
    const std::string package = word.substr(0, word.find_first_of(".,"));
    for (const auto& [known, framework] : kFrameworks) {
      if (package == known) return framework;
    }
    if (from) break;
  }
  return "";
}

}  // namespace

std::string unseen_framework(const std::vector<std::string>& command) {
  std::istringstream text(python_text(command));
  for (std::string line; std::getline(text, line);) {
    std::istringstream statements(line);
    for (std::string one; std::getline(statements, one, ';');) {
      std::string framework = framework_in(one);
      if (!framework.empty()) return framework;
    }
  }
  return "";
}

std::string unseen_program_text(const UnseenProgram& program) {
  if (!program.reason.empty()) {
    return "optile: the program ran untouched, so there is nothing to report: " + program.reason +
           "\n";
  }
  if (!program.daemon_answered) {
    return "optile: the daemon does not answer, so nothing is known of this run\n";
  }
  std::string text =
      "optile: no op of the program was seen, so there is nothing to report\n"
      "  looked for     PyTorch's operators, OpenMP regions (libgomp, libomp), matrix products of\n"
      "                 BLAS, primitives of oneDNN, algorithms of oneTBB, annotations\n";
  if (program.framework.empty()) {
    text +=
        "  cannot be seen what is linked into the program statically, or makes threads past the C\n"
        "                 library; optile doctor says more of this program\n";
  } else {
    text += "  cannot be seen " + program.framework + ", which the program imports\n";
  }
  return text +
         "  beside others  it has no lease and keeps its threads; what it keeps busy is left to "
         "it\n"
         "                 by the programs that are seen\n";
}

std::string whole_program_text(const std::string& program) {
  return "optile: " + (program.empty() ? "the program" : program) +
         " was attached as a whole program: its threads are not steered by op\n"
         "  beside others  it has cores of its own where it asked for its mask before it made its\n"
         "                 threads, else what it keeps busy is left to it\n";
}

}  // namespace optile::cli
