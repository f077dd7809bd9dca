#include "bindings/cli/run/target_program.h"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/preload_limits.h"
#include "bindings/cli/run/version_manager.h"
#include "bindings/cli/run/wrapper_script.h"
#include "bindings/cli/support/elf_file.h"

namespace optile::cli {
namespace fs = std::filesystem;
namespace {

using base::Error;
using base::ErrorKind;

constexpr int kMostObjects = 2000;    // of a program's closure
constexpr int kMostInterpreters = 4;  // a script's interpreter may be a script

bool is_regular(const std::string& path) {
  struct stat found = {};
  return stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
}

// As execvp searches: a name without a slash goes through PATH.
base::Result<std::string> find_command(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    struct stat found = {};
    if (stat(name.c_str(), &found) != 0) return base::errno_error("cannot run " + name, errno);
    if (!S_ISREG(found.st_mode) || access(name.c_str(), X_OK) != 0) {
      return Error{ErrorKind::kDenied, "cannot run " + name + ": it is not an executable file"};
    }
    return name;
  }
  const char* path = getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path);
  bool seen = false;
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (!is_regular(candidate)) continue;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    seen = true;
  }
  if (seen) {
    return Error{ErrorKind::kDenied, "cannot run " + name + ": it is not an executable file"};
  }
  return Error{ErrorKind::kNotFound,
               "cannot run " + name + ": not found; give a path or put it into PATH"};
}

// "#!/usr/bin/env python3" → python3 by PATH; "#!/usr/bin/python3 -u" → /usr/bin/python3.
std::string interpreter_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  if (!std::getline(file, line) || !line.starts_with("#!")) return "";
  std::istringstream words(line.substr(2));
  std::string interpreter;
  words >> interpreter;
  if (fs::path(interpreter).filename() != "env") return interpreter;
  for (std::string word; words >> word;) {
    if (word.starts_with("-") || word.find('=') != std::string::npos) continue;
    const auto found = find_command(word);
    return found.ok() ? found.value() : "";
  }
  return "";
}

std::vector<std::string> libraries_of(const std::string& executable) {
  const auto elf = read_elf_file(executable, ElfSymbols::kNone);
  return elf.ok() ? elf.value().needed : std::vector<std::string>();
}

std::string why_unseen(const std::string& executable) {
  struct stat found = {};
  if (stat(executable.c_str(), &found) == 0 && (found.st_mode & (S_ISUID | S_ISGID)) != 0) {
    return "it is setuid or setgid, and the dynamic linker ignores preloads there";
  }
  if (getxattr(executable.c_str(), "security.capability", nullptr, 0) > 0) {
    return "it has file capabilities, and the dynamic linker ignores preloads there";
  }
  const auto elf = read_elf_file(executable, ElfSymbols::kNone);
  if (!elf.ok()) return "it is not a 64-bit ELF program";
  if (elf.value().interpreter.empty()) return "it is linked statically";
  if (base::is_musl_loader(elf.value().interpreter.c_str())) {
    return "it runs on musl, where a library built for glibc would end it";
  }
  for (const std::string& needed : elf.value().needed) {
    if (base::must_come_first(needed.c_str())) {
      return "it runs under AddressSanitizer, which must be the first library of all";
    }
  }
  return "";
}

// Whoever is preloaded by the user stands behind the shim then.
std::string why_preloads_forbid() {
  const char* list = getenv("LD_PRELOAD");
  std::string text = list == nullptr ? "" : list;
  std::replace(text.begin(), text.end(), ':', ' ');  // the dynamic linker takes both
  std::istringstream entries(text);
  for (std::string entry; entries >> entry;) {
    if (base::must_come_first(fs::path(entry).filename().c_str())) {
      return "LD_PRELOAD names AddressSanitizer, which must be the first library of all";
    }
  }
  return "";
}

