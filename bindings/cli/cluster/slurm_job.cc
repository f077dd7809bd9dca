#include "bindings/cli/cluster/slurm_job.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "daemon/cluster/node_record.h"

namespace optile::cli {
namespace {

constexpr const char* kAlone = "one that runs is named by --etcd http://HOST:2379";
constexpr int kFirstPort = 20000;
constexpr int kPorts = 12000;  // up to where Linux begins to hand ports out, 32768
constexpr std::size_t kLongestName = 63;

bool is_host_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_';
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 9 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

int number_in(std::string_view text) {
  int number = -1;
  if (is_number(text)) std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// At the commas that stand in no brackets.
std::vector<std::string> entries_of(const std::string& list) {
  std::vector<std::string> entries(1);
  int depth = 0;
  for (const char c : list) {
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (c == ',' && depth == 0) {
      entries.emplace_back();
    } else {
      entries.back() += c;
    }
  }
  return entries;
}

// "01-03" → 01, 02, 03; as wide as its first number is written. False where it is no range, or of
// too many.
bool add_range(std::string_view range, std::vector<std::string>& into) {
  const std::size_t dash = range.find('-');
  const std::string_view first = range.substr(0, dash);
  const std::string_view last = dash == std::string_view::npos ? first : range.substr(dash + 1);
  const int begin = number_in(first), end = number_in(last);
  if (begin < 0 || end < begin || static_cast<std::size_t>(end - begin) >= kMaxSlurmNodes) {
    return false;
  }
  for (int i = begin; i <= end; ++i) {
    std::string digits = std::to_string(i);
    if (digits.size() < first.size()) digits.insert(0, first.size() - digits.size(), '0');
    into.push_back(std::move(digits));
  }
  return true;
}

// Of one entry, with any number of brackets. False where it is none, or has too many hosts.
bool add_hosts(std::string_view entry, std::vector<std::string>& into) {
  std::vector<std::string> hosts(1);
  while (!entry.empty()) {
    std::vector<std::string> parts;
    if (entry.front() == '[') {
      const std::size_t end = entry.find(']');
      if (end == std::string_view::npos) return false;
      for (const std::string& range : entries_of(std::string(entry.substr(1, end - 1)))) {
        if (!add_range(range, parts)) return false;
      }
      entry.remove_prefix(end + 1);
    } else {
      const std::size_t end = std::min(entry.find('['), entry.size());
      parts.emplace_back(entry.substr(0, end));
      if (!std::all_of(parts.front().begin(), parts.front().end(), is_host_letter)) return false;
      entry.remove_prefix(end);
    }
    if (hosts.size() * parts.size() > kMaxSlurmNodes) return false;
    std::vector<std::string> longer;
    for (const std::string& host : hosts) {
      for (const std::string& part : parts) longer.push_back(host + part);
    }
    hosts = std::move(longer);
  }
  into.insert(into.end(), hosts.begin(), hosts.end());
  return !hosts.front().empty() && into.size() <= kMaxSlurmNodes;
}

// The first of them that is set.
std::string first_of(const EnvironmentReader& environment,
                     std::initializer_list<const char*> variables) {
  for (const char* variable : variables) {
    std::string value = environment(variable);
    if (!value.empty()) return value;
  }
  return "";
}

// Nothing of the list reaches a shell: it stands in the environment, which ours has already.
std::vector<std::string> ask_scontrol(const std::string& list) {
  setenv("OPTILE_HOST_LIST", list.c_str(), 1);
  const std::unique_ptr<FILE, int (*)(FILE*)> answer(
      popen("exec scontrol show hostnames \"$OPTILE_HOST_LIST\" 2>/dev/null", "re"), pclose);
  unsetenv("OPTILE_HOST_LIST");
  std::vector<std::string> hosts;
  char line[512];
  while (answer != nullptr && std::fgets(line, sizeof line, answer.get()) != nullptr) {
    const std::string_view host =
        std::string_view(line).substr(0, std::string_view(line).find('\n'));
    if (!host.empty() && std::all_of(host.begin(), host.end(), is_host_letter)) {
      hosts.emplace_back(host);
    }
  }
  return hosts;
}

}  // namespace

base::Result<std::vector<std::string>> expand_host_list(const std::string& list) {
  std::vector<std::string> hosts;
  for (const std::string& entry : entries_of(list)) {
    if (!add_hosts(entry, hosts)) return base::invalid("this is no list of nodes: " + list);
  }
  return hosts;
}

base::Result<SlurmJob> read_slurm_job(const EnvironmentReader& environment,
                                      const HostLister& hosts_by_scontrol) {
  SlurmJob job;
  job.id = environment("SLURM_JOB_ID");
  if (job.id.empty()) {
    return base::Error{base::ErrorKind::kNotFound,
                       "--etcd auto starts an etcd within a job of Slurm, and this is none: "
                       "SLURM_JOB_ID is not set. Start it by srun; " +
                           std::string(kAlone)};
  }
  const std::string step = environment("SLURM_STEP_ID");
  const std::string node = environment("SLURM_NODEID");
  const std::string task = environment("SLURM_LOCALID");
  if (step.empty() || node.empty()) {
    return base::invalid(
        "--etcd auto has to run on every node of the job: srun --ntasks-per-node 1 optile launch "
        "..., and not the batch script itself");
  }
  if (!task.empty() && task != "0") {
    return base::invalid(
        "several tasks of this job run on one node, and optile launch runs one a node: "
        "srun --ntasks-per-node 1");
  }
  job.id += "." + step;
  if (!daemon::is_cluster_name(job.id)) {
    return base::invalid("SLURM_JOB_ID and SLURM_STEP_ID are no numbers: " + job.id);
  }
  job.node = number_in(node);
  const std::string list =
      first_of(environment, {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"});
  std::vector<std::string> hosts = hosts_by_scontrol(list);
  if (hosts.empty()) {
    base::Result<std::vector<std::string>> expanded = expand_host_list(list);
    if (!expanded.ok()) {
      return base::invalid("the nodes of this job of Slurm are not known: " + expanded.message() +
                           "; " + kAlone);
    }
    hosts = std::move(expanded).value();
  }
  const std::string nodes =
      first_of(environment, {"SLURM_STEP_NUM_NODES", "SLURM_NNODES", "SLURM_JOB_NUM_NODES"});
  job.nodes = nodes.empty() ? static_cast<int>(hosts.size()) : number_in(nodes);
  job.first_node = hosts.front();
  if (job.nodes < 1 || job.node < 0 || job.node >= job.nodes) {
    return base::invalid("this job of Slurm is node " + node + " of " + nodes +
                         ", which cannot be; " + kAlone);
  }
  return job;
}

base::Result<SlurmJob> own_slurm_job() {
  const auto environment = [](const std::string& variable) {
    const char* value = std::getenv(variable.c_str());
    return std::string(value == nullptr ? "" : value);
  };
  return read_slurm_job(environment, ask_scontrol);
}

int etcd_port_of(const SlurmJob& job) {
  uint32_t hash = 2166136261u;  // FNV-1a: the same on every node, whatever built it
  for (const char c : job.id) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return kFirstPort + static_cast<int>(hash % kPorts);
}

std::string name_within(const SlurmJob& job, const std::string& name) {
  const std::string behind = "-" + job.id;
  if (behind.size() >= kLongestName) return behind.substr(behind.size() - kLongestName);
  return name.substr(0, kLongestName - behind.size()) + behind;
}

}  // namespace optile::cli
