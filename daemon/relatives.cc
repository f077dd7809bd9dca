#include "daemon/relatives.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/text_file.h"
#include "daemon/process_entry.h"

namespace optile::daemon {
namespace {

constexpr std::size_t kMost = 64;
constexpr std::size_t kMostThreads = 256;  // of a process
constexpr std::string_view kRunId = "OPTILE_RUN_ID=";

std::string folder_of(int pid, const std::string& root) {
  return root + "/proc/" + std::to_string(pid);
}

// Those that any of its threads started: dask's start their workers beside the main one. Empty
// where the kernel does not list them.
std::vector<int> children_of(int pid, const std::string& root) {
  std::vector<int> children;
  std::error_code failed;
  std::filesystem::directory_iterator thread(folder_of(pid, root) + "/task", failed);
  for (std::size_t looked_at = 0;
       !failed && looked_at < kMostThreads && thread != std::filesystem::directory_iterator();
       ++looked_at, thread.increment(failed)) {
    std::istringstream list(
        base::read_text_file((thread->path() / "children").string()).value_or(""));
    for (int child = 0; children.size() < kMost && list >> child;) children.push_back(child);
  }
  return children;
}

// As it was started; "" where it carries none, or may not be asked.
std::string run_of(int pid, const std::string& root) {
  std::istringstream words(base::read_text_file(folder_of(pid, root) + "/environ").value_or(""));
  for (std::string word; std::getline(words, word, '\0');) {
    if (word.starts_with(kRunId)) return word.substr(kRunId.size());
  }
  return "";
}

int parent_of(int pid, const std::string& root) {
  const base::Result<ProcessEntry> entry = ProcessEntry::open(pid, root + "/proc");
  if (!entry.ok()) return 0;
  const std::optional<ProcessStat> stat = entry.value().stat();
  return stat ? stat->parent : 0;
}

}  // namespace

std::vector<int> relatives_of(const std::vector<int>& clients, const std::string& root) {
  std::set<int> candidates;
  const std::size_t looked_at = std::min(clients.size(), kMost);
  for (std::size_t i = 0; i < looked_at; ++i) {
    const std::vector<int> own = children_of(clients[i], root);
    candidates.insert(own.begin(), own.end());
    const int parent = parent_of(clients[i], root);
    if (parent <= 1 || !candidates.insert(parent).second) continue;
    const std::vector<int> beside = children_of(parent, root);
    candidates.insert(beside.begin(), beside.end());
  }
  for (const int client : clients) candidates.erase(client);
  if (candidates.empty()) return {};
  std::set<std::string> runs;
  for (std::size_t i = 0; i < looked_at; ++i) runs.insert(run_of(clients[i], root));
  runs.erase("");
  std::vector<int> relatives;
  for (const int pid : candidates) {
    if (runs.empty() || relatives.size() == kMost) break;
    if (runs.contains(run_of(pid, root))) relatives.push_back(pid);
  }
  return relatives;
}

}  // namespace optile::daemon
