#include "bindings/cli/support/elf_file.h"

#include <dlfcn.h>
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <exception>

#include "base/unique_fd.h"
#include "tests/cli/fixtures/elf_builder.h"
#include "tests/cli/fixtures/files.h"

namespace optile::cli {
namespace {

using base::ErrorKind;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using testing::UnorderedElementsAre;

class ElfFileTest : public testing::Test {
 protected:
  base::Result<ElfFile> read(const std::string& bytes) {
    return read_elf_file(write_file(folder_ / "file", bytes), ElfSymbols::kAll);
  }
  ErrorKind refused(const std::string& bytes) {
    const auto elf = read(bytes);
    EXPECT_FALSE(elf.ok());
    EXPECT_THAT(elf.message(), HasSubstr(folder_ / "file"));
    return elf.error().kind;
  }

  TemporaryDirectory folder_;
};

// A file in memory, for tests that read thousands of them.
class MemoryFile {
 public:
  base::Result<ElfFile> read(const std::string& bytes) {
    EXPECT_EQ(ftruncate(fd_.get(), 0), 0);
    EXPECT_EQ(pwrite(fd_.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    return read_elf_file("/proc/self/fd/" + std::to_string(fd_.get()), ElfSymbols::kAll);
  }

  // Of what was read last.
  bool defines(const std::string& name) {
    const auto defines = elf_defines("/proc/self/fd/" + std::to_string(fd_.get()), {name});
    return defines.ok() && defines.value();
  }

 private:
  base::UniqueFd fd_{memfd_create("elf", MFD_CLOEXEC)};
};

// What a library asks for is told without reading what it offers.
TEST(ElfFile, ReadsAllUndefinedSymbolsWithoutAllDefined) {
  Dl_info library = {};
  ASSERT_NE(dladdr(reinterpret_cast<const void*>(&std::terminate), &library), 0);
  const auto all = read_elf_file(library.dli_fname, ElfSymbols::kAll);
  const auto some = read_elf_file(library.dli_fname, ElfSymbols::kUndefined);
  ASSERT_TRUE(all.ok() && some.ok());
  EXPECT_GT(all.value().undefined.size(), 50U);
  EXPECT_EQ(some.value().undefined, all.value().undefined);
  EXPECT_GT(all.value().defined.size(), some.value().defined.size());
}

TEST_F(ElfFileTest, ReadsSystemProgram) {
  const auto elf = read_elf_file("/bin/true", ElfSymbols::kAll);
  ASSERT_TRUE(elf.ok()) << elf.message();
  EXPECT_TRUE(elf.value().is_program);
  EXPECT_TRUE(elf.value().is_dynamic);
  EXPECT_THAT(elf.value().interpreter, HasSubstr("ld-"));
  EXPECT_THAT(elf.value().needed, Contains(StartsWith("libc.so")));
  EXPECT_THAT(elf.value().undefined, Contains("exit"));
}

TEST_F(ElfFileTest, ReadsInterpreterLibrariesAndSymbols) {
  const auto elf = read(build_elf({"/lib/ld.so",
                                   true,
                                   {"libgomp.so.1", "libc.so.6"},
                                   {"GOMP_parallel", "omp_get_max_threads"},
                                   {"own"}}));
  ASSERT_TRUE(elf.ok()) << elf.message();
  EXPECT_EQ(elf.value().interpreter, "/lib/ld.so");
  EXPECT_TRUE(elf.value().is_program);
  EXPECT_THAT(elf.value().needed, ElementsAre("libgomp.so.1", "libc.so.6"));
  EXPECT_THAT(elf.value().undefined, UnorderedElementsAre("GOMP_parallel", "omp_get_max_threads"));
  EXPECT_THAT(elf.value().defined, UnorderedElementsAre("own"));
}

TEST_F(ElfFileTest, ReadsNoSymbolsUnlessRequested) {
  const std::string path = write_file(folder_ / "file", build_library({}, {"wanted"}, {"offered"}));
  const auto elf = read_elf_file(path, ElfSymbols::kNone);
  ASSERT_TRUE(elf.ok());
  EXPECT_TRUE(elf.value().undefined.empty());
  EXPECT_TRUE(elf.value().defined.empty());
}

TEST_F(ElfFileTest, FindsDefinedSymbols) {
  const std::string path = write_file(folder_ / "file", build_library({}, {"wanted"}, {"offered"}));
  EXPECT_TRUE(elf_defines(path, {"offered"}).value());
  EXPECT_FALSE(elf_defines(path, {"wanted"}).value());
  EXPECT_FALSE(elf_defines(path, {"other", "nothing"}).value());
  EXPECT_FALSE(elf_defines(write_file(folder_ / "text", "no"), {"offered"}).ok());
  // This test itself is not stripped, and offers its beginning to nobody.
  EXPECT_TRUE(elf_defines("/proc/self/exe", {"_start"}).value());
}

TEST_F(ElfFileTest, LibraryIsNoProgram) {
  const auto elf = read(build_library({"libm.so.6"}));
  ASSERT_TRUE(elf.ok());
  EXPECT_FALSE(elf.value().is_program);
  EXPECT_TRUE(elf.value().is_dynamic);
}

TEST_F(ElfFileTest, StaticProgramHasNoInterpreter) {
  const auto elf = read(build_elf({"", false, {}, {}, {}}));
  ASSERT_TRUE(elf.ok());
  EXPECT_FALSE(elf.value().is_dynamic);
  EXPECT_TRUE(elf.value().interpreter.empty());
  EXPECT_TRUE(elf.value().needed.empty());
}

TEST_F(ElfFileTest, RejectsNonElfAndForeignFiles) {
  EXPECT_EQ(refused(""), ErrorKind::kInvalid);
  EXPECT_EQ(refused("#!/bin/sh\n"), ErrorKind::kInvalid);
  EXPECT_EQ(refused(std::string(4096, '\xff')), ErrorKind::kInvalid);
  std::string narrow = build_library({});
  narrow[EI_CLASS] = ELFCLASS32;
  EXPECT_EQ(refused(narrow), ErrorKind::kInvalid);
  std::string foreign = build_library({});
  foreign[EI_DATA] = foreign[EI_DATA] == ELFDATA2LSB ? ELFDATA2MSB : ELFDATA2LSB;
  EXPECT_EQ(refused(foreign), ErrorKind::kInvalid);
}

TEST_F(ElfFileTest, CapsLibrariesAndDropsLongSymbols) {
  const std::string longest(100000, 'n');
  const auto elf = read(build_library(std::vector<std::string>(5000, "libm.so"), {longest, "f"}));
  ASSERT_TRUE(elf.ok());
  EXPECT_EQ(elf.value().needed.size(), 1024u);
  EXPECT_THAT(elf.value().undefined, UnorderedElementsAre("f"));
}

TEST_F(ElfFileTest, RejectsMissingFilesFoldersAndDevices) {
  EXPECT_EQ(read_elf_file(folder_ / "missing", ElfSymbols::kNone).error().kind,
            ErrorKind::kNotFound);
  EXPECT_EQ(read_elf_file(folder_.path(), ElfSymbols::kNone).error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(read_elf_file("/dev/null", ElfSymbols::kNone).error().kind, ErrorKind::kInvalid);
}

// A file cut off anywhere is refused or read as far as it goes; nothing behind its end is touched.
TEST(DamagedElfFile, TruncatedFileIsReadOrRejected) {
  MemoryFile file;
  const std::string whole = build_elf({"/lib/ld.so", true, {"liba.so"}, {"wanted"}, {"offered"}});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto elf = file.read(whole.substr(0, size));
    if (size < sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Phdr)) {
      EXPECT_FALSE(elf.ok()) << size;
    } else if (elf.ok()) {
      EXPECT_THAT(elf.value().needed, ElementsAre("liba.so")) << size;
    }
  }
}

// Every offset, size and count in turn points to nowhere.
TEST(DamagedElfFile, CorruptBytesKeepResultsBounded) {
  MemoryFile file;
  const std::string whole = build_elf({"/lib/ld.so", true, {"liba.so"}, {"wanted"}, {"offered"}});
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char lie : {'\xff', '\x80', '\0'}) {
      std::string bytes = whole;
      bytes[at] = lie;
      const auto elf = file.read(bytes);
      if (!elf.ok()) continue;
      EXPECT_FALSE(file.defines("nothing"));
      EXPECT_LE(elf.value().needed.size(), 5U) << at;
      EXPECT_LE(elf.value().undefined.size() + elf.value().defined.size(), 32U) << at;
    }
  }
}

TEST(FileHolds, FindsTextAnywhereInFile) {
  const TemporaryDirectory folder;
  const std::string path = write_file(
      folder / "script", "#!/bin/sh\n" + std::string(100000, 'x') + "the mark, and more");
  EXPECT_TRUE(file_holds(path, "the mark"));
  EXPECT_FALSE(file_holds(path, "another mark"));
  EXPECT_FALSE(file_holds(folder / "nowhere", "the mark"));
}

}  // namespace
}  // namespace optile::cli
