#include "bindings/cli/run/wrapper_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bindings/cli/run/target_program.h"
#include "bindings/cli/run/version_manager.h"
#include "tests/cli/fixtures/elf_builder.h"
#include "tests/cli/fixtures/files.h"

namespace optile::cli {
namespace {

using testing::HasSubstr;

class WrapperScriptTest : public testing::Test {
 protected:
  std::string program(const std::string& name) {
    return write_file(folder_ / name, build_elf({}), 0755);
  }
  std::string script(const std::string& name, const std::string& lines) {
    return write_file(folder_ / name, "#!/bin/sh\n" + lines, 0755);
  }
  std::string behind(const std::string& lines) {
    return program_behind(script("wrapper", lines)).path;
  }

  // As `pyenv rehash` writes them.
  std::string pyenv_shim(const std::string& name) {
    return script("root/shims/" + name,
                  "set -e\n[ -n \"$PYENV_DEBUG\" ] && set -x\n\nprogram=\"${0##*/}\"\n\n"
                  "export PYENV_ROOT=\"" +
                      (folder_ / "root") + "\"\nexec \"" + (folder_ / "root/libexec/pyenv") +
                      "\" exec \"$program\" \"$@\"\n");
  }

  // As `asdf reshim` writes them.
  std::string asdf_shim(const std::string& name) {
    return write_file(folder_ / "asdf/shims/" + name,
                      "#!/usr/bin/env bash\n# asdf-plugin: python 3.9.7\n"
                      "# asdf-plugin: python 3.11.2\nexec " +
                          (folder_ / "bin/asdf") + " exec \"" + name +
                          "\" \"$@\" # asdf_allow: ' asdf '\n",
                      0755);
  }

