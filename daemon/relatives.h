// Processes of the same `optile run` as a client that are not attached, such as ranks that are
// still loading their libraries, and their launcher. They carry the run's id in their environment.
// Looked for among a client's parent, that one's children and its own, whichever of at most 256
// threads started them. Reading takes a root folder like perfmodel/budget.h. Any thread.
#pragma once

#include <string>
#include <vector>

namespace optile::daemon {

// Of at most 64 clients, at most 64 processes; a machine with more is loaded by more than them.
std::vector<int> relatives_of(const std::vector<int>& clients, const std::string& root);

}  // namespace optile::daemon
