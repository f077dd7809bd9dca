#include "daemon/process/process_entry.h"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <memory>

#include "base/control_group_folders.h"
#include "base/text_file.h"

namespace optile::daemon {
namespace {

using base::UniqueFd;

// Places in the line, counted as in proc(5).
constexpr int kState = 3;
constexpr int kParent = 4;
constexpr int kFlags = 9;
constexpr int kUserTicks = 14;
constexpr int kSystemTicks = 15;
constexpr int kNice = 19;
constexpr int kStartTicks = 22;
constexpr int kPending = 31;
constexpr int kEnvironmentStart = 50;
constexpr int kExitCode = 52;  // as wait() tells it

constexpr std::size_t kThreadsLookedAt = 65536;  // more than a process usually may have

constexpr uint64_t kKill = UINT64_C(1) << (SIGKILL - 1);

std::optional<uint64_t> number_of(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<int> id_of(const char* text) {
  const std::optional<uint64_t> number = number_of(text);
  if (!number || *number == 0 || *number > INT32_MAX) return std::nullopt;
  return static_cast<int>(*number);
}

// While a process is stopped the kernel shows the signal that did it in the same place.
int killer_of(uint64_t exit_code) {
  const int signal = static_cast<int>(exit_code & 0x7f);
  return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU ? 0
                                                                                          : signal;
}

// What is to be frozen counts as well: it stops at once, but for threads in the kernel.
bool is_frozen_group(const base::ControlGroupFolder& group) {
  const auto text = [&group](const char* file) {
    return base::read_text_file(group.path + file).value_or("");
  };
  if (!group.unified) return text("/freezer.state").find("FR") == 0;
  return text("/cgroup.freeze").find('1') == 0 ||
         text("/cgroup.events").find("frozen 1") != std::string::npos;
}

}  // namespace

bool ProcessStat::ends() const {
  return state == 'Z' || state == 'X' || (flags & kExiting) != 0 || (pending & kKill) != 0;
}

std::optional<ProcessStat> parse_process_stat(std::string_view line) {
  // The name stands in parentheses and may hold any byte, parentheses and blanks too.
  const std::size_t open = line.find('(');
  const std::size_t close = line.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return std::nullopt;
  }
  ProcessStat stat;
  stat.name = line.substr(open + 1, close - open - 1);
  line.remove_prefix(close + 1);
  int place = kState - 1;
  while (place < kExitCode) {
    const std::size_t begin = line.find_first_not_of(" \n");
    if (begin == std::string_view::npos) break;
    line.remove_prefix(begin);
    const std::string_view field = line.substr(0, line.find_first_of(" \n"));
    line.remove_prefix(field.size());
    ++place;
    if (place == kState) {
      stat.state = field.front();
      continue;
    }
    if (place == kParent) stat.parent = id_of(std::string(field).c_str()).value_or(0);
    if (place == kNice) stat.nice = field.front() != '-' && field != "0";
    if (place != kFlags && place != kUserTicks && place != kSystemTicks && place != kStartTicks &&
        place != kPending && place != kEnvironmentStart && place != kExitCode) {
      continue;
    }
    const std::optional<uint64_t> number = number_of(field);
    if (!number) return std::nullopt;
    if (place == kFlags) stat.flags = static_cast<uint32_t>(*number);
    if (place == kUserTicks || place == kSystemTicks) stat.busy_ticks += *number;
    if (place == kStartTicks) stat.start_ticks = *number;
    if (place == kPending) stat.pending = *number;
    if (place == kEnvironmentStart) stat.environment_start = *number;
    if (place == kExitCode) stat.killed_by = killer_of(*number);
  }
  if (place < kPending) return std::nullopt;
  return stat;
}

bool is_frozen(int pid, const std::string& root) {
  const std::vector<base::ControlGroupFolder> groups =
      base::control_group_folders(root, pid, "freezer");
  return std::any_of(groups.begin(), groups.end(), is_frozen_group);
}

std::optional<uint64_t> start_of_process(int pid) {
  const base::Result<ProcessEntry> process = ProcessEntry::open(pid);
  if (!process.ok()) return std::nullopt;
  const std::optional<ProcessStat> stat = process.value().stat();
  return stat ? std::optional(stat->start_ticks) : std::nullopt;
}

base::Result<ProcessEntry> ProcessEntry::open(int pid, const std::string& proc) {
  const std::string path = proc + "/" + std::to_string(pid);
  UniqueFd folder(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (pid <= 0 || !folder.valid()) {
    return base::Error{base::ErrorKind::kNotFound, "there is no process " + std::to_string(pid)};
  }
  return ProcessEntry(pid, std::move(folder));
}

std::optional<ProcessStat> ProcessEntry::read(const char* path) const {
  const UniqueFd file(openat(folder_.get(), path, O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return std::nullopt;
  std::array<char, 1024> text{};
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  if (got <= 0) return std::nullopt;
  return parse_process_stat({text.data(), static_cast<std::size_t>(got)});
}

std::optional<ProcessStat> ProcessEntry::stat() const {
  return read("stat");
}

std::optional<std::chrono::nanoseconds> ProcessEntry::thread_demand(int tid) const {
  std::array<char, 48> path{};
  std::snprintf(path.data(), path.size(), "task/%d/schedstat", tid);
  const UniqueFd file(openat(folder_.get(), path.data(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return std::nullopt;
  std::array<char, 128> text{};
  const ssize_t got = ::read(file.get(), text.data(), text.size() - 1);
  unsigned long long ran = 0, waited = 0;
  if (got <= 0 || std::sscanf(text.data(), "%llu %llu", &ran, &waited) != 2) return std::nullopt;
  return std::chrono::nanoseconds(static_cast<int64_t>(ran + waited));
}

std::optional<ProcessStat> ProcessEntry::thread_stat(int tid) const {
  std::array<char, 48> path{};
  std::snprintf(path.data(), path.size(), "task/%d/stat", tid);
  return read(path.data());
}

std::vector<int> ProcessEntry::threads(std::size_t limit) const {
  std::vector<int> found;
  UniqueFd folder(openat(folder_.get(), "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) return found;
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(fdopendir(folder.get()), closedir);
  if (listing == nullptr) return found;
  folder.release();  // the listing closes it
  while (found.size() < limit) {
    const dirent* entry = readdir(listing.get());
    if (entry == nullptr) break;
    if (const std::optional<int> tid = id_of(entry->d_name)) found.push_back(*tid);
  }
  return found;
}

// Whoever reads a `stat` file holds the memory of the process for a moment, and would have to take
// it apart if that was the last hold: tens of milliseconds with 1 GB. The link to the executable
// tells without such a hold whether a thread has given up its memory, which is just after it has
// marked its robust mutexes.
ProcessEntry::Memory ProcessEntry::memory(const char* link) const {
  std::array<char, 8> ignored{};
  if (readlinkat(folder_.get(), link, ignored.data(), ignored.size()) >= 0) return Memory::kHeld;
  return errno == ENOENT || errno == ESRCH ? Memory::kGivenUp : Memory::kUnknown;
}

bool ProcessEntry::ends() const {
  const Memory held = memory("exe");
  if (held == Memory::kHeld) return false;
  const std::optional<ProcessStat> leader = stat();
  if (!leader) return true;
  if (!leader->ends()) return false;
  // A signal that kills is for all threads. Without one the main thread may have ended alone.
  return leader->killed_by != 0 || others_end();
}

bool ProcessEntry::others_end() const {
  for (const int tid : threads(kThreadsLookedAt)) {
    std::array<char, 48> link{};
    std::snprintf(link.data(), link.size(), "task/%d/exe", tid);
    const Memory held = memory(link.data());
    if (held == Memory::kHeld) return false;
    // Not ours to ask about: the other way, whatever it costs.
    const std::optional<ProcessStat> thread =
        held == Memory::kUnknown ? thread_stat(tid) : std::nullopt;
    if (thread && !thread->ends()) return false;
  }
  return true;
}

}  // namespace optile::daemon
