#include "daemon/load/external_load.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/text_file.h"
#include "daemon/process/process_entry.h"

namespace optile::daemon {
namespace {

constexpr uint64_t kYouthSeconds = 15;  // PyTorch takes several to load on a busy machine
constexpr int kMostUnits = 65536;       // more than any machine of today

// "cpu3 user nice system idle iowait irq softirq steal ..."; guest time is within user.
std::optional<std::pair<int, UnitTicks>> parse_unit(const std::string& line) {
  if (line.compare(0, 3, "cpu") != 0 || line.size() < 4 || line[3] == ' ') return std::nullopt;
  std::istringstream fields(line.substr(3));
  int unit = -1;
  uint64_t user = 0, nice = 0, system = 0, idle = 0;
  if (!(fields >> unit >> user >> nice >> system >> idle)) return std::nullopt;
  if (unit < 0 || unit >= kMostUnits) return std::nullopt;
  uint64_t waiting = 0, interrupts = 0, soft_interrupts = 0, stolen = 0;
  fields >> waiting >> interrupts >> soft_interrupts >> stolen;  // older kernels have fewer
  return std::pair{
      unit, UnitTicks{user + system + interrupts + soft_interrupts, stolen, idle + waiting + nice}};
}

// "processes 12345": threads too.
std::optional<uint64_t> parse_forks(const std::string& line) {
  std::istringstream fields(line);
  std::string word;
  uint64_t forks = 0;
  if (!(fields >> word >> forks) || word != "processes") return std::nullopt;
  return forks;
}

uint64_t ticks_a_second() {
  return static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
}

uint64_t ticks_since_boot() {
  timespec now = {};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * ticks_a_second() +
         static_cast<uint64_t>(now.tv_nsec) * ticks_a_second() / 1000000000;
}

using Processes = std::map<int, LoadReading::Process>;

const LoadReading::Process* same_in(const Processes& processes, int pid, uint64_t start_ticks) {
  const auto found = processes.find(pid);
  const bool same = found != processes.end() && found->second.start_ticks == start_ticks;
  return same ? &found->second : nullptr;
}

// Who attaches was a relative before, as a rule.
const LoadReading::Process* same_in(const LoadReading& reading, int pid, uint64_t start_ticks) {
  for (const Processes* processes : {&reading.processes, &reading.relatives, &reading.helpers}) {
    if (const auto* process = same_in(*processes, pid, start_ticks)) return process;
  }
  return nullptr;
}

// All that were there still are, and all that are there were, or were started since.
bool comparable(const LoadReading& before, const LoadReading& after) {
  return std::all_of(before.processes.begin(), before.processes.end(),
                     [&](const auto& one) {
                       return same_in(after, one.first, one.second.start_ticks) != nullptr;
                     }) &&
         std::all_of(after.processes.begin(), after.processes.end(), [&](const auto& one) {
           return same_in(before, one.first, one.second.start_ticks) != nullptr ||
                  one.second.start_ticks >= before.at_ticks;
         });
}

// Idle time is not kept to the tick by every kernel and may fall back a little.
std::optional<UnitTicks> difference(const UnitTicks& before, const UnitTicks& after) {
  if (after.busy < before.busy || after.stolen < before.stolen) return std::nullopt;
  return UnitTicks{after.busy - before.busy, after.stolen - before.stolen,
                   after.idle < before.idle ? 0 : after.idle - before.idle};
}

// Calls `visit(unit, ticks)` with what passed on each unit that was there both times. False where a
// count fell back.
template <typename Visit>
bool visit_units(const LoadReading& before, const LoadReading& after, const std::vector<int>& units,
                 Visit visit) {
  for (const int unit : units) {
    const auto then = before.units.find(unit);
    const auto now = after.units.find(unit);
    if (then == before.units.end() || now == after.units.end()) continue;  // offline
    const std::optional<UnitTicks> passed = difference(then->second, now->second);
    if (!passed) return false;
    visit(unit, *passed);
  }
  return true;
}

double ticks_of(int pid, const LoadReading::Process& now, const LoadReading& before) {
  const LoadReading::Process* known = same_in(before, pid, now.start_ticks);
  // Nobody has looked for relatives while there was no client.
  if (known == nullptr && now.start_ticks < before.at_ticks) return 0;
  const uint64_t then = known != nullptr ? known->busy_ticks : 0;
  return now.busy_ticks > then ? static_cast<double>(now.busy_ticks - then) : 0;
}

double ticks_of(const Processes& processes, const LoadReading& before) {
  double ticks = 0;
  for (const auto& [pid, now] : processes) ticks += ticks_of(pid, now, before);
  return ticks;
}

Processes read_processes(const std::vector<int>& pids, const std::string& proc) {
  Processes processes;
  for (const int pid : pids) {
    const base::Result<ProcessEntry> entry = ProcessEntry::open(pid, proc);
    if (!entry.ok()) continue;
    if (const std::optional<ProcessStat> stat = entry.value().stat()) {
      processes[pid] = {stat->start_ticks, stat->nice ? 0 : stat->busy_ticks};
    }
  }
  return processes;
}

}  // namespace

LoadReading LoadReader::read(const std::vector<int>& pids) {
  LoadReading reading;
  reading.at_ticks = ticks_since_boot();
  const std::string proc = root_ + "/proc";
  std::optional<uint64_t> forks;
  std::istringstream lines(base::read_text_file(proc + "/stat").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    if (const auto unit = parse_unit(line)) reading.units.insert(*unit);
    if (const auto count = parse_forks(line)) forks = count;
  }
  reading.processes = read_processes(pids, proc);
  reading.relatives = read_processes(run_processes_.find(pids, forks), proc);
  // Who has not attached by then does something of its own.
  const uint64_t youth = kYouthSeconds * ticks_a_second();
  std::erase_if(reading.relatives, [&](const auto& one) {
    const bool is_old = one.second.start_ticks + youth < reading.at_ticks;
    if (is_old) reading.helpers.insert(one);
    return is_old;
  });
  return reading;
}

std::optional<ExternalLoad> external_load_between(const LoadReading& before,
                                                  const LoadReading& after,
                                                  const std::vector<int>& units,
                                                  const std::set<int>& clients_units) {
  if (!comparable(before, after)) return std::nullopt;
  ExternalLoad load;
  double busy = 0, stolen = 0, longest = 0;
  std::map<int, double> busy_by_unit;
  const auto add = [&](int unit, const UnitTicks& passed) {
    busy += static_cast<double>(passed.busy);
    stolen += static_cast<double>(passed.stolen);
    longest = std::max(longest, static_cast<double>(passed.all()));
    if (!clients_units.contains(unit)) busy_by_unit[unit] = static_cast<double>(passed.busy);
  };
  if (!visit_units(before, after, units, add)) return std::nullopt;
  // Time as the kernel counted it; the unit that counted most has missed least.
  if (longest <= 0) return std::nullopt;
  for (const auto& [unit, ticks] : busy_by_unit) load.by_unit[unit] = ticks / longest;
  load.stolen = stolen / longest;
  const double own = ticks_of(after.processes, before) + ticks_of(after.relatives, before);
  // Also where no client may run: its masks may have come later, and its run's others have none.
  load.cores = std::max(0.0, busy - own) / longest;
  return load;
}

double client_ticks(const LoadReading& before, const LoadReading& after, int pid) {
  const auto found = after.processes.find(pid);
  return found == after.processes.end() ? 0 : ticks_of(pid, found->second, before);
}

double unattached_ticks(const LoadReading& before, const LoadReading& after) {
  return ticks_of(after.relatives, before) + ticks_of(after.helpers, before);
}

std::optional<double> busy_beside(const LoadReading& before, const LoadReading& after,
                                  const std::vector<int>& units, double own_ticks) {
  double busy = 0, longest = 0;
  const auto add = [&](int, const UnitTicks& passed) {
    busy += static_cast<double>(passed.busy + passed.stolen);
    longest = std::max(longest, static_cast<double>(passed.all()));
  };
  if (!visit_units(before, after, units, add) || longest <= 0) return std::nullopt;
  return std::max(0.0, busy - own_ticks) / longest;
}

bool was_there(const LoadReading& before, const LoadReading& after, int pid) {
  const auto found = after.processes.find(pid);
  return found != after.processes.end() &&
         same_in(before, pid, found->second.start_ticks) != nullptr;
}

int ExternalCores::feed(const ExternalLoad& load, std::chrono::nanoseconds passed) {
  const double cores = load.cores + load.stolen;
  if (!has_figure()) {
    first_ = cores;
    return cores_;
  }
  if (!known_) {
    known_ = true;
    smoothed_ = std::min(*first_, cores);
    cores_ = static_cast<int>(std::floor(smoothed_ + 1 - kAway));
    return cores_;
  }
  const double seconds = std::chrono::duration<double>(passed).count();
  const double weight = 1 - std::exp(-seconds / std::chrono::duration<double>(kSmoothing).count());
  smoothed_ += weight * (cores - smoothed_);
  if (std::abs(smoothed_ - cores_) >= kAway) cores_ = static_cast<int>(std::lround(smoothed_));
  return cores_;
}

}  // namespace optile::daemon
