// What the shim sees of a program that is about to be started, and what it takes out of LD_PRELOAD.
#include <elf.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <utility>
#include <vector>

#include "bindings/cli/run/target_program.h"
#include "bindings/preload/children/command_file.h"
#include "bindings/preload/children/file_locks.h"
#include "bindings/preload/children/preload_variable.h"
#include "bindings/preload/children/program_file.h"
#include "tests/cli/fixtures/elf_builder.h"
#include "tests/cli/fixtures/files.h"
#include "tests/sanitized.h"

namespace optile::preload {
namespace {

using cli::build_elf;
using cli::ScopedVariable;
using cli::TemporaryDirectory;
using cli::write_file;
using testing::ElementsAre;

constexpr const char* kGlibc = "/lib64/ld-linux-x86-64.so.2";
constexpr const char* kMusl = "/lib/ld-musl-x86_64.so.1";
constexpr const char* kList = "/opt/liboptile_preload.so";

std::string program_with(std::vector<std::string> needed, const std::string& loader = kGlibc) {
  return build_elf({loader, true, std::move(needed), {}, {}});
}

// The begin of a 32-bit program: its header and one program header.
std::string program_of_32_bits(std::uint32_t part_type) {
  Elf32_Ehdr header = {};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS32;
  header.e_ident[EI_DATA] = static_cast<unsigned char>(build_elf({})[EI_DATA]);
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf32_Phdr);
  header.e_phnum = 1;
  Elf32_Phdr part = {};
  part.p_type = part_type;
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  return bytes.append(reinterpret_cast<const char*>(&part), sizeof part);
}

class ProgramFile : public testing::Test {
 protected:
  std::string file(const std::string& bytes, const std::string& name = "program") {
    return write_file(folder_ / name, bytes, 0755);
  }
  Bearing look(const std::string& bytes, bool first_is_taken = false) {
    const int fd = memfd_create("program", MFD_CLOEXEC);
    EXPECT_EQ(write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    const Bearing bearing = look_at_program(fd, first_is_taken, interpreter_);
    close(fd);
    return bearing;
  }
  std::string interpreter_of(const std::string& line) {
    return look(line) == Bearing::kScript ? interpreter_ : "none";
  }
  bool harmed(const std::string& path) { return is_harmed(AT_FDCWD, path.c_str(), 0, kList); }

  TemporaryDirectory folder_;
  char interpreter_[kInterpreterBytes] = "";
};

TEST_F(ProgramFile, OrdinaryAndStaticProgramsToleratePreload) {
  EXPECT_EQ(look(program_with({"libm.so.6", "libc.so.6"})), Bearing::kBears);
  EXPECT_EQ(look(program_with({})), Bearing::kBears);
  EXPECT_EQ(look(build_elf({"", false, {}, {}, {}})), Bearing::kBears);
  EXPECT_EQ(look(build_elf({"", true, {"libasan.so.8"}, {}, {}})), Bearing::kBears);
}

TEST_F(ProgramFile, AddressSanitizerProgramsDieUnderPreload) {
  for (const char* runtime :
       {"libasan.so.8", "libasan.so.5", "libclang_rt.asan-x86_64.so", "libclang_rt.asan.so"}) {
    EXPECT_EQ(look(program_with({runtime, "libc.so.6"})), Bearing::kDies) << runtime;
    EXPECT_EQ(look(program_with({"libc.so.6", runtime})), Bearing::kDies) << runtime;
  }
  for (const char* runtime : {"libtsan.so.2", "libubsan.so.1", "liblsan.so.0", "libasandbox.so",
                              "libclang_rt.tsan-x86_64.so"}) {
    EXPECT_EQ(look(program_with({runtime, "libc.so.6"})), Bearing::kBears) << runtime;
  }
}

TEST_F(ProgramFile, FindsSanitizerBehindManyLibraries) {
  std::vector<std::string> needed;
  for (int i = 0; i < 300; ++i) needed.push_back("libnumber" + std::to_string(i) + ".so");
  EXPECT_EQ(look(program_with(needed)), Bearing::kBears);
  needed.emplace_back("libasan.so.8");
  EXPECT_EQ(look(program_with(needed)), Bearing::kDies);
}

TEST_F(ProgramFile, MuslProgramsDieUnderPreload) {
  EXPECT_EQ(look(program_with({"libc.so"}, kMusl)), Bearing::kDies);
  EXPECT_EQ(look(program_with({}, "/nix/store/0123-musl-1.2.3/lib/ld.so")), Bearing::kDies);
}

TEST_F(ProgramFile, OnlyDynamicProgramsDieBesidePreloadedSanitizer) {
  EXPECT_EQ(look(program_with({}), true), Bearing::kDies);
  EXPECT_EQ(look(build_elf({"", false, {}, {}, {}}), true), Bearing::kBears);
}

TEST_F(ProgramFile, Dynamic32BitProgramsDieUnderPreload) {
  EXPECT_EQ(look(program_of_32_bits(PT_INTERP)), Bearing::kDies);
  EXPECT_EQ(look(program_of_32_bits(PT_LOAD)), Bearing::kBears);
}

TEST_F(ProgramFile, TruncatedOrForeignFilesAreLeftAlone) {
  const std::string whole = program_with({"libc.so.6", "libasan.so.8"});
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const Bearing bearing = look(whole.substr(0, length));
    // Only the end of the name is missing then.
    const bool named = whole.substr(0, length).find("libasan.so") != std::string::npos;
    EXPECT_TRUE(bearing == Bearing::kBears || named) << length;
  }
  std::string other_order = whole;
  other_order[EI_DATA] = other_order[EI_DATA] == ELFDATA2LSB ? ELFDATA2MSB : ELFDATA2LSB;
  EXPECT_EQ(look(other_order), Bearing::kBears);
  EXPECT_EQ(look("MZ and something else"), Bearing::kBears);
}

// Every byte of the headers, by turns, is a large number.
TEST_F(ProgramFile, SurvivesCorruptHeaders) {
  const std::string whole = program_with({"libc.so.6", "libasan.so.8"});
  for (std::size_t at = 4; at < whole.size(); ++at) {
    std::string spoilt = whole;
    spoilt[at] = '\xff';
    look(spoilt);
  }
}

TEST_F(ProgramFile, ReadsInterpreterOfScript) {
  EXPECT_EQ(interpreter_of("#!/bin/sh\n"), "/bin/sh");
  EXPECT_EQ(interpreter_of("#! \t/usr/bin/env -S python3 -u\n"), "/usr/bin/env");
  EXPECT_EQ(interpreter_of("#!/bin/sh"), "/bin/sh");
  for (const char* text : {"#!\n", "#!", "#"}) EXPECT_EQ(interpreter_of(text), "none") << text;
  EXPECT_EQ(interpreter_of("#!/" + std::string(250, 'x') + "\n"), "/" + std::string(250, 'x'));
}

TEST_F(ProgramFile, FollowsScriptsToTheirInterpreter) {
  const std::string sanitized = file(program_with({"libasan.so.8"}), "sanitized");
  const std::string first = file("#!" + sanitized + " -e\n", "first");
  const std::string second = file("#! " + first + "\n", "second");
  EXPECT_TRUE(harmed(sanitized));
  EXPECT_TRUE(harmed(first));
  EXPECT_TRUE(harmed(second));
  EXPECT_FALSE(harmed(file("#!/bin/sh\nexec " + sanitized + "\n", "script")));
  EXPECT_FALSE(harmed(file("#!" + folder_ / "round\n", "round")));
}

TEST_F(ProgramFile, IgnoresSpecialMissingAndSetIdFiles) {
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0755), 0);
  EXPECT_FALSE(harmed(pipe));
  EXPECT_FALSE(harmed(folder_.path()));
  EXPECT_FALSE(harmed(folder_ / "missing"));
  EXPECT_FALSE(harmed(""));
  // The dynamic linker ignores the list there.
  const std::string set_id = file(program_with({"libasan.so.8"}), "set-id");
  ASSERT_EQ(chmod(set_id.c_str(), 04755), 0);
  EXPECT_FALSE(harmed(set_id));
}

