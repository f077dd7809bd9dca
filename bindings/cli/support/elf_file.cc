#include "bindings/cli/support/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/unique_fd.h"

namespace optile::cli {
namespace {

constexpr unsigned char kOwnByteOrder =
    std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

// A file may name the same long text any number of times; real ones stay far below.
constexpr std::size_t kMaxName = 4096;
constexpr std::size_t kMaxNeeded = 1024;
constexpr std::size_t kMostSearched = std::size_t{64} << 20;
constexpr std::uint64_t kMaxSymbols = 1U << 20;  // of a table that is searched for one name

// A file in memory; every access is checked against its end.
class Mapping {
 public:
  Mapping(const void* bytes, std::size_t size)
      : bytes_(static_cast<const char*>(bytes)), size_(size) {}
  ~Mapping() {
    if (bytes_ != nullptr) munmap(const_cast<char*>(bytes_), size_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  template <typename T>
  std::optional<T> at(std::uint64_t offset) const {
    if (offset > size_ || size_ - offset < sizeof(T)) return std::nullopt;
    T copy;
    std::memcpy(&copy, bytes_ + offset, sizeof copy);
    return copy;
  }
  // NUL-terminated text; empty when it runs over the end or is no name.
  std::string_view text(std::uint64_t offset) const {
    if (offset >= size_) return {};
    const void* end = std::memchr(bytes_ + offset, 0, std::min(size_ - offset, kMaxName));
    if (end == nullptr) return {};
    return {bytes_ + offset,
            static_cast<std::size_t>(static_cast<const char*>(end) - (bytes_ + offset))};
  }
  std::string_view first(std::size_t most) const { return {bytes_, std::min(size_, most)}; }

 private:
  const char* bytes_;
  std::size_t size_;
};

class Reader {
 public:
  explicit Reader(const Mapping& file) : file_(file) {}

  bool read(ElfFile* elf, ElfSymbols symbols) {
    const auto header = file_.at<Elf64_Ehdr>(0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != kOwnByteOrder ||
        header->e_phentsize != sizeof(Elf64_Phdr)) {
      return false;
    }
    for (unsigned i = 0; i < header->e_phnum; ++i) {
      const auto part = file_.at<Elf64_Phdr>(header->e_phoff + i * sizeof(Elf64_Phdr));
      if (!part) return false;
      segments_.push_back(*part);
    }
    for (const Elf64_Phdr& part : segments_) {
      if (part.p_type == PT_INTERP) elf->interpreter = file_.text(part.p_offset);
      // The loader knows one.
      if (part.p_type == PT_DYNAMIC && !has_dynamic_ && !read_dynamic(part)) return false;
    }
    elf->is_dynamic = has_dynamic_;
    elf->is_program = header->e_type == ET_EXEC || !elf->interpreter.empty();
    for (const std::uint64_t name : needed_) elf->needed.emplace_back(file_.text(strings_ + name));
    if (symbols == ElfSymbols::kAll) read_symbols(elf, UINT64_MAX);
    if (symbols == ElfSymbols::kUndefined) read_symbols(elf, end_of_undefined(*elf));
    return true;
  }

  // By the section headers, which a stripped file need not have.
  bool section_defines(const SymbolNames& names) const {
    const auto header = file_.at<Elf64_Ehdr>(0);
    if (!header || header->e_shentsize != sizeof(Elf64_Shdr)) return false;
    for (unsigned i = 0; i < header->e_shnum; ++i) {
      const auto table = section(*header, i);
      if (!table || table->sh_type != SHT_SYMTAB) continue;
      const auto strings = section(*header, table->sh_link);
      return strings && table_defines(*table, strings->sh_offset, names);  // there is only one
    }
    return false;
  }

 private:
  std::optional<Elf64_Shdr> section(const Elf64_Ehdr& header, std::uint64_t index) const {
    if (index >= header.e_shnum) return std::nullopt;
    return file_.at<Elf64_Shdr>(header.e_shoff + index * sizeof(Elf64_Shdr));
  }

  bool table_defines(const Elf64_Shdr& table, std::uint64_t strings,
                     const SymbolNames& names) const {
    const std::uint64_t count = std::min(table.sh_size / sizeof(Elf64_Sym), kMaxSymbols);
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto symbol = file_.at<Elf64_Sym>(table.sh_offset + i * sizeof(Elf64_Sym));
      if (!symbol) return false;
      if (symbol->st_shndx == SHN_UNDEF) continue;
      const std::string_view name = file_.text(strings + symbol->st_name);
      if (names.contains(name)) return true;
    }
    return false;
  }

  // An address in memory as an offset in the file; the file's end when no segment holds it.
  std::uint64_t offset_of(std::uint64_t address) const {
    for (const Elf64_Phdr& part : segments_) {
      if (part.p_type == PT_LOAD && address >= part.p_vaddr &&
          address - part.p_vaddr < part.p_filesz) {
        return address - part.p_vaddr + part.p_offset;
      }
    }
    return UINT64_MAX;
  }

  bool read_dynamic(const Elf64_Phdr& part) {
    has_dynamic_ = true;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Dyn) <= part.p_filesz; at += sizeof(Elf64_Dyn)) {
      const auto entry = file_.at<Elf64_Dyn>(part.p_offset + at);
      if (!entry) return false;
      if (entry->d_tag == DT_NULL) break;
      if (entry->d_tag == DT_NEEDED && needed_.size() < kMaxNeeded) {
        needed_.push_back(entry->d_un.d_val);
      }
      if (entry->d_tag == DT_STRTAB) strings_ = offset_of(entry->d_un.d_ptr);
      if (entry->d_tag == DT_SYMTAB) symbols_ = offset_of(entry->d_un.d_ptr);
      if (entry->d_tag == DT_GNU_HASH) hashes_ = offset_of(entry->d_un.d_ptr);
      if (entry->d_tag == DT_STRSZ) string_bytes_ = entry->d_un.d_val;
    }
    return true;
  }

