#include "bindings/cli/run/daemon_start.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

#include "base/daemon_choice.h"
#include "base/preload_limits.h"
#include "base/runtime_path.h"
#include "bindings/abi/frames.h"
#include "bindings/cli/support/detached_process.h"

namespace optile::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::milliseconds kLook = std::chrono::milliseconds(2);
constexpr const char* kIdleSeconds = "600";

std::vector<std::string> daemon_command(const DaemonPaths& paths) {
  return {own_folder() + "/optiled",
          "--socket",
          paths.socket,
          "--store",
          paths.store,
          "--idle-exit",
          kIdleSeconds};
}

base::Status start_daemon(const DaemonPaths& paths) {
  const std::vector<std::string> command = daemon_command(paths);
  if (access(command.front().c_str(), X_OK) != 0) {
    return base::errno_error("the daemon " + command.front() + " cannot be started", errno);
  }
  const std::string folder = base::parent_directory(paths.socket);
  std::error_code ignored;
  if (!fs::exists(folder, ignored)) {
    base::Status made = base::ensure_private_directory(folder);
    if (!made.ok()) return made;
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    return base::errno_error(
        "the daemon's socket cannot be made in " + folder + "; name another place with --socket",
        errno);
  }
  // It serves later programs too, which are bound by their own words and not by this launcher's.
  return start_detached(command, Bounds::kWidest);
}

}  // namespace

std::string own_folder() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path().string();
}

std::string find_shim() {
  const fs::path here = own_folder();
  std::error_code ignored;
  for (const fs::path& folder : {here / "../lib", here / "../lib/optile", here}) {
    const fs::path shim = folder / base::kShimFile;
    if (fs::exists(shim, ignored)) return fs::canonical(shim, ignored).string();
  }
  return "";
}

std::string find_itt_collector(const std::string& shim) {
  const fs::path collector = fs::path(shim).parent_path() / "liboptile_itt.so";
  std::error_code ignored;
  return !shim.empty() && fs::exists(collector, ignored) ? collector.string() : "";
}

std::string usual_store_path() {
  const char* state = getenv("XDG_STATE_HOME");
  const char* home = getenv("HOME");
  fs::path folder;
  if (state != nullptr && state[0] == '/') {
    folder = fs::path(state) / "optile";
  } else if (home != nullptr && home[0] == '/') {
    folder = fs::path(home) / ".local" / "state" / "optile";
  } else {
    return kMemoryStore;
  }
  return (folder / "store.db").string();
}

std::string default_store_path() {
  std::string path = usual_store_path();
  std::error_code ignored;
  if (path[0] == '/') fs::create_directories(fs::path(path).parent_path(), ignored);
  return path;
}

base::Status ensure_daemon(const DaemonPaths& paths, std::chrono::milliseconds patience) {
  base::Status fits = base::check_socket_path(paths.socket, sizeof OPTILE_ATTACH_SUFFIX - 1);
  if (!fits.ok()) return fits;
  const int first = base::try_connect(paths.socket);
  if (first == 0) return {};
  if (paths.system) {
    return base::errno_error("the system daemon at " + paths.socket + " does not answer", first);
  }
  if (first == EACCES || first == EPERM) {
    return base::errno_error("the daemon's socket " + paths.socket + " cannot be used", first);
  }
  base::Status started = start_daemon(paths);
  if (!started.ok()) return started;
  const auto end = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < end) {
    if (base::try_connect(paths.socket) == 0) return {};
    std::this_thread::sleep_for(kLook);
  }
  return {};  // not up yet: the shim attaches later, by itself
}

}  // namespace optile::cli