// How far down a look at `tool` went, on a stack that nobody has been on.
struct Stack {
  static constexpr size_t kBytes = size_t{256} * 1024;
  static constexpr char kUntouched = 0x5a;
  std::vector<char> bytes = std::vector<char>(kBytes, kUntouched);
  bool harmed = false;
  size_t used = 0;
};

void* look_on_own_stack(void* of_test) {
  auto* stack = static_cast<Stack*>(of_test);
  const char here = 0;
  stack->harmed = is_harmed_in_path("tool", kList);
  const char* const bottom = stack->bytes.data();
  const char* touched = bottom;
  while (*touched == Stack::kUntouched) ++touched;
  stack->used = static_cast<size_t>(&here - touched);
  return nullptr;
}

// Who reports a crash starts a program from a signal's stack of 8 KiB, of which the signal has its
// part and the C library's own search, too.
// fault: F47
TEST_F(ProgramFile, NeedsAtMostFourKibibytesOfStack) {
  if (test::kSanitized) GTEST_SKIP() << "a sanitizer's frames are larger";
  file(program_with({"libm.so.6", "libasan.so.8"}), "b/tool");
  const ScopedVariable path("PATH", "/usr/local/bin:/usr/bin:" + folder_ / "b");
  // The linker's part at first calls is this program's: the shim's are bound when it is loaded.
  EXPECT_TRUE(is_harmed_in_path("tool", kList));
  Stack stack;
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstack(&attributes, stack.bytes.data(), Stack::kBytes), 0);
  pthread_t thread = {};
  ASSERT_EQ(pthread_create(&thread, &attributes, look_on_own_stack, &stack), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
  EXPECT_TRUE(stack.harmed);
  EXPECT_LE(stack.used, 4096U);
}

