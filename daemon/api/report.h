// The report of a run: what the launcher writes with --report and tabulates with --summary. Pure;
// the daemon's one thread. Every ratio stands on something measured or is null.
#pragma once

#include <string>
#include <vector>

#include "daemon/controller/controller.h"
#include "daemon/views/json_views.h"

namespace optile::daemon {

Json run_report(const ClientView& client, const std::vector<RunRecord>& earlier,
                const Store::State& store);

}  // namespace optile::daemon
