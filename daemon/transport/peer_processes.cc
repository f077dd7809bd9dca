#include "daemon/transport/peer_processes.h"

#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <sstream>

#include "base/text_file.h"

namespace optile::daemon {
namespace {

// /proc of another pid namespace calls us by another number.
bool is_our_proc(const std::string& proc) {
  char link[32];
  const ssize_t length = readlink((proc + "/self").c_str(), link, sizeof link - 1);
  if (length <= 0) return false;
  link[length] = '\0';
  return std::strtol(link, nullptr, 10) == getpid();
}

// Real, effective, saved or of the file system: a program may have changed some of them.
bool belongs_to(const std::string& status, unsigned uid) {
  const std::size_t at = status.find("\nUid:");
  if (at == std::string::npos) return false;
  std::istringstream numbers(status.substr(at + 5, status.find('\n', at + 1) - at - 5));
  for (unsigned one = 0; numbers >> one;) {
    if (one == uid) return true;
  }
  return false;
}

}  // namespace

std::string PeerProcesses::obstacle(const AttachRequest& attach_request) const {
  if (attach_request.pid <= 0) return "its process is in another pid namespace than the daemon";
  if (!is_our_proc(proc_)) return "the daemon's " + proc_ + " shows another pid namespace";
  const auto status =
      base::read_text_file(proc_ + "/" + std::to_string(attach_request.pid) + "/status");
  if (!status) return "the daemon may not see its process in " + proc_;
  if (!belongs_to(*status, attach_request.uid))
    return "its process is not of the user that connected";
  return "";
}

}  // namespace optile::daemon
