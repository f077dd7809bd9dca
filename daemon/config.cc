#include "daemon/config.h"

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/daemon_choice.h"
#include "base/runtime_path.h"
#include "bindings/abi/frames.h"
#include "daemon/cluster/etcd_endpoint.h"
#include "daemon/cluster/etcd_tls_files.h"
#include "daemon/metrics/loopback.h"

namespace optile::daemon {
namespace {

constexpr const char* kMemoryStore = ":memory:";
constexpr const char* kSystemStore = "/var/lib/optile";

std::string environment_value(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string absolute(const std::string& path) {
  if (path.empty() || path[0] == '/' || path == kMemoryStore) return path;
  char directory[PATH_MAX];
  if (getcwd(directory, sizeof directory) == nullptr) return path;
  return std::string(directory) + "/" + path;
}

std::string default_store() {
  const std::string state = environment_value("XDG_STATE_HOME");
  if (!state.empty() && state[0] == '/') return state + "/optile/store.db";
  const std::string home = environment_value("HOME");
  if (!home.empty() && home[0] == '/') return home + "/.local/state/optile/store.db";
  return "";
}

// "/run/d.sock" → "/run/d.log"
std::string beside(const std::string& socket, const char* ending) {
  constexpr std::string_view kSocketEnding = ".sock";
  const bool has_ending = socket.size() > kSocketEnding.size() && socket.ends_with(kSocketEnding);
  return socket.substr(0, socket.size() - (has_ending ? kSocketEnding.size() : 0)) + ending;
}

bool may_hold_store(const std::string& path) {
  struct stat found {};
  if (lstat(path.c_str(), &found) != 0) return true;  // not there yet
  return S_ISREG(found.st_mode) && found.st_uid == geteuid();
}

// A daemon at a socket of its own shares nothing unless it is told to.
std::string usual_store(const Config& config) {
  if (config.system) return kSystemStore;
  if (config.per_user) return default_store();
  std::string own = beside(config.socket, ".db");
  return may_hold_store(own) ? own : kMemoryStore;
}

base::Status check_metrics(const MetricsOptions& metrics) {
  if (!metrics.listen.empty()) {
    if (base::Status address = parse_loopback(metrics.listen).status(); !address.ok()) {
      return address;
    }
  }
  if (!metrics.discovery.empty() && metrics.listen.empty()) {
    return base::Error{base::ErrorKind::kInvalid,
                       "--metrics-discovery tells of a port: it needs --metrics-listen too"};
  }
  if (metrics.programs && metrics.listen.empty() && metrics.textfile.empty()) {
    return base::Error{base::ErrorKind::kInvalid,
                       "--metrics-programs names programs on a port or in a text file: it needs "
                       "--metrics-listen or --metrics-textfile too"};
  }
  const std::string ending = ".prom";
  if (!metrics.textfile.empty() && !metrics.textfile.ends_with(ending)) {
    return base::Error{base::ErrorKind::kInvalid,
                       "--metrics-textfile needs a name that ends in .prom: node_exporter reads "
                       "no other"};
  }
  return {};
}

base::Result<std::optional<unsigned>> group_of(const std::string& name) {
  if (name.empty()) return std::optional<unsigned>();
  unsigned number = 0;
  const auto [at, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error == std::errc() && at == name.data() + name.size()) return std::optional(number);
  const group* found = getgrnam(name.c_str());
  if (found == nullptr) {
    return base::Error{base::ErrorKind::kInvalid,
                       "there is no group " + name + "; make it, for example with groupadd -r"};
  }
  return std::optional<unsigned>(found->gr_gid);
}

base::Status take_groups(Config& config) {
  if (!config.system && !(config.group.empty() && config.admin_group.empty())) {
    return base::Error{base::ErrorKind::kInvalid,
                       "--group and --admin-group belong to --system: any other daemon serves one "
                       "user"};
  }
  base::Result<std::optional<unsigned>> group = group_of(config.group);
  if (!group.ok()) return group.status();
  base::Result<std::optional<unsigned>> admins = group_of(config.admin_group);
  if (!admins.ok()) return admins.status();
  config.group_id = group.value();
  config.admin_group_id = admins.value();
  return {};
}

base::Status check_cluster(const ClusterOptions& cluster) {
  if (!cluster.endpoints.empty()) {
    const auto endpoints = parse_etcd_endpoints(cluster.endpoints);
    return endpoints.ok() ? check_tls_files(cluster.tls, endpoints.value()) : endpoints.status();
  }
  if (cluster == ClusterOptions()) return {};
  return base::Error{
      base::ErrorKind::kInvalid,
      "--cluster-name, --cluster-address, --cluster-no-probes, --cluster-user-file, "
      "--cluster-cacert, --cluster-cert and --cluster-key say how a cluster is joined: they need "
      "--cluster-etcd too"};
}

std::string usual_socket(const Config& config) {
  const base::RuntimeEnvironment environment = base::runtime_environment();
  return config.system ? environment.system_socket : base::default_socket_path(environment);
}

}  // namespace

base::Result<Config> complete(Config given) {
  if (given.socket.empty()) {
    given.own_directory = given.system || base::runtime_environment().socket.empty();
    given.socket = usual_socket(given);
  }
  given.socket = absolute(given.socket);
  base::RuntimeEnvironment unnamed = base::runtime_environment();
  unnamed.socket.clear();
  given.per_user = !given.system && given.socket == base::default_socket_path(unnamed);
  // The longest name that is bound: the attach socket, or the temporary one.
  constexpr std::size_t kSuffix = sizeof OPTILE_ATTACH_SUFFIX - 1;
  if (base::Status fits = base::check_socket_path(given.socket, kSuffix); !fits.ok()) {
    return fits.error();
  }
  if (base::Status known = take_groups(given); !known.ok()) return known.error();
  if (given.store.empty()) given.store = usual_store(given);
  given.store = absolute(given.store);
  given.metrics.discovery = absolute(given.metrics.discovery);
  given.metrics.textfile = absolute(given.metrics.textfile);
  if (base::Status usable = check_metrics(given.metrics); !usable.ok()) return usable.error();
  if (base::Status usable = check_cluster(given.cluster); !usable.ok()) return usable.error();
  for (std::string* file : {&given.cluster.user_file, &given.cluster.tls.cacert,
                            &given.cluster.tls.cert, &given.cluster.tls.key}) {
    *file = absolute(*file);
  }
  given.log = absolute(given.log.empty() ? beside(given.socket, ".log") : given.log);
  return given;
}

std::string taken_over_by(const Config& config) {
  if (!config.per_user) return "";
  const std::string system = base::runtime_environment().system_socket;
  return system != config.socket && base::try_connect(system) == 0 ? system : "";
}

std::string lock_path(const Config& config) {
  return config.socket + ".lock";
}

std::string attach_path(const Config& config) {
  return config.socket + OPTILE_ATTACH_SUFFIX;
}

}  // namespace optile::daemon
