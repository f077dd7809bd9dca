// What is said of a program whose threads are more than the cores of its lease because nothing may
// change their number while it runs. Pure; any thread.
#pragma once

#include <string>

#include "daemon/client/client.h"

namespace optile::daemon {

// `cores`: of its lease, in turns the fraction of one; 0 where it has none. Empty where its teams
// are no wider than that, or follow it.
std::string oversubscribed_team_text(const ClientView& client, double cores);

}  // namespace optile::daemon