  // What is hashed stands behind what is not: a library hashes what it defines, and nothing else.
  // (A program may hash what it takes the address of.)
  std::uint64_t end_of_undefined(const ElfFile& elf) const {
    struct Hashes {
      std::uint32_t buckets;
      std::uint32_t first_hashed;
    };
    const auto hashes = file_.at<Hashes>(hashes_);
    return hashes && elf.interpreter.empty() ? hashes->first_hashed : UINT64_MAX;
  }

  // At most so many. The symbol table has no length of its own; linkers put the strings right
  // behind it.
  void read_symbols(ElfFile* elf, std::uint64_t most) const {
    if (symbols_ == UINT64_MAX || strings_ == UINT64_MAX || strings_ <= symbols_) return;
    const std::uint64_t count = std::min((strings_ - symbols_) / sizeof(Elf64_Sym), most);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t at = symbols_ + i * sizeof(Elf64_Sym);
      const auto symbol = file_.at<Elf64_Sym>(at);
      if (!symbol || symbol->st_name >= string_bytes_) return;
      const std::string_view name = file_.text(strings_ + symbol->st_name);
      if (name.empty()) continue;
      (symbol->st_shndx == SHN_UNDEF ? elf->undefined : elf->defined).emplace(name);
    }
  }

  const Mapping& file_;
  std::vector<Elf64_Phdr> segments_;
  std::vector<std::uint64_t> needed_;
  bool has_dynamic_ = false;
  std::uint64_t strings_ = UINT64_MAX;
  std::uint64_t symbols_ = UINT64_MAX;
  std::uint64_t hashes_ = UINT64_MAX;
  std::uint64_t string_bytes_ = 0;
};

// Calls `use` with the file in memory.
template <typename Use>
base::Status with_bytes(const std::string& path, Use use) {
  const base::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return base::errno_error("cannot read " + path, errno);
  struct stat found = {};
  if (fstat(fd.get(), &found) != 0 || !S_ISREG(found.st_mode) || found.st_size == 0) {
    return base::Error{base::ErrorKind::kInvalid, path + " is not a file with something in it"};
  }
  const auto size = static_cast<std::size_t>(found.st_size);
  const void* bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (bytes == MAP_FAILED) return base::errno_error("cannot map " + path, errno);
  return use(Mapping(bytes, size));
}

template <typename Use>
base::Status with_file(const std::string& path, Use use) {
  return with_bytes(path, [&](const Mapping& file) -> base::Status {
    Reader reader(file);
    if (use(reader)) return {};
    return base::Error{base::ErrorKind::kInvalid, path + " is not a 64-bit ELF file"};
  });
}

}  // namespace

base::Result<ElfFile> read_elf_file(const std::string& path, ElfSymbols symbols) {
  ElfFile elf;
  const base::Status read =
      with_file(path, [&](Reader& reader) { return reader.read(&elf, symbols); });
  if (!read.ok()) return read.error();
  return elf;
}

base::Result<bool> elf_defines(const std::string& path, const SymbolNames& names) {
  bool defines = false;
  const base::Status read = with_file(path, [&](Reader& reader) {
    ElfFile elf;
    const bool whole = reader.read(&elf, ElfSymbols::kAll);
    const auto offered = [&](const std::string& name) { return elf.defined.contains(name); };
    defines = whole &&
              (std::any_of(names.begin(), names.end(), offered) || reader.section_defines(names));
    return whole;
  });
  if (!read.ok()) return read.error();
  return defines;
}

bool file_holds(const std::string& path, std::string_view text) {
  bool holds = false;
  const base::Status read = with_bytes(path, [&](const Mapping& file) -> base::Status {
    const std::string_view all = file.first(kMostSearched);
    holds = memmem(all.data(), all.size(), text.data(), text.size()) != nullptr;
    return {};
  });
  return read.ok() && holds;
}

}  // namespace optile::cli
