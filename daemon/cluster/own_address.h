// By what other machines reach this one. Looks names up, which may block: not for the daemon's
// thread; any other.
#pragma once

#include <string>

#include "daemon/cluster/etcd_endpoint.h"

namespace optile::daemon {

// The address of this machine that a packet to the endpoint would carry; nothing is sent. An
// endpoint on this machine may be named by the machine's name, which often means 127.0.1.1 here:
// then it is the address of the one other interface, or where there are several that name. "" where
// there is none.
std::string own_address_towards(const EtcdEndpoint& endpoint);

// The interface, not the loopback's, that has this address, or one of this name's; "" where none
// has.
std::string interface_of(const std::string& address);

}  // namespace optile::daemon