bool is_openmp_runtime(const std::string& name) {
  return name.starts_with("libgomp.") || name.starts_with("libgomp-") ||
         name.starts_with("libomp.") || name.starts_with("libiomp5.");
}

// A runtime that is a part of the program is called directly: nothing can stand between.
std::string why_hidden(const TargetProgram& target) {
  const auto linked = std::any_of(target.needed.begin(), target.needed.end(), is_openmp_runtime);
  if (!target.unseen.empty() || linked) return "";
  const auto defines = elf_defines(target.executable, {"GOMP_parallel", "__kmpc_fork_call"});
  const bool own = defines.ok() && defines.value();
  return own ? "an OpenMP runtime is linked into it statically" : "";
}

bool is_python(const std::string& executable) {
  return fs::path(executable).filename().string().starts_with("python");
}

// What an interpreter was told to run, else the executable: as the shim will tell it of itself.
std::string program_of(const std::string& executable, const std::vector<std::string>& command) {
  std::error_code ignored;
  std::string itself = fs::canonical(executable, ignored).string();
  if (!is_python(executable)) return itself;
  for (std::size_t i = 1; i < command.size() && command[i] != "-c"; ++i) {
    if (command[i] == "-m") return i + 1 < command.size() ? command[i + 1] : itself;
    if (!command[i].starts_with("-")) return command[i];
  }
  return itself;
}

// PyTorch's extension modules, which need the rest of it.
std::vector<std::string> extensions_in(const std::string& torch_folder) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& file : fs::directory_iterator(torch_folder, ignored)) {
    const std::string name = file.path().filename().string();
    if (name.starts_with("_C.") && name.ends_with(".so")) found.push_back(file.path().string());
  }
  return found;
}

struct Closure {
  std::vector<std::string> openmp_objects;  // those that need libgomp
  std::set<std::string> openmp_runtimes;
  std::string torch_core;
  std::string blas_path;
};

Closure closure_of(std::deque<std::string> open, const LibrarySearch& search) {
  Closure closure;
  std::set<std::string> seen;
  for (int objects = 0; !open.empty() && objects < kMostObjects; ++objects) {
    const std::string path = open.front();
    open.pop_front();
    const auto elf = read_elf_file(path, ElfSymbols::kNone);
    if (!elf.ok()) continue;
    bool uses_openmp = false;
    for (const std::string& needed : elf.value().needed) {
      const bool libgomp = needed.starts_with("libgomp");
      uses_openmp = uses_openmp || libgomp;
      if (is_openmp_runtime(needed)) closure.openmp_runtimes.insert(needed);
      if (needed.starts_with("libtorch_cpu.so")) closure.torch_core = needed;
      if (!seen.insert(needed).second || libgomp) continue;
      const std::string next = search.find(needed);
      if (next.empty()) continue;
      const bool blas = needed.starts_with("libblas.") || needed.starts_with("libopenblas.");
      if (blas && closure.blas_path.empty()) closure.blas_path = next;
      open.push_back(next);
    }
    if (uses_openmp) closure.openmp_objects.push_back(path);
  }
  return closure;
}

// The first thing that one of the objects asks of OpenMP and that is not offered.
std::string first_obstacle(const std::vector<std::string>& objects,
                           const std::set<std::string>& offered) {
  for (const std::string& path : objects) {
    const auto symbols = read_elf_file(path, ElfSymbols::kUndefined);
    if (!symbols.ok()) continue;
    for (const std::string& name : symbols.value().undefined) {
      const bool openmp = name.starts_with("GOMP_") || name.starts_with("omp_");
      if (openmp && !offered.contains(name)) {
        return fs::path(path).filename().string() + " needs " + name + ", which libomp lacks";
      }
      // It sleeps in calls that can be cancelled, and aborts later: every time with a block time of
      // 0, 5 times in 12 with 1 ms, never with its own of 200.
      if (name == "pthread_cancel") {
        return fs::path(path).filename().string() +
               " cancels threads, which libomp does not survive while they sleep in a barrier";
      }
    }
  }
  return "";
}