// A file, and locks on it of this process.
class FileLocks : public ProgramFile {
 protected:
  FileLocks() {
    path_ = file(program_with({"libasan.so.8"}));
    fd_ = open(path_.c_str(), O_RDWR | O_CLOEXEC);
    EXPECT_EQ(fstat(fd_, &what_), 0);
  }
  ~FileLocks() override { close(fd_); }

  static int lock(int fd, int type, int command = F_SETLK, off_t begin = 0, off_t length = 0) {
    struct flock range = {};
    range.l_type = static_cast<short>(type);
    range.l_start = begin;
    range.l_len = length;
    return fcntl(fd, command, &range);
  }
  bool holds() const { return holds_posix_lock(what_.st_dev, what_.st_ino); }
  // What a child of this process says.
  template <typename Says>
  static bool in_child(Says says) {
    const pid_t child = fork();
    if (child == 0) _exit(says() ? 0 : 1);
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status == 0;
  }

  std::string path_;
  int fd_ = -1;
  struct stat what_ = {};
};

TEST_F(FileLocks, ReportsOnlyPosixLocksOfFile) {
  EXPECT_FALSE(holds());
  ASSERT_EQ(flock(fd_, LOCK_EX), 0);
  EXPECT_FALSE(holds()) << "of the open file";
  ASSERT_EQ(flock(fd_, LOCK_UN), 0);
  ASSERT_EQ(lock(fd_, F_WRLCK, F_OFD_SETLK), 0);
  EXPECT_FALSE(holds()) << "of the open file, too";
  ASSERT_EQ(lock(fd_, F_UNLCK, F_OFD_SETLK), 0);
  for (const int type : {F_WRLCK, F_RDLCK}) {
    ASSERT_EQ(lock(fd_, type, F_SETLK, 100, 1), 0);
    EXPECT_TRUE(holds());
    EXPECT_FALSE(holds_posix_lock(what_.st_dev, what_.st_ino + 1));
    EXPECT_FALSE(holds_posix_lock(what_.st_dev + 1, what_.st_ino)) << "another file system's";
    ASSERT_EQ(lock(fd_, F_UNLCK), 0);
    EXPECT_FALSE(holds());
  }
}

// fault: F47
TEST_F(FileLocks, ReportsOnlyLocksOfThisProcess) {
  ASSERT_EQ(lock(fd_, F_RDLCK), 0);
  EXPECT_TRUE(holds());
  EXPECT_FALSE(in_child([this] { return holds(); })) << "it does not inherit it";
  EXPECT_TRUE(in_child([this] { return lock(fd_, F_RDLCK) == 0 && holds(); })) << "its own";
  EXPECT_TRUE(in_child([this] { return harmed(path_); })) << "so it may look at the file";
}

TEST_F(FileLocks, FindsLockAmongManyDescriptorsAndRanges) {
  std::vector<int> others;
  for (int i = 0; i < 300; ++i) others.push_back(dup(STDERR_FILENO));
  const int late = fcntl(fd_, F_DUPFD_CLOEXEC, others.back() + 1);
  close(std::exchange(fd_, late));
  for (int i = 0; i < 200; ++i) ASSERT_EQ(lock(fd_, F_RDLCK, F_OFD_SETLK, 10 * i, 1), 0);
  EXPECT_FALSE(holds());
  ASSERT_EQ(lock(fd_, F_RDLCK, F_SETLK, 5000, 1), 0);
  EXPECT_TRUE(holds());
  for (const int other : others) close(other);
}

