#include "daemon/process/relatives.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/text_file.h"
#include "daemon/process/process_entry.h"

namespace optile::daemon {
namespace {

constexpr std::size_t kMostThreadsOfOne = 256;
constexpr std::size_t kMostBeside = 64;  // the newest of a thread's children, outside the run
constexpr int kMostAbove = 32;
constexpr int kLooksAfterAFork = 2;  // the first may come between a fork and what is executed then
constexpr std::string_view kRunId = "OPTILE_RUN_ID=";

// As it was started.
std::optional<std::string> read_run(const std::string& folder) {
  const std::string text = base::read_text_file(folder + "/environ").value_or("");
  if (text.empty() || text.front() == '\0') return std::nullopt;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, '\0');) {
    if (word.starts_with(kRunId)) return word.substr(kRunId.size());
  }
  return "";
}

}  // namespace

// One look.
class RunProcesses::Search {
 public:
  Search(const std::string& root, const std::map<int, Process>& known)
      : root_(root), known_(known) {}

  std::vector<int> find(const std::vector<int>& clients, const std::vector<int>& found_before) {
    for (const int client : clients) climb(client);
    runs_.erase("");
    if (runs_.empty()) return {};
    for (const int client : clients) add(client);
    for (const int pid : found_before) add_if_of_run(pid, false);
    for (const int pid : above_) add_if_of_run(pid, false);
    descend();
    for (const int pid : above_) {
      if (added_.contains(pid)) continue;
      for (const int child : children_of(pid, kMostBeside)) add_if_of_run(child, false);
    }
    descend();
    for (const int client : clients) added_.erase(client);
    std::vector<int> found(added_.begin(), added_.end());
    if (found.size() > kMost) found.resize(kMost);
    return found;
  }
  bool is_complete() const { return complete_; }
  std::map<int, Process> take_visited() { return std::move(visited_); }

 private:
  // nullptr: it is gone, or enough have been looked at.
  const Process* visit(int pid) {
    const auto seen = visited_.find(pid);
    if (seen != visited_.end()) return &seen->second;
    if (visits_ >= kMostVisits) return nullptr;
    ++visits_;
    const base::Result<ProcessEntry> entry = ProcessEntry::open(pid, root_ + "/proc");
    if (!entry.ok()) return nullptr;
    const std::optional<ProcessStat> stat = entry.value().stat();
    if (!stat) return nullptr;
    Process process{{stat->start_ticks, stat->environment_start}, stat->parent, std::nullopt};
    const auto known = known_.find(pid);
    if (known != known_.end() && known->second.identity == process.identity) {
      process.run = known->second.run;
    } else if (environments_ < kMostEnvironments) {
      ++environments_;
      process.run = read_run(folder_of(pid));
    } else {
      complete_ = false;
      return nullptr;
    }
    return &visited_.emplace(pid, std::move(process)).first->second;
  }

  // Notes its run, and all that are above it.
  void climb(int client) {
    bool is_known = false;
    int pid = client;
    for (int level = 0; pid > 0 && level < kMostAbove; ++level) {
      const Process* process = visit(pid);
      if (process == nullptr) return;
      if (!is_known && process->run) {
        runs_.insert(*process->run);
        is_known = true;
      }
      pid = process->parent;
      const bool is_new = std::find(above_.begin(), above_.end(), pid) == above_.end();
      if (pid > 0 && is_new) above_.push_back(pid);
      if (!is_new && is_known) return;
    }
  }

  void add(int pid) {
    if (added_.insert(pid).second) below_.push_back(pid);
  }

  void add_if_of_run(int pid, bool of_parents) {
    if (added_.contains(pid)) return;
    const Process* process = visit(pid);
    if (process == nullptr) return;
    if (process->run ? runs_.contains(*process->run) : of_parents) add(pid);
  }

  void descend() {
    for (; !below_.empty(); below_.pop_front()) {
      for (const int child : children_of(below_.front(), kMostVisits)) add_if_of_run(child, true);
    }
  }

  // Those that any of its threads started, the newest `most` of each: dask's start their workers
  // beside the main one. Empty where the kernel does not list them.
  std::vector<int> children_of(int pid, std::size_t most) {
    std::vector<int> children;
    std::error_code failed;
    std::filesystem::directory_iterator thread(folder_of(pid) + "/task", failed);
    for (std::size_t looked_at = 0;
         !failed && looked_at < kMostThreadsOfOne && threads_ < kMostThreads &&
         thread != std::filesystem::directory_iterator();
         ++looked_at, ++threads_, thread.increment(failed)) {
      std::istringstream list(
          base::read_text_file((thread->path() / "children").string()).value_or(""));
      std::deque<int> newest;  // the kernel appends
      for (int child = 0; list >> child;) {
        newest.push_back(child);
        if (newest.size() > most) newest.pop_front();
      }
      children.insert(children.end(), newest.begin(), newest.end());
    }
    return children;
  }

  std::string folder_of(int pid) const { return root_ + "/proc/" + std::to_string(pid); }

  const std::string& root_;
  const std::map<int, Process>& known_;
  std::map<int, Process> visited_;
  std::set<std::string> runs_;
  std::vector<int> above_;  // nearest first, for each client
  std::set<int> added_;
  std::deque<int> below_;  // whose children are still to be looked at
  std::size_t visits_ = 0;
  std::size_t environments_ = 0;
  std::size_t threads_ = 0;
  bool complete_ = true;
};

bool RunProcesses::is_unchanged(const std::vector<int>& clients, std::optional<uint64_t> forks) {
  const bool is_same = forks && forks == forks_ && clients == clients_;
  same_looks_ = is_same ? same_looks_ + 1 : 0;
  forks_ = forks;
  clients_ = clients;
  return same_looks_ >= kLooksAfterAFork;
}

const std::vector<int>& RunProcesses::find(const std::vector<int>& clients,
                                           std::optional<uint64_t> forks) {
  if (is_unchanged(clients, forks)) return found_;
  const std::size_t looked_at = std::min(clients.size(), kMostClients);
  Search search(root_, known_);
  found_ = search.find({clients.begin(), clients.begin() + static_cast<std::ptrdiff_t>(looked_at)},
                       found_);
  std::erase_if(found_, [&](int pid) {
    return std::find(clients.begin(), clients.end(), pid) != clients.end();
  });
  known_ = search.take_visited();
  if (!search.is_complete()) same_looks_ = 0;
  return found_;
}

}  // namespace optile::daemon
