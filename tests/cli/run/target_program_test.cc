#include "bindings/cli/run/target_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/fixtures/elf_builder.h"
#include "tests/cli/fixtures/files.h"

namespace optile::cli {
namespace {

namespace fs = std::filesystem;
using base::ErrorKind;
using testing::HasSubstr;
using Command = std::vector<std::string>;

class TargetProgramTest : public testing::Test {
 protected:
  std::string program(const std::string& name, const std::string& bytes, mode_t mode = 0755) {
    return write_file(folder_ / name, bytes, mode);
  }
  std::string dynamic(const std::string& name, mode_t mode = 0755) {
    return program(name, build_elf({}), mode);
  }
  TargetProgram look(const Command& command) {
    const auto target = look_at_program(command);
    EXPECT_TRUE(target.ok()) << target.message();
    return target.ok() ? target.value() : TargetProgram();
  }
  ErrorKind refused(const std::string& name) {
    const auto target = look_at_program({name});
    EXPECT_FALSE(target.ok());
    EXPECT_THAT(target.message(), HasSubstr("cannot run " + name));
    return target.error().kind;
  }

  TemporaryDirectory folder_;
};

TEST_F(TargetProgramTest, AcceptsDynamicProgram) {
  const TargetProgram target = look({"/bin/true"});
  EXPECT_EQ(target.path, "/bin/true");
  EXPECT_EQ(target.executable, "/bin/true");
  EXPECT_EQ(target.unseen, "");
}

TEST_F(TargetProgramTest, ResolvesBareNameThroughPath) {
  dynamic("a/tool", 0644);  // not executable: passed over, as by a shell
  const std::string found = dynamic("b/tool");
  fs::create_directories(folder_ / "c/tool");
  const ScopedVariable path("PATH",
                            (folder_ / "c") + ":" + (folder_ / "a") + ":" + (folder_ / "b"));
  EXPECT_EQ(look({"tool"}).path, found);
}

TEST_F(TargetProgramTest, RejectsPreloadedAddressSanitizer) {
  for (const char* list : {"/usr/lib/libasan.so.8", "libm.so.6:libasan.so.8", "a.so libasan.so"}) {
    const ScopedVariable preload("LD_PRELOAD", list);
    EXPECT_THAT(look({"/bin/true"}).unseen, HasSubstr("must be the first library of all")) << list;
  }
  const ScopedVariable preload("LD_PRELOAD", "libm.so.6:/libasan.so.8/libtsan.so.2");
  EXPECT_EQ(look({"/bin/true"}).unseen, "");
}

TEST_F(TargetProgramTest, RejectsMissingAndNonExecutablePrograms) {
  const ScopedVariable path("PATH", folder_.path());
  EXPECT_EQ(refused("no-such-program"), ErrorKind::kNotFound);
  EXPECT_EQ(refused(folder_ / "missing"), ErrorKind::kNotFound);
  EXPECT_EQ(refused(""), ErrorKind::kNotFound);
  EXPECT_EQ(refused(folder_.path()), ErrorKind::kDenied);
  EXPECT_EQ(refused(dynamic("plain", 0644)), ErrorKind::kDenied);
  EXPECT_EQ(refused("plain"), ErrorKind::kDenied);
}

TEST_F(TargetProgramTest, ResolvesScriptInterpreter) {
  const std::string interpreter = dynamic("interpreter");
  const std::string script = program("script", "#!" + interpreter + " -u\nprint(1)\n");
  const TargetProgram target = look({script, "argument"});
  EXPECT_EQ(target.path, script);
  EXPECT_EQ(target.executable, interpreter);
  EXPECT_EQ(target.script, script);
  EXPECT_EQ(target.unseen, "");
}

TEST_F(TargetProgramTest, ResolvesEnvInterpreterThroughPath) {
  const std::string interpreter = dynamic("python3");
  const ScopedVariable path("PATH", folder_.path());
  for (const char* line : {"#!/usr/bin/env python3\n", "#! /usr/bin/env -S python3 -u\n",
                           "#!/usr/bin/env -S A=1 python3\n"}) {
    const std::string script = program("script", line);
    EXPECT_EQ(look({script}).executable, interpreter) << line;
  }
  // Whose program cannot be found: execvp will say so.
  EXPECT_EQ(look({program("script", "#!/usr/bin/env perl6\n")}).executable, folder_ / "script");
}

TEST_F(TargetProgramTest, SelfInterpretingScriptTerminates) {
  const std::string script = folder_ / "loop";
  program("loop", "#!" + script + "\n");
  EXPECT_THAT(look({script}).unseen, HasSubstr("not a 64-bit ELF program"));
}

TEST_F(TargetProgramTest, RejectsSetuidStaticAndNonElfPrograms) {
  EXPECT_THAT(look({dynamic("setuid", 04755)}).unseen, HasSubstr("setuid"));
  EXPECT_THAT(look({dynamic("setgid", 02755)}).unseen, HasSubstr("setgid"));
  EXPECT_THAT(look({program("static", build_elf({"", false, {}, {}, {}}))}).unseen,
              HasSubstr("statically"));
  EXPECT_THAT(look({program("static-pie", build_elf({"", true, {}, {}, {}}))}).unseen,
              HasSubstr("statically"));
  EXPECT_THAT(look({program("text", "echo no first line\n")}).unseen, HasSubstr("ELF"));
}

TEST_F(TargetProgramTest, RejectsMuslAndAddressSanitizerPrograms) {
  EXPECT_THAT(
      look({program("musl", build_elf({"/lib/ld-musl-x86_64.so.1", true, {}, {}, {}}))}).unseen,
      HasSubstr("musl"));
  for (const char* runtime : {"libasan.so.8", "libclang_rt.asan-x86_64.so"}) {
    EXPECT_THAT(look({program("asan", build_elf({"/lib/ld.so", true, {runtime}, {}, {}}))}).unseen,
                HasSubstr("AddressSanitizer"));
  }
}

TEST_F(TargetProgramTest, StaticOpenmpRuntimeHidesRegions) {
  const auto hidden = [&](std::vector<std::string> needed, std::vector<std::string> defined) {
    return look({program(
                    "p",
                    build_elf({"/lib/ld.so", true, std::move(needed), {}, std::move(defined)}))})
        .hidden_regions;
  };
  EXPECT_THAT(hidden({"libc.so.6"}, {"GOMP_parallel"}), HasSubstr("statically"));
  EXPECT_THAT(hidden({"libc.so.6"}, {"__kmpc_fork_call"}), HasSubstr("statically"));
  EXPECT_EQ(hidden({"libc.so.6"}, {"main"}), "");
  EXPECT_EQ(hidden({"libgomp.so.1"}, {"GOMP_parallel"}), "");  // a tool like ours
  EXPECT_EQ(look({"/bin/true"}).hidden_regions, "");
}

TEST_F(TargetProgramTest, RejectsScriptsOfSetuidInterpreter) {
  const std::string script = program("script", "#!" + dynamic("interpreter", 04755) + "\n");
  EXPECT_THAT(look({script}).unseen, HasSubstr("setuid"));
}

// The store's key has to be what the program will tell of itself (/proc/self/exe and its words).
TEST_F(TargetProgramTest, IdentifiesProgramByScriptOrExecutable) {
  const std::string python = dynamic("python3.11");
  fs::create_symlink(python, folder_ / "python3");
  const std::string link = folder_ / "python3";
  EXPECT_EQ(look({link, "-u", "train.py", "other.py"}).script, "train.py");
  EXPECT_EQ(look({link, "-m", "package.train", "x"}).script, "package.train");
  EXPECT_EQ(look({link, "-c", "print(1)"}).script, fs::canonical(python));
  EXPECT_EQ(look({link}).script, fs::canonical(python));
  const std::string tool = dynamic("tool-1");
  fs::create_symlink(tool, folder_ / "tool");
  EXPECT_EQ(look({folder_ / "tool", "input"}).script, fs::canonical(tool));
}

}  // namespace
}  // namespace optile::cli
