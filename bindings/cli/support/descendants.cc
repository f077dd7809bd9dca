#include "bindings/cli/support/descendants.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "bindings/cli/support/detached_process.h"

namespace optile::cli {
namespace {

namespace fs = std::filesystem;

std::string read_proc(pid_t pid, const char* file) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/" + file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// 0 = there is no such process.
pid_t parent_of(pid_t pid) {
  const std::string stat = read_proc(pid, "stat");
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(stat.substr(name_end + 1));
  char state = 0;
  pid_t parent = 0;
  fields >> state >> parent;
  return parent;
}

bool is_detached(pid_t pid) {
  const std::string variables = '\0' + read_proc(pid, "environ");
  return variables.find('\0' + std::string(kDetached) + "=") != std::string::npos;
}

std::multimap<pid_t, pid_t> children_of_all() {
  std::multimap<pid_t, pid_t> children;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    std::from_chars(name.data(), name.data() + name.size(), pid);
    if (const pid_t parent = pid > 0 ? parent_of(pid) : 0; parent > 0) {
      children.emplace(parent, pid);
    }
  }
  return children;
}

void end_below(const std::multimap<pid_t, pid_t>& children, pid_t parent, std::set<pid_t>& ended) {
  const auto [begin, end] = children.equal_range(parent);
  for (auto one = begin; one != end; ++one) {
    if (is_detached(one->second) || !ended.insert(one->second).second) continue;
    kill(one->second, SIGKILL);
    end_below(children, one->second, ended);
  }
}

}  // namespace

void adopt_orphans() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void end_descendants(bool reaps) {
  for (;;) {
    const std::multimap<pid_t, pid_t> children = children_of_all();
    std::set<pid_t> ended;
    end_below(children, getpid(), ended);
    if (!reaps || ended.empty()) return;
    const auto [begin, end] = children.equal_range(getpid());
    for (auto one = begin; one != end; ++one) {
      if (!ended.contains(one->second)) continue;
      while (waitpid(one->second, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
  }
}

}  // namespace optile::cli
