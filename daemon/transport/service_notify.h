// What a service manager wants to hear, over the datagram socket that NOTIFY_SOCKET names: its
// Type=notify. Nothing happens without that variable, and a message that cannot be sent is lost.
#pragma once

namespace optile::daemon {

// Such as "READY=1". Never blocks.
void notify_service_manager(const char* message);

}  // namespace optile::daemon
