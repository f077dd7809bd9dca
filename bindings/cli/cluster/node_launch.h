// `optile launch`: claims a rank of a job in etcd, waits until all ranks are claimed, runs the
// program under `optile run`, and keeps the claim until it has ended.
//
// The claim is kept by this process and not by the daemon: it lives exactly as long as the launch
// that it stands for, it needs no daemon on any node, and a daemon that ends takes no job with it.
#pragma once

#include "bindings/cli/options.h"

namespace optile::cli {

// The program's exit code, or its signal; kOwnFailure with a message where it was not started.
int launch_on_nodes(const Options& options);

}  // namespace optile::cli
