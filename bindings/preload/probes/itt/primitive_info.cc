#include "bindings/preload/probes/itt/primitive_info.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"

namespace optile::preload {
namespace {

constexpr size_t kLongest = 2048;
constexpr char kNone[] = "undef";

// Up to the next `separator`, which is skipped; false where there is none.
bool take(const char** rest, char separator, Part* part) {
  const char* end = strchr(*rest, separator);
  if (end == nullptr) return false;
  *part = {*rest, static_cast<size_t>(end - *rest)};
  *rest = end + 1;
  return true;
}

// Eight bytes at a time: this is done for every execution.
uint64_t add(const Part& part, uint64_t key) {
  key = base::hash_word(part.size, key);
  size_t at = 0;
  for (; at + sizeof(uint64_t) <= part.size; at += sizeof(uint64_t)) {
    uint64_t word = 0;
    memcpy(&word, part.text + at, sizeof word);
    key = base::hash_word(word, key);
  }
  uint64_t rest = 0;
  memcpy(&rest, part.text + at, part.size - at);
  return base::hash_word(rest, key);
}

// Up to the next `byte`, or all of it.
Part until(const Part& part, char byte) {
  const auto* end = static_cast<const char*>(memchr(part.text, byte, part.size));
  return {part.text, end == nullptr ? part.size : static_cast<size_t>(end - part.text)};
}

Part behind(const Part& part, size_t size) {
  return size >= part.size ? Part{part.text + part.size, 0}
                           : Part{part.text + size, part.size - size};
}

Part type_of(const Part& memory) {
  return until(behind(memory, until(memory, ':').size + 1), ':');
}

// Name and type of each memory.
uint64_t add_types(Part memories, uint64_t key) {
  while (memories.size > 0) {
    const Part memory = until(memories, ' ');
    key = add(type_of(memory), add(until(memory, ':'), key));
    memories = behind(memories, memory.size + 1);
  }
  return key;
}

int width_of(const Part& part) {
  return static_cast<int>(part.size);
}

}  // namespace

bool read_primitive_info(const char* line, PrimitiveInfo* info) {
  const size_t size = strnlen(line, kLongest);
  if (size == kLongest) return false;
  const char* rest = line;
  Part engine;
  const bool whole = take(&rest, ',', &engine) && take(&rest, ',', &info->kind) &&
                     take(&rest, ',', &info->implementation) &&
                     take(&rest, ',', &info->propagation) && take(&rest, ',', &info->memories) &&
                     take(&rest, ',', &info->attributes) && take(&rest, ',', &info->algorithm);
  if (!whole || info->kind.size == 0) return false;
  info->problem = {rest, size - static_cast<size_t>(rest - line)};
  const Part& propagation = info->propagation;
  const bool none = propagation.size == sizeof kNone - 1 &&
                    memcmp(propagation.text, kNone, propagation.size) == 0;
  if (none) info->propagation = {};
  return true;
}

uint64_t key_of_primitive(const PrimitiveInfo& info) {
  uint64_t key = add(info.propagation, add(info.kind, base::kHashSeed));
  key = add_types(info.memories, key);
  return add(info.problem, add(info.algorithm, add(info.attributes, key)));
}

bool is_backward(const PrimitiveInfo& info) {
  return info.propagation.size >= 8 && memcmp(info.propagation.text, "backward", 8) == 0;
}

void describe_primitive(const PrimitiveInfo& info, const char* verb, char name[OPTILE_NAME_BYTES],
                        char shape[OPTILE_SHAPE_BYTES]) {
  snprintf(name, OPTILE_NAME_BYTES, "%s%s%.*s%s%.*s", verb, verb[0] == '\0' ? "" : " ",
           width_of(info.kind), info.kind.text, info.propagation.size == 0 ? "" : " ",
           width_of(info.propagation), info.propagation.text);
  const Part type = type_of(until(info.memories, ' '));
  snprintf(shape, OPTILE_SHAPE_BYTES, "%.*s %.*s %.*s", width_of(info.problem), info.problem.text,
           width_of(type), type.text, width_of(info.implementation), info.implementation.text);
}

}  // namespace optile::preload
