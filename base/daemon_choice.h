// Which daemon a program or a question goes to. One rule for launcher and questions; the shim
// follows the same one in C. Connects, but sends nothing. Any thread.
#pragma once

#include <functional>
#include <string>

#include "base/runtime_path.h"

namespace optile::base {

// errno of an attempt to connect to the HTTP socket; 0 = somebody listens. Waits for nobody.
int try_connect(const std::string& socket_path);

struct DaemonChoice {
  std::string socket;
  bool system = false;   // the machine's, which nobody but its administrator starts
  std::string obstacle;  // why the system daemon is there and is not it; "" = nothing to say
};

// The socket that was named (`named`, or OPTILE_SOCKET), else the system daemon's where it lets us
// in, else the user's own, whether somebody listens there or not.
DaemonChoice choose_daemon(const RuntimeEnvironment& environment, const std::string& named,
                           const std::function<int(const std::string&)>& connect = try_connect);

}  // namespace optile::base