// What optile/annotate.h looks for, in any version of it.
constexpr std::string_view kAnnotated = "optile_annotation_api_";

std::string provider_of(const std::string& blas_path) {
  constexpr std::pair<const char*, const char*> kKnown[] = {
      {"openblas-pthread", "openblas-pthread"},
      {"openblas-openmp", "openblas-openmp"},
      {"openblas-serial", "openblas-serial"},
      {"blis", "blis"},
      {"/blas/", "reference"}};
  if (blas_path.empty()) return "none";
  for (const auto& [part, provider] : kKnown) {
    if (blas_path.find(part) != std::string::npos) return provider;
  }
  return "other";
}

}  // namespace

base::Result<TargetProgram> look_at_program(const std::vector<std::string>& command) {
  base::Result<std::string> found = find_command(command.front());
  if (!found.ok()) return found.error();
  TargetProgram target;
  target.path = found.value();
  target.executable = target.path;
  target.script = target.path;
  bool is_script = false;
  std::string shell;
  std::vector<std::string> words = command;
  for (int i = 0; i < kMostInterpreters; ++i) {
    if (const std::string chosen = behind_mise(target.executable); !chosen.empty()) {
      words.front() = chosen;
      target.executable = chosen;
      continue;
    }
    const std::string interpreter = interpreter_of(target.executable);
    if (interpreter.empty()) break;
    const WrappedProgram behind =
        is_shell(interpreter) ? program_behind(target.executable) : WrappedProgram();
    if (!behind.path.empty()) {
      shell = interpreter;
      words.front() = behind.path;
      words.insert(words.begin() + 1, behind.arguments.begin(), behind.arguments.end());
    } else if (!std::exchange(is_script, true)) {
      target.script = target.executable;
    }
    target.executable = behind.path.empty() ? interpreter : behind.path;
  }
  if (!is_script) target.script = program_of(target.executable, words);
  target.unseen = why_unseen(target.executable);
  // What the shell is not given, nobody behind it gets.
  if (target.unseen.empty() && !shell.empty()) target.unseen = why_unseen(shell);
  if (target.unseen.empty()) target.unseen = why_preloads_forbid();
  target.needed = libraries_of(target.executable);
  target.hidden_regions = why_hidden(target);
  return target;
}

ProgramObjects look_at_objects(const TargetProgram& target, const LibrarySearch& search,
                               const std::string& torch_folder) {
  std::deque<std::string> open = {target.executable};
  ProgramObjects objects;
  for (std::string& extension : extensions_in(torch_folder)) {
    objects.has_pytorch = true;
    open.push_back(std::move(extension));
  }
  Closure closure = closure_of(std::move(open), search);
  // What an interpreter opens later is bound to the machine's choice.
  if (closure.blas_path.empty() && is_python(target.executable)) {
    closure.blas_path = search.find("libblas.so.3");
  }
  objects.blas_provider = provider_of(closure.blas_path);
  objects.uses_openmp = !closure.openmp_objects.empty();
  objects.marks_ops = objects.uses_openmp && file_holds(target.executable, kAnnotated);
  objects.openmp_runtimes = std::move(closure.openmp_runtimes);
  objects.torch_core = std::move(closure.torch_core);
  objects.libomp_path = search.find("libomp.so.5");
  if (objects.libomp_path.empty()) return objects;
  // What it offers counts only where somebody asks for it.
  const auto libomp = read_elf_file(objects.libomp_path,
                                    objects.uses_openmp ? ElfSymbols::kAll : ElfSymbols::kNone);
  objects.libomp_obstacle = libomp.ok()
                                ? first_obstacle(closure.openmp_objects, libomp.value().defined)
                                : libomp.message();
  objects.libomp_suitable = objects.libomp_obstacle.empty();
  return objects;
}

}  // namespace optile::cli