// To close any descriptor of a file drops this process's locks on it.
// fault: F47
TEST_F(FileLocks, KeepsLockByLeavingFileUnopened) {
  EXPECT_TRUE(harmed(path_));
  ASSERT_EQ(lock(fd_, F_WRLCK), 0);
  EXPECT_FALSE(harmed(path_)) << "not looked at";
  EXPECT_TRUE(in_child([this] {
    struct flock whole = {};
    whole.l_type = F_WRLCK;
    return fcntl(fd_, F_GETLK, &whole) == 0 && whole.l_type == F_WRLCK;
  })) << "the lock was dropped";
  ASSERT_EQ(lock(fd_, F_UNLCK), 0);
  EXPECT_TRUE(harmed(path_));
}

TEST_F(ProgramFile, FindsProgramByDirectoryLinkOrDescriptor) {
  const std::string sanitized = file(program_with({"libasan.so.8"}), "sanitized");
  ASSERT_EQ(symlink("sanitized", (folder_ / "link").c_str()), 0);
  const int folder = open(folder_.path().c_str(), O_PATH | O_CLOEXEC);
  EXPECT_TRUE(is_harmed(folder, "link", 0, kList));
  EXPECT_FALSE(is_harmed(folder, "link", AT_SYMLINK_NOFOLLOW, kList));
  const int itself = open(sanitized.c_str(), O_PATH | O_CLOEXEC);
  EXPECT_TRUE(is_harmed_descriptor(itself, kList));
  close(itself);
  EXPECT_FALSE(is_harmed_descriptor(itself, kList));
  EXPECT_FALSE(is_harmed_descriptor(-1, kList));
  close(folder);
}

TEST_F(ProgramFile, SearchesPathAsExecvpDoes) {
  write_file(folder_ / "a/tool", program_with({}), 0644);  // cannot be executed
  file(program_with({"libasan.so.8"}), "b/tool");
  file(program_with({}), "c/tool");
  std::filesystem::create_directories(folder_ / "d/tool");
  const auto harmed_in = [&](const std::string& folders) {
    const ScopedVariable path("PATH", folders);
    return is_harmed_in_path("tool", kList);
  };
  const std::string behind = ":" + folder_ / "b";
  EXPECT_TRUE(harmed_in(folder_ / "missing" + behind));
  EXPECT_TRUE(harmed_in(folder_ / "a" + behind));
  EXPECT_TRUE(harmed_in(folder_ / "d" + behind));
  EXPECT_TRUE(harmed_in("/" + std::string(5000, 'x') + behind));
  EXPECT_FALSE(harmed_in(folder_ / "c" + behind));
  EXPECT_FALSE(harmed_in(folder_ / "a"));
  EXPECT_FALSE(is_harmed_in_path("", kList));
  EXPECT_FALSE(is_harmed_in_path(std::string(300, 'x').c_str(), kList));
  EXPECT_TRUE(is_harmed_in_path((folder_ / "b/tool").c_str(), kList));
}

TEST_F(ProgramFile, EmptyPathEntryMeansCurrentDirectory) {
  file(program_with({"libasan.so.8"}), "tool");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  for (const char* folders : {"", ":/bin", "/bin:", "/bin::/usr/bin", "."}) {
    const ScopedVariable path("PATH", folders);
    EXPECT_TRUE(is_harmed_in_path("tool", kList)) << folders;
  }
  std::filesystem::current_path(before);
}

// One rule, in two readers: whom the launcher would start without us for what is in the file.
// fault: F47
TEST_F(ProgramFile, AgreesWithLauncher) {
  for (const std::string& bytes :
       {program_with({"libc.so.6"}), program_with({"libasan.so.8"}), program_with({"libtsan.so.2"}),
        program_with({"libm.so.6", "libclang_rt.asan-x86_64.so"}), program_with({}, kMusl),
        program_of_32_bits(PT_INTERP)}) {
    const auto target = cli::look_at_program({file(bytes)});
    ASSERT_TRUE(target.ok());
    EXPECT_EQ(!target.value().unseen.empty(), harmed(folder_ / "program")) << target.value().unseen;
  }
}

std::string without_us(const char* list, const char* companion = "") {
  char rest[kMaxPreloadBytes];
  put_without_shim(rest, list, companion);
  return rest;
}

// fault: F47
TEST(PreloadVariable, RemovesShimAndKeepsOrderOfOthers) {
  EXPECT_EQ(without_us("/opt/liboptile_preload.so"), "");
  EXPECT_EQ(without_us("liboptile_preload.so"), "");
  EXPECT_EQ(without_us("/opt/liboptile_preload.so:liba.so:libb.so"), "liba.so:libb.so");
  EXPECT_EQ(without_us("liba.so:/opt/liboptile_preload.so:libb.so"), "liba.so:libb.so");
  EXPECT_EQ(without_us("liba.so libb.so:/opt/liboptile_preload.so"), "liba.so libb.so");
  EXPECT_EQ(without_us(" liba.so /opt/liboptile_preload.so libb.so "), "liba.so libb.so");
  EXPECT_EQ(without_us("a/liboptile_preload.so:x:b/liboptile_preload.so:y"), "x:y");
  EXPECT_EQ(without_us("/opt/liboptile_preload.so.old:notliboptile_preload.so"),
            "/opt/liboptile_preload.so.old:notliboptile_preload.so");
  EXPECT_EQ(without_us("/liboptile_preload.so/liba.so"), "/liboptile_preload.so/liba.so");
}

