#include "bindings/preload/children/preload_variable.h"

#include <string.h>

#include "base/preload_limits.h"

namespace optile::preload {
namespace {

constexpr const char* kName = "LD_PRELOAD=";
constexpr const char* kSeparators = " :";  // the dynamic linker takes both

struct ListEntry {
  const char* text = nullptr;
  size_t length = 0;
};

// The entry at or behind `from`; of length 0 at the list's end.
ListEntry entry_behind(const char* from) {
  ListEntry entry;
  entry.text = from + strspn(from, kSeparators);
  entry.length = strcspn(entry.text, kSeparators);
  return entry;
}

const char* file_of(const ListEntry& entry) {
  const char* file = entry.text;
  for (size_t i = 0; i < entry.length; ++i) {
    if (entry.text[i] == '/') file = entry.text + i + 1;
  }
  return file;
}

bool equals(const char* text, size_t length, const char* wanted) {
  return strlen(wanted) == length && memcmp(text, wanted, length) == 0;
}

bool is_file(const ListEntry& entry, const char* name) {
  const char* file = file_of(entry);
  return equals(file, entry.length - static_cast<size_t>(file - entry.text), name);
}

bool is_companion(const ListEntry& entry, const char* companion) {
  if (strchr(companion, '/') == nullptr) return is_file(entry, companion);
  return equals(entry.text, entry.length, companion);
}

// By its file's name: it may be named with or without a folder, and an outer launcher may belong to
// another installation.
bool is_shim(const ListEntry& entry) {
  return is_file(entry, base::kShimFile);
}

const char* shim_in(const char* list) {
  for (ListEntry entry = entry_behind(list); entry.length > 0;
       entry = entry_behind(entry.text + entry.length)) {
    if (is_shim(entry)) return entry.text;
  }
  return nullptr;
}

}  // namespace

bool find_shim_in(char* const* environment, PreloadVariable* found) {
  if (environment == nullptr) return false;
  size_t count = 0;
  for (; environment[count] != nullptr; ++count) {
    if (count >= kMaxVariables) return false;
    if (strncmp(environment[count], kName, strlen(kName)) != 0) continue;
    if (found->list != nullptr) return false;
    found->at = count;
    found->list = environment[count] + strlen(kName);
  }
  found->variables = count;
  return found->list != nullptr && strnlen(found->list, kMaxPreloadBytes) < kMaxPreloadBytes &&
         shim_in(found->list) != nullptr;
}

bool takes_the_first_place(const char* list) {
  const char* shim = shim_in(list);
  if (shim == nullptr) return false;
  for (ListEntry entry = entry_behind(shim); entry.length > 0;
       entry = entry_behind(entry.text + entry.length)) {
    if (base::must_come_first(file_of(entry))) return true;
  }
  return false;
}

void put_without_shim(char* to, const char* list, const char* companion) {
  size_t length = 0;
  bool behind_shim = false;
  for (ListEntry entry = entry_behind(list); entry.length > 0;
       entry = entry_behind(entry.text + entry.length)) {
    const bool shim = is_shim(entry);
    const bool ours = shim || (behind_shim && is_companion(entry, companion));
    behind_shim = shim;
    if (ours) continue;
    const bool first = length == 0;
    const char* from = first ? entry.text : entry.text - 1;  // with the separator before it
    const size_t bytes = entry.length + (first ? 0 : 1);
    memcpy(to + length, from, bytes);
    length += bytes;
  }
  to[length] = '\0';
}

void put_environment(char** to, char* const* environment, const PreloadVariable& preload,
                     char* variable, bool is_empty) {
  size_t count = 0;
  for (size_t i = 0; i < preload.variables; ++i) {
    if (i != preload.at) {
      to[count++] = environment[i];
    } else if (!is_empty) {
      to[count++] = variable;
    }
  }
  to[count] = nullptr;
}

}  // namespace optile::preload
