#include "tests/cli/elf_builder.h"

#include <elf.h>

#include <bit>
#include <cstring>
#include <utility>

namespace optile::cli {
namespace {

// Where the file lies in memory: an address is never its offset, so that a reader has to translate.
constexpr std::uint64_t kAddress = 0x400000;

template <typename T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

Elf64_Phdr segment(std::uint32_t type, std::uint64_t offset, std::uint64_t size) {
  Elf64_Phdr part = {};
  part.p_type = type;
  part.p_offset = offset;
  part.p_vaddr = kAddress + offset;
  part.p_filesz = size;
  part.p_memsz = size;
  return part;
}

// Symbols, then strings, then the dynamic section, as linkers order them.
class Builder {
 public:
  explicit Builder(const ElfParts& parts) : parts_(parts) {}

  std::string build() {
    std::size_t segments = 1;
    if (!parts_.interpreter.empty()) ++segments;
    if (parts_.dynamic) ++segments;
    const std::uint64_t first = sizeof(Elf64_Ehdr) + segments * sizeof(Elf64_Phdr);
    std::vector<Elf64_Phdr> headers;
    if (!parts_.interpreter.empty()) {
      headers.push_back(segment(PT_INTERP, first, parts_.interpreter.size() + 1));
      body_ = parts_.interpreter + '\0';
    }
    if (parts_.dynamic) {
      add_symbols();
      const std::uint64_t symbols = first + symbols_at_;
      const std::uint64_t strings = first + body_.size();
      body_ += strings_;
      const std::uint64_t dynamic = first + body_.size();
      add_dynamic(kAddress + symbols, kAddress + strings);
      headers.push_back(segment(PT_DYNAMIC, dynamic, first + body_.size() - dynamic));
    }
    headers.insert(headers.begin(), segment(PT_LOAD, 0, first + body_.size()));
    std::string bytes;
    append(bytes, file_header(headers.size()));
    for (const Elf64_Phdr& header : headers) append(bytes, header);
    return bytes + body_;
  }

 private:
  static Elf64_Ehdr file_header(std::size_t segments) {
    Elf64_Ehdr header = {};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] =
        std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
    header.e_type = ET_DYN;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = static_cast<Elf64_Half>(segments);
    return header;
  }

  std::uint32_t string_at(const std::string& text) {
    const auto at = static_cast<std::uint32_t>(strings_.size());
    strings_ += text + '\0';
    return at;
  }

  void add_symbols() {
    strings_.assign(1, '\0');
    symbols_at_ = body_.size();
    append(body_, Elf64_Sym{});
    for (const std::string& name : parts_.undefined) add_symbol(name, SHN_UNDEF);
    for (const std::string& name : parts_.defined) add_symbol(name, 1);
    for (const std::string& name : parts_.needed) needed_.push_back(string_at(name));
  }

  void add_symbol(const std::string& name, Elf64_Section section) {
    Elf64_Sym symbol = {};
    symbol.st_name = string_at(name);
    symbol.st_shndx = section;
    append(body_, symbol);
  }

  void add_entry(Elf64_Sxword tag, std::uint64_t value) {
    Elf64_Dyn entry = {};
    entry.d_tag = tag;
    entry.d_un.d_val = value;
    append(body_, entry);
  }

  void add_dynamic(std::uint64_t symbols, std::uint64_t strings) {
    for (const std::uint32_t name : needed_) add_entry(DT_NEEDED, name);
    add_entry(DT_SYMTAB, symbols);
    add_entry(DT_STRTAB, strings);
    add_entry(DT_STRSZ, strings_.size());
    add_entry(DT_NULL, 0);
  }

  const ElfParts& parts_;
  std::string body_;  // everything behind the headers
  std::string strings_;
  std::vector<std::uint32_t> needed_;
  std::size_t symbols_at_ = 0;
};

}  // namespace

std::string build_elf(const ElfParts& parts) {
  return Builder(parts).build();
}

}  // namespace optile::cli
