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

constexpr size_t kHeadBytes = 1024;      // read at once: most files' program headers end before
constexpr unsigned kMostParts = 128;     // program headers; real files have about a dozen
constexpr uint64_t kMostEntries = 4096;  // of a dynamic section; real ones have about thirty
constexpr uint64_t kEntriesAtOnce = 64;
constexpr size_t kNameBytes = 32;  // more than any name that is looked for

struct File {
  int fd = -1;
  size_t bytes = 0;  // of the head
  char head[kHeadBytes];
};

// The C library's would be a place where a thread can be cancelled, which exec is not.
size_t read_from_disk(int fd, uint64_t offset, void* to, size_t bytes) {
  if (offset > INT64_MAX - bytes) return 0;
  const long got = syscall(SYS_pread64, fd, to, bytes, offset);
  return got > 0 ? static_cast<size_t>(got) : 0;
}

bool read_at(const File& file, uint64_t offset, void* to, size_t bytes) {
  if (offset <= file.bytes && file.bytes - offset >= bytes) {
    memcpy(to, file.head + offset, bytes);
    return true;
  }
  return read_from_disk(file.fd, offset, to, bytes) == bytes;
}

// As much of it as there is room for; always terminated.
void read_text(const File& file, uint64_t offset, char* to, size_t room) {
  const bool whole = offset < file.bytes && file.bytes - offset >= room - 1;
  if (whole) memcpy(to, file.head + offset, room - 1);
  to[whole ? room - 1 : read_from_disk(file.fd, offset, to, room - 1)] = '\0';
}

// The first program header of this type.
template <typename Header, typename Part>
bool find_part(const File& file, const Header& header, uint32_t type, Part* part) {
  if (header.e_phentsize != sizeof(Part) || header.e_phnum > kMostParts) return false;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    if (!read_at(file, header.e_phoff + i * sizeof(Part), part, sizeof *part)) return false;
    if (part->p_type == type) return true;
  }
  return false;
}

// An address in memory as an offset in the file.
bool find_offset(const File& file, const Elf64_Ehdr& header, uint64_t address, uint64_t* offset) {
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

// A dynamic section, a block at a time; mostly all of it is one.
class Dynamic {
 public:
  Dynamic(const File& file, const Elf64_Phdr& part) : file_(file), offset_(part.p_offset) {
    const uint64_t all = part.p_filesz / sizeof(Elf64_Dyn);
    count_ = all < kMostEntries ? all : kMostEntries;
  }

  // Null behind the last one.
  const Elf64_Dyn* at(uint64_t index) {
    if (index >= count_) return nullptr;
    const uint64_t first = index - index % kEntriesAtOnce;
    if (first != first_ && !read_block(first)) return nullptr;
    const Elf64_Dyn* entry = &block_[index - first];
    return entry->d_tag == DT_NULL ? nullptr : entry;
  }

 private:
  bool read_block(uint64_t first) {
    const uint64_t left = count_ - first;
    const uint64_t wanted = left < kEntriesAtOnce ? left : kEntriesAtOnce;
    if (!read_at(file_, offset_ + first * sizeof(Elf64_Dyn), block_, wanted * sizeof(Elf64_Dyn))) {
      return false;
    }
    first_ = first;
    return true;
  }

  const File& file_;
  uint64_t offset_;
  uint64_t count_ = 0;
  uint64_t first_ = UINT64_MAX;
  Elf64_Dyn block_[kEntriesAtOnce];
};

// By its own list; what its libraries need comes behind them, and ends the program without us too.
bool needs_a_first_library(const File& file, const Elf64_Ehdr& header, const Elf64_Phdr& part) {
  Dynamic dynamic(file, part);
  uint64_t strings = UINT64_MAX;
  const Elf64_Dyn* entry = nullptr;
  for (uint64_t i = 0; (entry = dynamic.at(i)) != nullptr; ++i) {
    if (entry->d_tag != DT_STRTAB) continue;
    if (!find_offset(file, header, entry->d_un.d_ptr, &strings)) return false;
  }
  if (strings == UINT64_MAX) return false;
  for (uint64_t i = 0; (entry = dynamic.at(i)) != nullptr; ++i) {
    if (entry->d_tag != DT_NEEDED) continue;
    char name[kNameBytes];
    read_text(file, strings + entry->d_un.d_val, name, sizeof name);
    if (base::must_come_first(name)) return true;
  }
  return false;
}

Bearing bearing_of_64_bits(const File& file, bool first_is_taken) {
  Elf64_Ehdr header;
  Elf64_Phdr part;
  if (!read_at(file, 0, &header, sizeof header)) return Bearing::kBears;
  // A static program is not reached, and what it starts inherits the list.
  if (!find_part(file, header, PT_INTERP, &part)) return Bearing::kBears;
  char loader[kInterpreterBytes];
  const size_t room = part.p_filesz < sizeof loader ? part.p_filesz + 1 : sizeof loader;
  read_text(file, part.p_offset, loader, room);
  if (base::is_musl_loader(loader) || first_is_taken) return Bearing::kDies;
  if (!find_part(file, header, PT_DYNAMIC, &part)) return Bearing::kBears;
  return needs_a_first_library(file, header, part) ? Bearing::kDies : Bearing::kBears;
}

// Runs, but its dynamic linker says on standard error that the library is of the wrong kind.
Bearing bearing_of_32_bits(const File& file) {
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
  while (at < end && (file.head[at] == ' ' || file.head[at] == '\t')) ++at;
  size_t length = 0;
  for (; at + length < end; ++length) {
    const char letter = file.head[at + length];
    if (letter == ' ' || letter == '\t' || letter == '\n' || letter == '\0') break;
  }
  if (length == 0 || length >= kInterpreterBytes) return Bearing::kBears;
  memcpy(interpreter, file.head + at, length);
  interpreter[length] = '\0';
  return Bearing::kScript;
}

}  // namespace

Bearing look_at_program(int fd, bool first_is_taken, char (&interpreter)[kInterpreterBytes]) {
  File file;
  file.fd = fd;
  file.bytes = read_from_disk(fd, 0, file.head, sizeof file.head);
  if (file.bytes >= 2 && memcmp(file.head, "#!", 2) == 0) return read_script(file, interpreter);
  const bool own_order = file.bytes >= EI_NIDENT && memcmp(file.head, ELFMAG, SELFMAG) == 0 &&
                         static_cast<unsigned char>(file.head[EI_DATA]) == kOwnByteOrder;
  if (!own_order) return Bearing::kBears;
  switch (file.head[EI_CLASS]) {
    case ELFCLASS64:
      return bearing_of_64_bits(file, first_is_taken);
    case ELFCLASS32:
      return bearing_of_32_bits(file);
    default:
      return Bearing::kBears;
  }
}

}  // namespace optile::preload
