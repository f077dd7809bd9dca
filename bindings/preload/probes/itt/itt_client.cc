// Listening to a static copy of ittnotify: what is put into its list of functions.
//
// Only oneDNN's domains are listened to. Those of anybody else, such as PyTorch's ranges, are
// switched off, so that their library calls nothing, as without a collector; and no strings but the
// names of kinds are kept, since programs make up ranges without end.
#include <stdarg.h>
#include <string.h>

#include "bindings/preload/probes/itt/itt_abi.h"
#include "bindings/preload/probes/itt/primitive_tasks.h"
#include "bindings/preload/runtimes/runtime_resolver.h"

namespace optile::preload {
namespace {

using itt::Client;
using itt::Domain;
using itt::Identifier;
using itt::StringHandle;

constexpr char kExecutes[] = "dnnl::primitive::execute";
constexpr char kCreates[] = "dnnl::primitive::create";
constexpr char kInfoFormat[] = "%s";

// Each copy of oneDNN asks for two, once.
constexpr uint32_t kDomains = 32;
Domain domains[kDomains];
uint32_t domains_taken = 0;
Domain another = {0, "", nullptr, 0, nullptr, nullptr};

// As oneDNN names its kinds; the name of a kind that is missing here is known from the second word
// of what it is told to be.
constexpr const char* kStrings[] = {
    kInfoFormat,     "undef",      "reorder",   "shuffle",
    "concat",        "sum",        "pooling",   "convolution",
    "deconvolution", "eltwise",    "lrn",       "batch_normalization",
    "inner_product", "rnn",        "gemm",      "binary",
    "matmul",        "resampling", "reduction", "prelu",
    "softmax",       "softmax_v2", "sdpa",      "layer_normalization",
    "gated_mlp",     "logsoftmax", "zero_pad",  "group_normalization",
    "grouped_gemm",  "pooling_v2", "undefined", "layer_normalization_v2"};
constexpr uint32_t kStringCount = sizeof kStrings / sizeof *kStrings;
StringHandle strings[kStringCount];

int mark_of(const char* name) {
  if (name == nullptr) return 0;
  if (strcmp(name, kExecutes) == 0) return kDomainExecutes;
  return strcmp(name, kCreates) == 0 ? kDomainCreates : 0;
}

Domain* create_domain(const char* name) {
  const int mark = mark_of(name);
  if (mark == 0) return &another;
  const uint32_t taken = __atomic_fetch_add(&domains_taken, 1, __ATOMIC_RELAXED);
  if (taken >= kDomains) {
    __atomic_store_n(&domains_taken, kDomains, __ATOMIC_RELAXED);
    return &another;
  }
  Domain& domain = domains[taken];
  domain.name = mark == kDomainExecutes ? kExecutes : kCreates;
  domain.mark = mark;
  __atomic_store_n(&domain.enabled, 1, __ATOMIC_RELEASE);
  return &domain;
}

// Whoever comes second writes the same.
StringHandle* create_string(const char* text) {
  if (text == nullptr) return nullptr;
  for (uint32_t i = 0; i < kStringCount; ++i) {
    if (strcmp(kStrings[i], text) != 0) continue;
    __atomic_store_n(&strings[i].text, kStrings[i], __ATOMIC_RELEASE);
    return &strings[i];
  }
  return nullptr;
}

// What the copy made itself is told apart when listening begins.
bool is_ours(const Domain* domain) {
  return domain != nullptr && __atomic_load_n(&domain->mark, __ATOMIC_RELAXED) != 0;
}

void begin_task(const Domain* domain, Identifier /*task*/, Identifier /*parent*/,
                const StringHandle* name) {
  if (!is_ours(domain)) return;
  const char* kind = name == nullptr ? nullptr : name->text;
  primitive_begins(const_cast<Domain*>(domain), kind, __builtin_return_address(0),
                   __builtin_frame_address(0));
}

void end_task(const Domain* domain) {
  if (is_ours(domain)) primitive_ends(const_cast<Domain*>(domain));
}

void add_metadata(const Domain* domain, const StringHandle* format, ...) {
  if (!is_ours(domain) || format == nullptr || format->text == nullptr) return;
  if (strcmp(format->text, kInfoFormat) != 0) return;
  va_list arguments;
  va_start(arguments, format);
  const char* info = va_arg(arguments, const char*);
  va_end(arguments);
  if (info != nullptr) primitive_is(const_cast<Domain*>(domain), info);
}

struct Ours {
  const char* name;
  void* function;
};

void fill_in(const Client& client) {
  const Ours ours[] = {
      {"__itt_domain_create", reinterpret_cast<void*>(create_domain)},
      {"__itt_string_handle_create", reinterpret_cast<void*>(create_string)},
      {"__itt_formatted_metadata_add", reinterpret_cast<void*>(add_metadata)},
      {"__itt_task_end", reinterpret_cast<void*>(end_task)},
      {"__itt_task_begin", reinterpret_cast<void*>(begin_task)},
  };
  for (const itt::Function* slot = client.functions; slot->name != nullptr; ++slot) {
    for (const Ours& one : ours) {
      if (strcmp(slot->name, one.name) != 0) continue;
      __atomic_store_n(slot->called, one.function, __ATOMIC_RELEASE);
    }
  }
}

void listen(Client* client) {
  // One whose calls are seen by oneDNN's own names needs nothing else.
  if (own_function(client, "dnnl_primitive_execute") != nullptr) return;
  for (Domain* domain = client->domains; domain != nullptr; domain = domain->next) {
    const int mark = mark_of(domain->name);
    __atomic_store_n(&domain->mark, mark, __ATOMIC_RELAXED);
    if (mark == 0) __atomic_store_n(&domain->enabled, 0, __ATOMIC_RELEASE);
  }
  fill_in(*client);
}

}  // namespace
}  // namespace optile::preload

extern "C" void optile_itt_listen_1(optile::itt::Client* client);
void optile_itt_listen_1(optile::itt::Client* client) {
  optile::preload::listen(client);
}
