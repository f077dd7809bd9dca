#include "bindings/preload/runtimes/object_imports.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace optile::preload {
namespace {

struct Relocations {
  const ElfW(Rela) * first = nullptr;
  size_t bytes = 0;
};

struct DynamicTables {
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const uint32_t* gnu_hash = nullptr;
  const uint32_t* hash = nullptr;
  Relocations data;
  Relocations calls;
};

const ElfW(Dyn) * dynamic_section(const dl_phdr_info& object) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object.dlpi_phdr[i];
    if (header.p_type != PT_DYNAMIC) continue;
    // The linker gives addresses as numbers. NOLINTNEXTLINE(performance-no-int-to-ptr)
    return reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + header.p_vaddr);
  }
  return nullptr;
}

void take_table(DynamicTables& tables, ElfW(Sxword) tag, const void* table) {
  switch (tag) {
    case DT_SYMTAB:
      tables.symbols = static_cast<const ElfW(Sym)*>(table);
      break;
    case DT_STRTAB:
      tables.strings = static_cast<const char*>(table);
      break;
    case DT_GNU_HASH:
      tables.gnu_hash = static_cast<const uint32_t*>(table);
      break;
    case DT_HASH:
      tables.hash = static_cast<const uint32_t*>(table);
      break;
    case DT_RELA:
      tables.data.first = static_cast<const ElfW(Rela)*>(table);
      break;
    case DT_JMPREL:
      tables.calls.first = static_cast<const ElfW(Rela)*>(table);
      break;
    default:
      break;
  }
}

DynamicTables tables_of(const dl_phdr_info& object) {
  DynamicTables tables;
  const ElfW(Dyn)* entry = dynamic_section(object);
  for (; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_RELASZ) tables.data.bytes = entry->d_un.d_val;
    if (entry->d_tag == DT_PLTRELSZ) tables.calls.bytes = entry->d_un.d_val;
    const auto address = static_cast<uintptr_t>(entry->d_un.d_ptr);
    // The linker has made these absolute, except in the kernel's own object.
    if (address < object.dlpi_addr) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): as above
    take_table(tables, entry->d_tag, reinterpret_cast<const void*>(address));
  }
  return tables;
}

uint32_t end_of(const Relocations& relocations) {
  uint32_t end = 0;
  if (relocations.first == nullptr) return end;
  const size_t count = relocations.bytes / sizeof(ElfW(Rela));
  for (size_t i = 0; i < count; ++i) {
    const auto symbol = static_cast<uint32_t>(ELF64_R_SYM(relocations.first[i].r_info));
    if (symbol >= end) end = symbol + 1;
  }
  return end;
}

// What an object needs stands before what it offers, where the GNU hash table begins; the older
// table counts all symbols. A program that offers nothing has an empty table, which begins at once:
// then what it is linked to tells.
uint32_t needed_end(const DynamicTables& tables) {
  if (tables.gnu_hash != nullptr && tables.gnu_hash[1] > 1) return tables.gnu_hash[1];
  if (tables.hash != nullptr) return tables.hash[1];
  const uint32_t by_data = end_of(tables.data);
  const uint32_t by_calls = end_of(tables.calls);
  return by_data > by_calls ? by_data : by_calls;
}

// The linker may be filling the place just now.
uintptr_t bound_at(const dl_phdr_info& object, uintptr_t place) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): as above
  const auto* slot = reinterpret_cast<const uintptr_t*>(place);
  if (place % sizeof(uintptr_t) != 0 || !holds_address(object, slot)) return 0;
  return __atomic_load_n(slot, __ATOMIC_RELAXED);
}

bool visit_places(const dl_phdr_info& object, const DynamicTables& tables,
                  const Relocations& relocations, BindingVisitor visit, void* context) {
  const size_t count = relocations.first == nullptr ? 0 : relocations.bytes / sizeof(ElfW(Rela));
  for (size_t i = 0; i < count; ++i) {
    const ElfW(Rela)& relocation = relocations.first[i];
    const auto number = static_cast<uint32_t>(ELF64_R_SYM(relocation.r_info));
    if (number == 0 || tables.symbols[number].st_shndx != SHN_UNDEF) continue;
    const uintptr_t bound = bound_at(object, object.dlpi_addr + relocation.r_offset);
    if (bound != 0 && visit(tables.strings + tables.symbols[number].st_name, bound, context)) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool visit_bindings(const dl_phdr_info& object, BindingVisitor visit, void* context) {
  const DynamicTables tables = tables_of(object);
  if (tables.symbols == nullptr || tables.strings == nullptr) return false;
  return visit_places(object, tables, tables.calls, visit, context) ||
         visit_places(object, tables, tables.data, visit, context);
}

bool visit_needs(const dl_phdr_info& object, NeedVisitor visit, void* context) {
  const DynamicTables tables = tables_of(object);
  if (tables.symbols == nullptr || tables.strings == nullptr) return false;
  const uint32_t end = needed_end(tables);
  for (uint32_t i = 1; i < end; ++i) {
    const ElfW(Sym)& symbol = tables.symbols[i];
    if (symbol.st_shndx != SHN_UNDEF) continue;
    const bool weak = (symbol.st_info >> 4) == STB_WEAK;
    if (visit(tables.strings + symbol.st_name, weak, context)) return true;
  }
  return false;
}

bool needs_object(const dl_phdr_info& object, const char* name) {
  const char* strings = tables_of(object).strings;
  const ElfW(Dyn)* entry = strings == nullptr ? nullptr : dynamic_section(object);
  for (; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_NEEDED && strcmp(strings + entry->d_un.d_val, name) == 0) return true;
  }
  return false;
}

bool keeps_data_per_thread(const dl_phdr_info& object) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object.dlpi_phdr[i];
    if (header.p_type == PT_TLS && header.p_memsz > 0) return true;
  }
  return false;
}

bool holds_address(const dl_phdr_info& object, const void* address) {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object.dlpi_phdr[i];
    const uintptr_t begin = object.dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD && wanted >= begin && wanted - begin < header.p_memsz) return true;
  }
  return false;
}

}  // namespace optile::preload
