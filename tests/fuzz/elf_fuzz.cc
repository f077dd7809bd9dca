// Files that a program to be started may consist of, as the launcher reads them.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "base/unique_fd.h"
#include "bindings/cli/support/elf_file.h"
#include "tests/cli/fixtures/elf_builder.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using optile::fuzz::require;
  const optile::base::UniqueFd fd(memfd_create("program", MFD_CLOEXEC));
  require(write(fd.get(), data, size) == static_cast<ssize_t>(size), "a file can be made");
  const optile::base::Result<optile::cli::ElfFile> elf = optile::cli::read_elf_file(
      "/proc/self/fd/" + std::to_string(fd.get()), optile::cli::ElfSymbols::kAll);
  if (!elf.ok()) {
    require(!elf.message().empty(), "a refusal says why");
    return 0;
  }
  // A file of n bytes has no more names than that, nor longer ones.
  const optile::cli::ElfFile& found = elf.value();
  require(found.needed.size() <= size && found.defined.size() <= size, "names are limited");
  const auto fits = [size](const std::string& name) { return name.size() < size; };
  require(std::all_of(found.needed.begin(), found.needed.end(), fits), "names fit the file");
  return 0;
}

std::vector<std::string> optile::fuzz::seeds() {
  using optile::cli::build_elf;
  return {build_elf({}),
          build_elf({"", true, {"libgomp.so.1", "libc.so.6"}, {"GOMP_parallel"}, {"f", "g"}}),
          build_elf({"/lib/ld.so", true, {"libm.so"}, {}, {"main"}}),
          build_elf({"", false, {}, {}, {}}), std::string("\177ELF\2\1\1", 7)};
}
