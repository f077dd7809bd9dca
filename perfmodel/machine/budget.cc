#include "perfmodel/machine/budget.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>
#include <sstream>
#include <thread>

#include "base/control_group_folders.h"
#include "base/text_file.h"

namespace optile::perfmodel {
namespace {

using base::read_text_file;

constexpr double kMostCores = 65536;  // more than any machine of today

std::string proc_folder(const BudgetSources& sources) {
  return sources.root + "/proc/" + (sources.pid == 0 ? "self" : std::to_string(sources.pid));
}

std::set<int> allowed_units(const BudgetSources& sources) {
  const std::optional<std::string> status = read_text_file(proc_folder(sources) + "/status");
  if (!status) return {};
  const std::string field = "Cpus_allowed_list:";
  const std::size_t found = status->find(field);
  if (found == std::string::npos) return {};
  std::size_t begin = found + field.size();
  while (begin < status->size() && ((*status)[begin] == ' ' || (*status)[begin] == '\t')) ++begin;
  const std::vector<int> cpus = base::parse_cpu_list(status->substr(begin));
  return {cpus.begin(), cpus.end()};
}

// Cores that a quota grants; one that no machine could use up is none.
std::optional<double> granted(double quota, double period) {
  const double cores = quota > 0 && period > 0 ? quota / period : 0;
  if (!(cores > 0 && cores < kMostCores)) return std::nullopt;
  return cores;
}

std::optional<double> quota_in(const std::string& folder, bool unified) {
  if (unified) {
    std::istringstream text(read_text_file(folder + "/cpu.max").value_or(""));
    std::string quota;
    double period = 0;
    if (!(text >> quota >> period) || quota == "max") return std::nullopt;
    return granted(std::atof(quota.c_str()), period);
  }
  const double quota =
      std::atof(read_text_file(folder + "/cpu.cfs_quota_us").value_or("-1").c_str());
  const double period =
      std::atof(read_text_file(folder + "/cpu.cfs_period_us").value_or("0").c_str());
  return granted(quota, period);
}

// Every level counts, up to the root of the mount: a parent's quota binds its children too.
double smallest_quota(const BudgetSources& sources) {
  double smallest = 0;
  for (const base::ControlGroupFolder& group :
       base::control_group_folders(sources.root, sources.pid, "cpu")) {
    const std::optional<double> quota = quota_in(group.path, group.unified);
    if (quota && (smallest == 0 || *quota < smallest)) smallest = *quota;
  }
  return smallest;
}

// The kernel has worked the levels above into it already; groups that have no such file use their
// parent's.
std::vector<int> effective_cpuset(const BudgetSources& sources) {
  for (const base::ControlGroupFolder& group :
       base::control_group_folders(sources.root, sources.pid, "cpuset")) {
    const char* file = group.unified ? "/cpuset.cpus.effective" : "/cpuset.effective_cpus";
    std::vector<int> units = base::parse_cpu_list(read_text_file(group.path + file).value_or(""));
    if (!units.empty()) return units;
  }
  return {};
}

std::set<int> set_of(const std::vector<int>& units) {
  return {units.begin(), units.end()};
}

// A cpuset cuts every mask of its processes; one that has nothing of a mask replaces it.
std::set<int> left_by_cpuset(const std::vector<int>& units, const std::vector<int>& cpuset) {
  const std::set<int> group = set_of(cpuset);
  if (group.empty()) return set_of(units);
  std::set<int> left;
  for (int unit : units) {
    if (group.contains(unit)) left.insert(unit);
  }
  return left.empty() ? group : left;
}

std::set<int> online_units(const BudgetSources& sources) {
  const std::vector<int> cpus = base::parse_cpu_list(
      read_text_file(sources.root + "/sys/devices/system/cpu/online").value_or(""));
  return {cpus.begin(), cpus.end()};
}

// Units of one core, by any of them; alone where the kernel does not say.
std::vector<int> siblings_of(const BudgetSources& sources, int unit) {
  const std::string folder =
      sources.root + "/sys/devices/system/cpu/cpu" + std::to_string(unit) + "/topology/";
  for (const char* file : {"core_cpus_list", "thread_siblings_list"}) {
    std::vector<int> units = base::parse_cpu_list(read_text_file(folder + file).value_or(""));
    if (!units.empty()) return units;
  }
  return {unit};
}

bool has_siblings(const BudgetSources& sources) {
  return read_text_file(sources.root + "/sys/devices/system/cpu/smt/active").value_or("") != "0\n";
}

int whole_cores_of(double quota) {
  return std::max(1, static_cast<int>(std::ceil(quota - 1e-9)));
}

}  // namespace

Budget read_budget(const Machine& machine, const BudgetSources& sources) {
  Budget budget;
  budget.cpuset = effective_cpuset(sources);
  const std::set<int> allowed = sources.came_with
                                    ? left_by_cpuset(*sources.came_with, budget.cpuset)
                                    : allowed_units(sources);
  const std::set<int> online = online_units(sources);
  std::set<int> cores;
  bool cut_by_online = false;
  bool cut_by_cpuset = false;
  for (const ProcessingUnit& unit : machine.units) {
    const bool is_online = online.empty() || online.contains(unit.os_index);
    const bool is_allowed = allowed.empty() || allowed.contains(unit.os_index);
    cut_by_online = cut_by_online || !is_online;
    cut_by_cpuset = cut_by_cpuset || (is_online && !is_allowed);
    if (!is_online || !is_allowed) continue;
    budget.units.push_back(unit.os_index);
    cores.insert(unit.core);
  }
  if (cut_by_online) budget.limited_by = "online";
  if (cut_by_cpuset) budget.limited_by = "cpuset";
  std::sort(budget.units.begin(), budget.units.end());
  budget.cores = std::max(1, static_cast<int>(cores.size()));
  budget.quota_cores = smallest_quota(sources);
  if (budget.quota_cores > 0) {
    const int whole = whole_cores_of(budget.quota_cores);
    if (whole < budget.cores) {
      budget.cores = whole;
      budget.limited_by = "quota";
    }
  }
  return budget;
}

int read_granted_cores(const BudgetSources& sources) {
  const std::set<int> online = online_units(sources);
  const std::set<int> allowed = allowed_units(sources);
  std::set<int> left;
  for (int unit : allowed.empty() ? online : allowed) {
    if (online.empty() || online.contains(unit)) left.insert(unit);
  }
  if (left.empty()) return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  int cores = static_cast<int>(left.size());
  if (has_siblings(sources)) {
    for (cores = 0; !left.empty(); ++cores) {
      const int unit = *left.begin();
      left.erase(unit);
      for (int sibling : siblings_of(sources, unit)) left.erase(sibling);
    }
  }
  const double quota = smallest_quota(sources);
  if (quota > 0) cores = std::min(cores, whole_cores_of(quota));
  return std::max(1, cores);
}

}  // namespace optile::perfmodel
