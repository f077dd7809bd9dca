// The PyTorch bridge and the shim's core in a program that switches them on and off between two of
// its steps. Loaded by sampled_steps.py; a stand-in answers for the daemon.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "bindings/preload/actuators/width_actuator.h"
#include "bindings/preload/core/op_boundary.h"
#include "bindings/preload/shared_memory/attachment.h"
#include "bindings/preload/support/environment.h"
#include "tests/daemon/fixtures/temporary_directory.h"
#include "tests/preload/fakes/fake_daemon.h"

namespace {

void (*listen_to)(int on) = nullptr;
uint64_t reported = 0;

void describe(const void* /*source*/, char* name, char* shape) {
  std::snprintf(name, OPTILE_NAME_BYTES, "op");
  shape[0] = '\0';
}

void one_op() {
  const optile_op_identity identity = {1, 0, OPTILE_PROBE_TORCH, describe, nullptr};
  optile_open_op open{};
  optile::preload::op_begin(&identity, &open);
  optile::preload::op_end(&open);
}

void keep_offer(void (*listen)(int on)) {
  listen_to = listen;
}

void count_and_begin(const optile_op_identity* identity, optile_open_op* open) {
  if ((identity->flags & OPTILE_OP_COMPOSITE) == 0) ++reported;
  optile::preload::op_begin(identity, open);
}

}  // namespace

// 0, or what went wrong.
extern "C" __attribute__((visibility("default"))) const char* begin_listening(const char* bridge) {
  static const optile::daemon::TemporaryDirectory folder;
  static optile::test::FakeDaemon daemon(folder.path());
  setenv("OPTILE_SOCKET", daemon.socket_path().c_str(), 1);
  optile::preload::read_environment();
  daemon.answer_one_client();
  one_op();
  daemon.wait_for_client();
  while (optile::preload::attachment() == nullptr) one_op();
  daemon.publish({});
  static optile_probe_api api = *optile::preload::probe_api();
  api.offer_sampling_pause = keep_offer;
  api.op_begin = count_and_begin;
  void* library = dlopen(bridge, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return dlerror();
  const auto start =
      reinterpret_cast<optile_probe_start_fn>(dlsym(library, OPTILE_PROBE_START_SYMBOL));
  if (start == nullptr || start(&api) != 0) return "the bridge cannot work in this process";
  return nullptr;
}

extern "C" __attribute__((visibility("default"))) void listen(int on) {
  listen_to(on);
}

extern "C" __attribute__((visibility("default"))) unsigned long long ops_reported() {
  return reported;
}
