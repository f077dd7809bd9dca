#include "bindings/preload/probes/blas/gemm_scope.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "bindings/preload/probes/blas/blas_copy.h"

namespace optile::preload {
namespace {

void describe(const void* source, char name[OPTILE_NAME_BYTES], char shape[OPTILE_SHAPE_BYTES]) {
  const auto& call = *static_cast<const GemmCall*>(source);
  snprintf(name, OPTILE_NAME_BYTES, "%s", call.name);
  const int written =
      snprintf(shape, OPTILE_SHAPE_BYTES, "%lldx%lldx%lld", static_cast<long long>(call.rows),
               static_cast<long long>(call.columns), static_cast<long long>(call.inner));
  const bool plain = call.left_op == 'n' && call.right_op == 'n';
  if (plain || written < 0) return;
  snprintf(shape + written, OPTILE_SHAPE_BYTES - static_cast<size_t>(written), " %c%c",
           call.left_op, call.right_op);
}

uint64_t key_of(const GemmCall& call) {
  uint64_t key = base::hash_bytes(call.name, strlen(call.name));
  key = base::hash_word(static_cast<uint64_t>(call.rows), key);
  key = base::hash_word(static_cast<uint64_t>(call.columns), key);
  key = base::hash_word(static_cast<uint64_t>(call.inner), key);
  const char how[3] = {call.left_op, call.right_op, call.row_major ? 'r' : 'c'};
  key = base::hash_bytes(how, sizeof how, key) ^ OPTILE_PROBE_BLAS;
  // Copies with other names may be there at once, each with threads of its own.
  if (call.family != 0) key = base::hash_word(call.family, key);
  return key == 0 ? 1 : key;
}

}  // namespace

GemmScope::GemmScope(const GemmCall& call, const void* caller, const void* gemm) {
  if (!op_.may_begin(caller, follows_steered_width, gemm)) return;
  const int kept_errno = errno;
  const WidthOfCopy width = width_of_blas(gemm);
  errno = kept_errno;
  const uint32_t flags = width.follows ? 0 : OPTILE_OP_FIXED;
  op_.begin({key_of(call), flags, OPTILE_PROBE_BLAS, describe, &call}, width.steers);
}

}  // namespace optile::preload
