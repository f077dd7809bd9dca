// What the shim costs a program: per op and per region, in each of its states, by the core's own
// functions in this process with a stand-in for the daemon. Prints one JSON object: for each case
// the nanoseconds of every block.
//
//   op_costs [--rounds N]                    blocks of all cases, interleaved
//   op_costs --counters 1 [--rounds N]       one op whose counters are read
//   op_costs --issuers 2 [--rounds N]        the same cases once a second thread has issued an op
//   op_costs --case NAME --iterations N      one case only, for counting instructions
#include <dlfcn.h>
#include <omp.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "bindings/preload/actuators/width_actuator.h"
#include "bindings/preload/core/op_boundary.h"
#include "bindings/preload/shared_memory/attachment.h"
#include "bindings/preload/support/environment.h"
#include "tests/daemon/fixtures/temporary_directory.h"
#include "tests/preload/fakes/fake_daemon.h"

extern "C" void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);

namespace {

using optile::preload::op_begin;
using optile::preload::op_end;
using optile::test::FakeDaemon;
using Region = void (*)(void (*)(void*), void*, unsigned, unsigned);

constexpr uint64_t kOp = 0x1111;
constexpr uint64_t kAround = 0x2222;
constexpr int kOwn = 4;
constexpr int kBlock = 2000;  // less than a ring holds, so that nothing is dropped

void describe(const void* /*source*/, char* name, char* shape) {
  std::snprintf(name, OPTILE_NAME_BYTES, "op");
  shape[0] = '\0';
}

void one_op(uint64_t key) {
  const optile_op_identity identity = {key, 0, OPTILE_PROBE_TORCH, describe, nullptr};
  optile_open_op open{};
  op_begin(&identity, &open);
  op_end(&open);
}

void nothing(void* /*data*/) {}

// The runtime's own function, past the shim.
Region bare_region() {
  void* library = dlopen("libgomp.so.1", RTLD_NOW | RTLD_NOLOAD);
  return reinterpret_cast<Region>(dlsym(library, "GOMP_parallel"));
}

struct Case {
  std::string name;
  std::function<void(FakeDaemon&)> prepare;
  std::function<void(int)> run;  // so many times
};

void publish(FakeDaemon& daemon, uint16_t width, uint32_t page_flags) {
  daemon.share(kOwn);
  daemon.publish({{kOp, width, {}, 0}}, 0,
                 [page_flags](optile_plan_page& page) { page.flags = page_flags; });
}

void ops(int count) {
  for (int i = 0; i < count; ++i) one_op(kOp);
}

void inside_an_op(int count, Region region) {
  const optile_op_identity identity = {kAround, 0, OPTILE_PROBE_TORCH, describe, nullptr};
  optile_open_op open{};
  op_begin(&identity, &open);
  for (int i = 0; i < count; ++i) region(nothing, nullptr, 1, 0);
  op_end(&open);
}

std::vector<Case> all_cases() {
  static const Region bare = bare_region();
  const auto tuned = [](FakeDaemon& daemon) { publish(daemon, 0, 0); };
  return {
      {"op at its default width", tuned, ops},
      {"op at another width", [](FakeDaemon& daemon) { publish(daemon, 2, 0); }, ops},
      {"op with its event recorded",
       [](FakeDaemon& daemon) { publish(daemon, 0, OPTILE_PAGE_RECORD_ALL); }, ops},
      {"region of the runtime alone", tuned, [](int count) { inside_an_op(count, bare); }},
      {"region inside an op", tuned, [](int count) { inside_an_op(count, GOMP_parallel); }},
      {"region outside any op", tuned,
       [](int count) {
         for (int i = 0; i < count; ++i) GOMP_parallel(nothing, nullptr, 1, 0);
       }},
  };
}

// In a process of its own: a thread that counted once closes its counters some steps later.
Case counting() {
  return {"op with counters read",
          [](FakeDaemon& daemon) {
            publish(daemon, 0, OPTILE_PAGE_RECORD_ALL | OPTILE_PAGE_COUNT);
            optile::preload::declared_step();
          },
          ops};
}

double block_ns(const Case& one, FakeDaemon& daemon) {
  one.prepare(daemon);
  daemon.take_events();
  one.run(20);
  daemon.take_events();
  const auto begin = std::chrono::steady_clock::now();
  one.run(kBlock);
  const auto end = std::chrono::steady_clock::now();
  daemon.take_events();
  return std::chrono::duration<double, std::nano>(end - begin).count() / kBlock;
}

void attach(FakeDaemon& daemon) {
  daemon.answer_one_client();
  one_op(kAround);
  daemon.wait_for_client();
  while (optile::preload::attachment() == nullptr) one_op(kAround);
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 101;
  int iterations = 0;
  std::string only;
  bool counters = false;
  int issuers = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--rounds") rounds = std::atoi(argv[i + 1]);
    if (name == "--iterations") iterations = std::atoi(argv[i + 1]);
    if (name == "--issuers") issuers = std::atoi(argv[i + 1]);
    if (name == "--counters") counters = std::atoi(argv[i + 1]) != 0;
    if (name == "--case") only = argv[i + 1];
  }
  const optile::daemon::TemporaryDirectory folder;
  FakeDaemon daemon(folder.path());
  setenv("OPTILE_SOCKET", daemon.socket_path().c_str(), 1);
  optile::preload::read_environment();
  omp_set_num_threads(kOwn);
  optile::preload::choose_steered_runtime(reinterpret_cast<const void*>(&one_op));
  attach(daemon);
  for (int other = 1; other < issuers; ++other) std::thread(one_op, kAround).join();
  const std::vector<Case> cases = counters ? std::vector<Case>{counting()} : all_cases();
  std::map<std::string, std::vector<double>> times;
  for (const Case& one : cases) {
    if (only.empty() || one.name != only) continue;
    one.prepare(daemon);
    for (int left = iterations; left > 0; left -= kBlock) {
      one.run(left < kBlock ? left : kBlock);
      daemon.take_events();
    }
    return 0;
  }
  for (int round = 0; round < rounds; ++round) {
    for (const Case& one : cases) times[one.name].push_back(block_ns(one, daemon));
  }
  std::printf("{");
  for (std::size_t i = 0; i < cases.size(); ++i) {
    std::printf("%s\"%s\": [", i == 0 ? "" : ",\n ", cases[i].name.c_str());
    for (std::size_t k = 0; k < times[cases[i].name].size(); ++k) {
      std::printf("%s%.2f", k == 0 ? "" : ", ", times[cases[i].name][k]);
    }
    std::printf("]");
  }
  std::printf(",\n \"counter tier\": [%u]}\n", daemon.client().header.counter_tier);
  return 0;
}
