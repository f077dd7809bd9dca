// What the controller needs of the world around it: the machine, the store, clocks, and what is
// read and set of processes. Made by the daemon; tests hand in their own.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "daemon/client/client.h"
#include "daemon/leases/lease_manager.h"
#include "daemon/store/store.h"
#include "daemon/support/client_limits.h"
#include "perfmodel/machine/machine.h"

namespace optile::daemon {

struct ControllerDependencies {
  perfmodel::Machine machine;
  Store* store = nullptr;  // outlives the controller
  Clocks clocks;
  // Of each of several users; null: nothing is kept for that number. Without it there is one.
  std::function<Store*(unsigned uid)> store_of = {};
  std::size_t max_clients = kMaxClients;
  LeaseDependencies leases;
};

}  // namespace optile::daemon
