// Prints the ops of the known networks' steps, one line each, for bench/fit_op_laws.py:
// network, op, flops, bytes, with tabs between them.
#include <cstdio>

#include "perfmodel/networks/networks.h"

int main() {
  for (const std::string& name : optile::perfmodel::network_names()) {
    const auto ops = optile::perfmodel::network_ops(name);
    if (!ops.ok()) {
      std::fprintf(stderr, "network_ops: %s\n", ops.message().c_str());
      return 1;
    }
    for (const auto& op : ops.value()) {
      std::printf("%s\t%s\t%.17g\t%.17g\n", name.c_str(), op.op.c_str(), op.flops, op.bytes);
    }
  }
  return 0;
}
