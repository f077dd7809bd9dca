#include "daemon/config.h"

#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>

#include "base/runtime_path.h"
#include "bindings/abi/frames.h"
#include "daemon/metrics/loopback.h"

namespace optile::daemon {
namespace {

constexpr const char* kMemoryStore = ":memory:";

std::string environment_word(const char* name) {
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
  const std::string state = environment_word("XDG_STATE_HOME");
  if (!state.empty() && state[0] == '/') return state + "/optile/store.db";
  const std::string home = environment_word("HOME");
  if (!home.empty() && home[0] == '/') return home + "/.local/state/optile/store.db";
  return "";
}

std::string log_beside(const std::string& socket) {
  const std::string ending = ".sock";
  const bool has_ending = socket.size() > ending.size() &&
                          socket.compare(socket.size() - ending.size(), ending.size(), ending) == 0;
  return (has_ending ? socket.substr(0, socket.size() - ending.size()) : socket) + ".log";
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
  const std::string ending = ".prom";
  if (!metrics.textfile.empty() && !metrics.textfile.ends_with(ending)) {
    return base::Error{base::ErrorKind::kInvalid,
                       "--metrics-textfile needs a name that ends in .prom: node_exporter reads "
                       "no other"};
  }
  return {};
}

}  // namespace

base::Result<Config> complete(Config given) {
  if (given.socket.empty()) {
    const base::RuntimeEnvironment environment = base::runtime_environment();
    given.own_directory = environment.socket.empty();
    given.socket = base::default_socket_path(environment);
  }
  given.socket = absolute(given.socket);
  // The longest name that is bound: the attach socket, or the temporary one.
  constexpr std::size_t kSuffix = sizeof OPTILE_ATTACH_SUFFIX - 1;
  if (base::Status fits = base::check_socket_path(given.socket, kSuffix); !fits.ok()) {
    return fits.error();
  }
  given.store = absolute(given.store.empty() ? default_store() : given.store);
  given.metrics.discovery = absolute(given.metrics.discovery);
  given.metrics.textfile = absolute(given.metrics.textfile);
  if (base::Status usable = check_metrics(given.metrics); !usable.ok()) return usable.error();
  given.log = absolute(given.log.empty() ? log_beside(given.socket) : given.log);
  return given;
}

std::string lock_path(const Config& config) {
  return config.socket + ".lock";
}

std::string attach_path(const Config& config) {
  return config.socket + OPTILE_ATTACH_SUFFIX;
}

}  // namespace optile::daemon
