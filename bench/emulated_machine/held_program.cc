// A program whose ops are described: each is an annotated OpenMP region, on `w` threads as long as
// serial + (parallel + memory) / w + per_thread * w says; its part in memory takes longer where too
// many threads draw on it. What has no name passes on one thread, outside ops. Threads hold their
// processors for that long by the module `held_work`, so that the program scales on a machine with
// more processors than there is computing power behind them.
#include <fcntl.h>
#include <omp.h>
#include <sys/ioctl.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/workloads/timed_loop.h"
#include "bindings/annotate/optile/annotate.h"

namespace {

struct Op {
  std::string name;
  int64_t serial_ns = 0;
  int64_t parallel_ns = 0;
  int64_t memory_ns = 0;
  int64_t per_thread_ns = 0;
};

[[noreturn]] void refuse(const std::string& text) {
  std::fprintf(stderr, "held_program: %s\n", text.c_str());
  std::exit(2);
}

// As many entries as the step has executions, in their order.
std::vector<Op> read_ops(const char* path) {
  std::ifstream file(path);
  const nlohmann::json read = nlohmann::json::parse(file, nullptr, false);
  if (!read.is_array()) refuse(std::string(path) + " holds no array of ops");
  std::vector<Op> ops;
  for (const nlohmann::json& one : read) {
    ops.push_back({one.at("name"), one.at("serial_ns"), one.at("parallel_ns"), one.at("memory_ns"),
                   one.at("per_thread_ns")});
  }
  return ops;
}

enum class Kind : unsigned long { kArithmetic = 0, kMemory = 1 };

// The ioctl's answer is what a signal left undone.
void hold(int device, Kind kind, int64_t ns) {
  while (ns > 0) {
    const long left =
        ioctl(device, static_cast<unsigned long>(kind), static_cast<unsigned long>(ns));
    if (left < 0) refuse("/dev/held_work does not answer");
    ns = left;
  }
}

void run(const Op& op, int device) {
  if (op.name.empty()) return hold(device, Kind::kArithmetic, op.serial_ns);  // outside ops
  const optile::Op annotated(op.name.c_str());
#pragma omp parallel
  {
    const int width = omp_get_num_threads();
    int64_t ns = op.parallel_ns / width;
    if (omp_get_thread_num() == 0) ns += op.serial_ns + op.per_thread_ns * width;
    hold(device, Kind::kArithmetic, ns);
    hold(device, Kind::kMemory, op.memory_ns / width);
  }
}

}  // namespace

// held_program OPS.json [the words of every workload]
int main(int count, char** words) {
  if (count < 2) refuse("wants a file of ops");
  const std::vector<Op> ops = read_ops(words[1]);
  const optile::bench::LoopOptions options = optile::bench::parse_options(count - 1, words + 1);
  const int device = open("/dev/held_work", O_RDWR | O_CLOEXEC);
  if (device < 0)
    refuse("no /dev/held_work: this runs in the machine of bench/emulated_machine.py");
  return optile::bench::run_timed("held_program", options, [&] {
    for (const Op& op : ops) run(op, device);
    optile_step();
    return 1.0;
  });
}