  TemporaryDirectory folder_;
};

TEST_F(WrapperScriptTest, FollowsExecWithAllArguments) {
  const std::string real = program("real program");
  EXPECT_EQ(behind("# exec /bin/false \"$@\"\nexport A=1\nexec \"" + real + "\" \"$@\"\n"), real);
  EXPECT_EQ(behind("exec '" + real + "' -u \"$@\""), real);
  EXPECT_EQ(behind("exec 2>/dev/null\nexec \"" + real + "\" \"$@\"\n\n  # the end\n"), real);
}

TEST_F(WrapperScriptTest, IgnoresAmbiguousScripts) {
  const std::string real = program("real");
  EXPECT_EQ(behind("echo ready\n"), "");
  EXPECT_EQ(behind("exec " + real + "\n"), "") << "other arguments";
  EXPECT_EQ(behind("exec real \"$@\"\n"), "") << "by PATH, which the script may have changed";
  EXPECT_EQ(behind("exec $HOME/real \"$@\"\n"), "");
  EXPECT_EQ(behind("exec /no/such/file \"$@\"\n"), "");
  EXPECT_EQ(behind("exec " + real + " \"$@\"\nexec " + real + " \"$@\"\n"), "");
  EXPECT_EQ(behind("test -n \"$A\" && exec " + real + " \"$@\"\nexec /bin/sh \"$@\"\n"), "");
  EXPECT_EQ(behind("if test -n \"$A\"; then\n  exec " + real + " \"$@\"\nfi\n/bin/cat \"$@\"\n"),
            "");
  EXPECT_EQ(behind("exec \"" + real + " $@\n"), "") << "an open quote";
  EXPECT_EQ(behind(std::string(20000, '#') + "\nexec " + real + " \"$@\"\n"), "");
  EXPECT_EQ(program_behind(folder_ / "nothing").path, "");
}

TEST_F(WrapperScriptTest, FollowsPyenvVersion) {
  const ScopedVariable version("PYENV_VERSION", "");
  const std::string old = program("root/versions/3.9.7/bin/python");
  const std::string recent = program("root/versions/3.11.2/bin/python");
  const std::string shim = pyenv_shim("python");
  write_file(folder_ / "root/version", "# mine\n3.9.7\n");
  EXPECT_EQ(program_behind(shim).path, old);
  write_file(folder_ / "root/version", "3\n");
  EXPECT_EQ(program_behind(shim).path, recent) << "the latest of them, by numbers";
  const ScopedVariable said("PYENV_VERSION", "4.0:3.9.7");
  EXPECT_EQ(program_behind(shim).path, old) << "the first that is there";
  EXPECT_EQ(program_behind(pyenv_shim("pip")).path, "") << "none has it";
}

TEST_F(WrapperScriptTest, PyenvSystemVersionSkipsShims) {
  const ScopedVariable version("PYENV_VERSION", "system");
  const std::string shim = pyenv_shim("python");
  const std::string real = program("bin/python");
  const ScopedVariable path("PATH", (folder_ / "root/shims") + ":" + (folder_ / "bin"));
  EXPECT_EQ(program_behind(shim).path, real);
}

TEST_F(WrapperScriptTest, FollowsAsdfVersion) {
  const ScopedVariable nothing_said("ASDF_PYTHON_VERSION", "");
  const ScopedVariable home("HOME", folder_ / "home");
  const std::string old = program("asdf/installs/python/3.9.7/bin/python3");
  const std::string recent = program("asdf/installs/python/3.11.2/bin/python3");
  const std::string shim = asdf_shim("python3");
  EXPECT_EQ(program_behind(shim).path, "") << "asdf itself would refuse";
  write_file(folder_ / "home/.tool-versions", "nodejs 20.1.0\npython 4.0 3.9.7 # mine\n");
  EXPECT_EQ(program_behind(shim).path, old) << "the first that is there";
  const ScopedVariable said("ASDF_PYTHON_VERSION", "3.11.2");
  EXPECT_EQ(program_behind(shim).path, recent);
  const ScopedVariable elsewhere("ASDF_PYTHON_VERSION",
                                 "path:" + (folder_ / "asdf/installs/python/3.9.7"));
  EXPECT_EQ(program_behind(shim).path, old);
  const ScopedVariable up("ASDF_PYTHON_VERSION", "../python/3.9.7");
  EXPECT_EQ(program_behind(shim).path, "");
}

TEST_F(WrapperScriptTest, AsdfSystemVersionSkipsShims) {
  const ScopedVariable version("ASDF_PYTHON_VERSION", "system");
  const std::string shim = asdf_shim("python3");
  const std::string real = program("bin/python3");
  const ScopedVariable path("PATH", (folder_ / "asdf/shims") + ":" + (folder_ / "bin"));
  EXPECT_EQ(program_behind(shim).path, real);
}

// Its shims are links to itself, which chooses by the name that it is called by.
TEST_F(WrapperScriptTest, FollowsMiseShims) {
  const std::string real = program("mise/installs/python/3.11.2/bin/python3");
  const std::string mise =
      script("bin/mise",
             "echo 'mise WARN a newer version is there' >&2\n"
             "test \"$1 $2\" = 'which python3' && test -z \"$LD_PRELOAD\" || exit 1\n"
             "cat '" +
                 (folder_ / "answer") + "'\n");
  std::filesystem::create_directory(folder_ / "shims");
  for (const char* name : {"python3", "node", "mise"}) {
    std::filesystem::create_symlink(mise, folder_ / (std::string("shims/") + name));
  }
  write_file(folder_ / "answer", real + "\n");
  EXPECT_EQ(behind_mise(folder_ / "shims/python3"), real);
  EXPECT_EQ(behind_mise(folder_ / "shims/node"), "") << "mise has none";
  EXPECT_EQ(behind_mise(folder_ / "shims/mise"), "") << "is itself";
  EXPECT_EQ(behind_mise(real), "") << "no shim";
  const auto target = look_at_program({folder_ / "shims/python3", "-u", "train.py"});
  ASSERT_TRUE(target.ok()) << target.message();
  EXPECT_EQ(target.value().path, folder_ / "shims/python3");
  EXPECT_EQ(target.value().executable, real);
  EXPECT_EQ(target.value().script, "train.py") << "as the shim will tell it";
  for (const std::string& answer : {folder_ / "nothing", mise, std::string("python3")}) {
    write_file(folder_ / "answer", answer + "\n");
    EXPECT_EQ(behind_mise(folder_ / "shims/python3"), "") << answer;
  }
}

TEST_F(WrapperScriptTest, TargetIsProgramBehindWrapper) {
  const std::string real = program("versions/bin/python3");
  const std::string python = script("python", "exec " + real + " \"$@\"\n");
  const auto target = look_at_program({python, "-u", "train.py"});
  ASSERT_TRUE(target.ok()) << target.message();
  EXPECT_EQ(target.value().path, python);
  EXPECT_EQ(target.value().executable, real);
  EXPECT_EQ(target.value().script, "train.py") << "as the shim will tell it";
  EXPECT_EQ(target.value().unseen, "");
}

TEST_F(WrapperScriptTest, WrapperArgumentsPrecedeUserArguments) {
  const std::string real = program("bin/python3");
  const auto script_of = [&](const std::string& words) {
    const auto target =
        look_at_program({script("tool", "exec " + real + " " + words + " \"$@\"\n"), "data.txt"});
    return target.ok() ? target.value().script : target.message();
  };
  EXPECT_EQ(script_of("-u /opt/tool/main.py"), "/opt/tool/main.py");
  EXPECT_EQ(script_of("-m tool"), "tool");
  EXPECT_EQ(script_of("-u"), "data.txt");
}

// The preload would reach it through the shell.
TEST_F(WrapperScriptTest, DetectsAddressSanitizerBehindWrapper) {
  const std::string real =
      write_file(folder_ / "real", build_elf({"/lib/ld.so", true, {"libasan.so.8"}, {}, {}}), 0755);
  const auto target = look_at_program({script("wrapper", "exec " + real + " \"$@\"\n")});
  ASSERT_TRUE(target.ok());
  EXPECT_THAT(target.value().unseen, HasSubstr("AddressSanitizer"));
}

TEST_F(WrapperScriptTest, SelfWrappingScriptTerminates) {
  const std::string loop = folder_ / "loop";
  script("loop", "exec " + loop + " \"$@\"\n");
  EXPECT_TRUE(look_at_program({loop}).ok());
}

}  // namespace
}  // namespace optile::cli
