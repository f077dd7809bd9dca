// liboptile_itt.so, which INTEL_LIBITTNOTIFY64 names: the door through which static copies of
// ittnotify come to the shim. It may be opened in any process that inherited the variable, also in
// those that have no shim; there it leaves the copy as it would be without a collector.
#include <dlfcn.h>

#include "bindings/preload/probes/itt/itt_abi.h"

namespace {

using optile::itt::Client;
using optile::itt::Function;

void silence(const Client& client) {
  for (const Function* function = client.functions; function->name != nullptr; ++function) {
    __atomic_store_n(function->called, function->without, __ATOMIC_RELEASE);
  }
}

}  // namespace

// The name is Intel's. NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" __attribute__((visibility("default"))) void __itt_api_init(Client* client,
                                                                      uint32_t groups) {
  if (client == nullptr || !optile::itt::is_known(*client)) return;
  silence(*client);
  if (groups != optile::itt::kAllGroups) return;
  const auto listen =
      reinterpret_cast<optile::itt::Listen>(dlsym(RTLD_DEFAULT, optile::itt::kListenSymbol));
  if (listen != nullptr) listen(client);
}