TEST(PreloadVariable, RemovesOnlyLaunchersRuntimeWithShim) {
  constexpr const char* kOmp = "/usr/lib/libomp.so.5";
  EXPECT_EQ(without_us("/opt/liboptile_preload.so:/usr/lib/libomp.so.5:liba.so", kOmp), "liba.so");
  EXPECT_EQ(without_us("/opt/liboptile_preload.so:/usr/lib/libomp.so.5:liba.so"),
            "/usr/lib/libomp.so.5:liba.so");
  EXPECT_EQ(without_us("/opt/liboptile_preload.so:/usr/lib/libomp.so.5:liba.so", "libomp.so.5"),
            "liba.so");
  // The user's.
  EXPECT_EQ(without_us("/opt/liboptile_preload.so:/usr/lib/libomp.so.5:/usr/lib/libomp.so.5", kOmp),
            "/usr/lib/libomp.so.5");
  EXPECT_EQ(without_us("/opt/liboptile_preload.so:liba.so:/usr/lib/libomp.so.5", kOmp),
            "liba.so:/usr/lib/libomp.so.5");
}

TEST(PreloadVariable, FindsSoleVariableNamingShim) {
  char first[] = "HOME=/root";
  char preload[] = "LD_PRELOAD=/opt/liboptile_preload.so:liba.so";
  char other[] = "LD_PRELOAD=liba.so";
  char longer[] = "LD_PRELOADED=/opt/liboptile_preload.so";
  const auto found = [](std::vector<char*> variables) {
    variables.push_back(nullptr);
    PreloadVariable place;
    return find_shim_in(variables.data(), &place) ? static_cast<int>(place.at) : -1;
  };
  EXPECT_EQ(found({first, preload}), 1);
  EXPECT_EQ(found({preload}), 0);
  EXPECT_EQ(found({}), -1);
  EXPECT_EQ(found({first, other, longer}), -1);
  EXPECT_EQ(found({preload, other}), -1);  // which of them counts is the linker's affair
  EXPECT_EQ(found(std::vector<char*>(kMaxVariables, first)), -1);
  std::vector<char*> many(kMaxVariables - 1, first);
  many.push_back(preload);
  EXPECT_EQ(found(many), static_cast<int>(kMaxVariables) - 1);
  std::string large = preload + std::string(":") + std::string(kMaxPreloadBytes, 'x');
  EXPECT_EQ(found({large.data()}), -1);
  PreloadVariable none;
  EXPECT_FALSE(find_shim_in(nullptr, &none));
}

TEST(PreloadVariable, ReplacesOnlyItselfInEnvironment) {
  char first[] = "HOME=/root";
  char preload[] = "LD_PRELOAD=/opt/liboptile_preload.so:liba.so";
  char last[] = "LAST=";
  char changed[] = "LD_PRELOAD=liba.so";
  char* before[] = {first, preload, last, nullptr};
  PreloadVariable found;
  ASSERT_TRUE(find_shim_in(before, &found));
  EXPECT_STREQ(found.list, "/opt/liboptile_preload.so:liba.so");
  char* after[4] = {};
  put_environment(after, before, found, changed, false);
  EXPECT_THAT(after, ElementsAre(first, changed, last, nullptr));
  put_environment(after, before, found, changed, true);
  EXPECT_THAT(std::vector<char*>(after, after + 3), ElementsAre(first, last, nullptr));
}

TEST(PreloadVariable, DetectsSanitizerBehindShim) {
  EXPECT_TRUE(takes_the_first_place("/opt/liboptile_preload.so:/usr/lib/libasan.so.8"));
  EXPECT_TRUE(takes_the_first_place("/opt/liboptile_preload.so liba.so libclang_rt.asan.so"));
  EXPECT_FALSE(takes_the_first_place("libasan.so.8:/opt/liboptile_preload.so"));
  EXPECT_FALSE(takes_the_first_place("/opt/liboptile_preload.so:/libasan.so/liba.so"));
  EXPECT_FALSE(takes_the_first_place("libasan.so"));
}

}  // namespace
}  // namespace optile::preload
