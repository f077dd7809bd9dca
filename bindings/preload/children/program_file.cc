#include "bindings/preload/children/program_file.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/preload_limits.h"

namespace optile::preload {
namespace {

constexpr unsigned char kOwnByteOrder =
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;

constexpr size_t kWindowBytes = 512;     // read at once; most of a file's headers lie in two
constexpr unsigned kMostParts = 128;     // program headers; real files have about a dozen
constexpr uint64_t kMostEntries = 4096;  // of a dynamic section; real ones have about thirty
constexpr size_t kNameBytes = 32;        // more than any name that is looked for

// A file of which a part is at hand: where the last thing was read that was not.
struct File {
  int fd = -1;
  uint64_t begin = 0;  // of that part
  size_t bytes = 0;
  char window[kWindowBytes];
};

// The C library's would be a place where a thread can be cancelled, which exec is not.
size_t read_from_disk(int fd, uint64_t offset, void* to, size_t bytes) {
  if (offset > INT64_MAX - bytes) return 0;
  const long got = syscall(SYS_pread64, fd, to, bytes, offset);
  return got > 0 ? static_cast<size_t>(got) : 0;
}

void move_window(File& file, uint64_t offset) {
  file.begin = offset;
  file.bytes = read_from_disk(file.fd, offset, file.window, sizeof file.window);
}

bool read_at(File& file, uint64_t offset, void* to, size_t bytes) {
  const auto at_hand = [&] {
    const uint64_t at = offset - file.begin;
    return offset >= file.begin && at <= file.bytes && file.bytes - at >= bytes;
  };
  if (!at_hand()) move_window(file, offset);
  if (!at_hand()) return false;
  memcpy(to, file.window + (offset - file.begin), bytes);
  return true;
}

// As much of it as there is room for; always terminated. Past the window: texts lie elsewhere.
void read_text(const File& file, uint64_t offset, char* to, size_t room) {
  to[read_from_disk(file.fd, offset, to, room - 1)] = '\0';
}

// The first program header of this type.
template <typename Header, typename Part>
bool find_part(File& file, const Header& header, uint32_t type, Part* part) {
  if (header.e_phentsize != sizeof(Part) || header.e_phnum > kMostParts) return false;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    if (!read_at(file, header.e_phoff + i * sizeof(Part), part, sizeof *part)) return false;
    if (part->p_type == type) return true;
  }
  return false;
}

// An address in memory as an offset in the file.
bool find_offset(File& file, const Elf64_Ehdr& header, uint64_t address, uint64_t* offset) {
  Elf64_Phdr part;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    if (!read_at(file, header.e_phoff + i * sizeof part, &part, sizeof part)) return false;
    const bool holds =
        part.p_type == PT_LOAD && address >= part.p_vaddr && address - part.p_vaddr < part.p_filesz;
    if (!holds) continue;
    *offset = address - part.p_vaddr + part.p_offset;
    return true;
  }
  return false;
}

// The entry of a dynamic section. False behind the last one.
bool entry_at(File& file, const Elf64_Phdr& part, uint64_t index, Elf64_Dyn* entry) {
  const uint64_t all = part.p_filesz / sizeof *entry;
  if (index >= (all < kMostEntries ? all : kMostEntries)) return false;
  return read_at(file, part.p_offset + index * sizeof *entry, entry, sizeof *entry) &&
         entry->d_tag != DT_NULL;
}

// By its own list; what its libraries need comes behind them, and ends the program without us too.
bool needs_a_first_library(File& file, const Elf64_Ehdr& header, const Elf64_Phdr& part) {
  uint64_t address = 0;
  Elf64_Dyn entry;
  for (uint64_t i = 0; entry_at(file, part, i, &entry); ++i) {
    if (entry.d_tag == DT_STRTAB) address = entry.d_un.d_ptr;
  }
  uint64_t strings = 0;
  if (address == 0 || !find_offset(file, header, address, &strings)) return false;
  for (uint64_t i = 0; entry_at(file, part, i, &entry); ++i) {
    if (entry.d_tag != DT_NEEDED) continue;
    char name[kNameBytes];
    read_text(file, strings + entry.d_un.d_val, name, sizeof name);
    if (base::must_come_first(name)) return true;
  }
  return false;
}

Bearing bearing_of_64_bits(File& file, bool first_is_taken, char (&loader)[kInterpreterBytes]) {
  Elf64_Ehdr header;
  Elf64_Phdr part;
  if (!read_at(file, 0, &header, sizeof header)) return Bearing::kBears;
  // A static program is not reached, and what it starts inherits the list.
  if (!find_part(file, header, PT_INTERP, &part)) return Bearing::kBears;
  const size_t room = part.p_filesz < sizeof loader ? part.p_filesz + 1 : sizeof loader;
  read_text(file, part.p_offset, loader, room);
  if (base::is_musl_loader(loader) || first_is_taken) return Bearing::kDies;
  if (!find_part(file, header, PT_DYNAMIC, &part)) return Bearing::kBears;
  return needs_a_first_library(file, header, part) ? Bearing::kDies : Bearing::kBears;
}

// Runs, but its dynamic linker says on standard error that the library is of the wrong kind.
Bearing bearing_of_32_bits(File& file) {
  Elf32_Ehdr header;
  Elf32_Phdr part;
  const bool loads =
      read_at(file, 0, &header, sizeof header) && find_part(file, header, PT_INTERP, &part);
  return loads ? Bearing::kDies : Bearing::kBears;
}

// As the kernel takes it apart: blanks, a name, and what follows is its one argument.
Bearing read_script(const File& file, char (&interpreter)[kInterpreterBytes]) {
  const size_t end = file.bytes < kInterpreterBytes ? file.bytes : kInterpreterBytes;
  size_t at = 2;
  while (at < end && (file.window[at] == ' ' || file.window[at] == '\t')) ++at;
  size_t length = 0;
  for (; at + length < end; ++length) {
    const char letter = file.window[at + length];
    if (letter == ' ' || letter == '\t' || letter == '\n' || letter == '\0') break;
  }
  if (length == 0 || length >= kInterpreterBytes) return Bearing::kBears;
  memcpy(interpreter, file.window + at, length);
  interpreter[length] = '\0';
  return Bearing::kScript;
}

}  // namespace

Bearing look_at_program(int fd, bool first_is_taken, char (&interpreter)[kInterpreterBytes]) {
  File file;
  file.fd = fd;
  move_window(file, 0);
  if (file.bytes >= 2 && memcmp(file.window, "#!", 2) == 0) return read_script(file, interpreter);
  const bool own_order = file.bytes >= EI_NIDENT && memcmp(file.window, ELFMAG, SELFMAG) == 0 &&
                         static_cast<unsigned char>(file.window[EI_DATA]) == kOwnByteOrder;
  if (!own_order) return Bearing::kBears;
  switch (file.window[EI_CLASS]) {
    case ELFCLASS64:
      return bearing_of_64_bits(file, first_is_taken, interpreter);
    case ELFCLASS32:
      return bearing_of_32_bits(file);
    default:
      return Bearing::kBears;
  }
}

}  // namespace optile::preload
