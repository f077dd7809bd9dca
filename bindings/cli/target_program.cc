#include "bindings/cli/target_program.h"

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

#include "bindings/cli/elf_file.h"

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
  if (elf.value().interpreter.find("musl") != std::string::npos) {
    return "it runs on musl, where a library built for glibc would end it";
  }
  for (const std::string& needed : elf.value().needed) {
    if (needed.starts_with("libasan.so") || needed.starts_with("libclang_rt.asan")) {
      return "it runs under AddressSanitizer, which must be the first library of all";
    }
  }
  return "";
}

bool is_python(const std::string& executable) {
  return fs::path(executable).filename().string().starts_with("python");
}

// PyTorch's extension module, where this interpreter would import it from.
std::vector<std::string> python_extensions(const std::string& executable) {
  std::vector<std::string> found;
  std::error_code ignored;
  const fs::path lib = fs::canonical(executable, ignored).parent_path().parent_path() / "lib";
  for (const auto& version : fs::directory_iterator(lib, ignored)) {
    if (!version.path().filename().string().starts_with("python3")) continue;
    for (const char* packages : {"dist-packages", "site-packages"}) {
      const fs::path torch = version.path() / packages / "torch";
      for (const auto& file : fs::directory_iterator(torch, ignored)) {
        const std::string name = file.path().filename().string();
        if (name.starts_with("_C.") && name.ends_with(".so")) found.push_back(file.path().string());
      }
    }
  }
  return found;
}

// The first thing that an object of the closure asks of libgomp and libomp cannot give.
std::string first_obstacle(std::deque<std::string> open, const LibrarySearch& search,
                           const std::set<std::string>& offered) {
  std::set<std::string> seen;
  int objects = 0;
  while (!open.empty() && objects < kMostObjects) {
    const std::string path = open.front();
    open.pop_front();
    const auto elf = read_elf_file(path, ElfSymbols::kNone);
    if (!elf.ok()) continue;
    ++objects;
    bool uses_openmp = false;
    for (const std::string& needed : elf.value().needed) {
      uses_openmp = uses_openmp || needed.starts_with("libgomp");
      if (!seen.insert(needed).second || needed.starts_with("libgomp")) continue;
      const std::string next = search.find(needed);
      if (!next.empty()) open.push_back(next);
    }
    if (!uses_openmp) continue;
    const auto symbols = read_elf_file(path, ElfSymbols::kAll);
    if (!symbols.ok()) continue;
    for (const std::string& name : symbols.value().undefined) {
      const bool openmp = name.starts_with("GOMP_") || name.starts_with("omp_");
      if (openmp && !offered.contains(name)) {
        return fs::path(path).filename().string() + " needs " + name + ", which libomp lacks";
      }
    }
  }
  return "";
}

}  // namespace

base::Result<TargetProgram> look_at_program(const std::vector<std::string>& command) {
  base::Result<std::string> found = find_command(command.front());
  if (!found.ok()) return found.error();
  TargetProgram target;
  target.path = found.value();
  target.executable = target.path;
  target.script = target.path;
  for (int i = 0; i < kMostInterpreters; ++i) {
    const std::string interpreter = interpreter_of(target.executable);
    if (interpreter.empty()) break;
    target.executable = interpreter;
  }
  if (is_python(target.executable) && target.executable == target.path) {
    const auto script =
        std::find_if(command.begin() + 1, command.end(),
                     [](const std::string& word) { return !word.starts_with("-"); });
    if (script != command.end()) target.script = *script;
  }
  target.unseen = why_unseen(target.executable);
  return target;
}

std::string blas_provider(const LibrarySearch& search) {
  std::string path = search.find("libblas.so.3");
  if (path.empty()) path = search.find("libopenblas.so.0");
  if (path.empty()) return "none";
  if (path.find("openblas-pthread") != std::string::npos) return "openblas-pthread";
  if (path.find("openblas-openmp") != std::string::npos) return "openblas-openmp";
  if (path.find("openblas-serial") != std::string::npos) return "openblas-serial";
  if (path.find("blis") != std::string::npos) return "blis";
  if (path.find("/blas/") != std::string::npos) return "reference";
  return "other";
}

LibompFit look_for_libomp(const TargetProgram& target, const LibrarySearch& search) {
  LibompFit fit;
  fit.path = search.find("libomp.so.5");
  if (fit.path.empty()) return fit;
  const auto libomp = read_elf_file(fit.path, ElfSymbols::kAll);
  if (!libomp.ok()) {
    fit.obstacle = libomp.message();
    return fit;
  }
  std::deque<std::string> open = {target.executable};
  if (is_python(target.executable)) {
    for (std::string& extension : python_extensions(target.executable)) {
      open.push_back(std::move(extension));
    }
  }
  fit.obstacle = first_obstacle(std::move(open), search, libomp.value().defined);
  fit.suitable = fit.obstacle.empty();
  return fit;
}

}  // namespace optile::cli
