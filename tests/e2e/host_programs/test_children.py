"""What a program under optile starts. Programs that would not survive a library preloaded before
everything else (AddressSanitizer's, musl's) run as if nobody had been there; all others keep the
shim. Whatever the way of starting them, arguments, environment, errors and exit codes stay."""
import os
import re
import shutil
import unittest

from support import harness
from support.harness import PRELOAD, PROGRAMS, PYTHON

STARTS = PROGRAMS / "starts"
PLAIN = PROGRAMS / "started"
SANITIZED = PROGRAMS / "sanitized_started"
MUSL = PROGRAMS / "musl_started"
HARMED = [SANITIZED] + ([MUSL] if MUSL.exists() else [])

WAYS = ("execv", "execve", "execvp", "execvpe", "execl", "execl0", "execlp", "execle", "fexecve",
        "fexecve_path", "execveat", "execveat_link", "execveat_empty", "posix_spawn",
        "posix_spawnp", "vfork", "vfork_small_stack", "system", "popen")
# A descriptor that is closed on exec takes the script away from its interpreter.
WAYS_OF_SCRIPTS = [way for way in WAYS if "fexecve" not in way and "empty" not in way]

BY_SUBPROCESS = """
import subprocess, sys
for close in (True, False):
    for how in ([sys.argv[1]], [sys.argv[2]]):
        print(subprocess.run(how, close_fds=close, capture_output=True, text=True), flush=True)
print(subprocess.run(sys.argv[1], shell=True, capture_output=True, text=True), flush=True)
"""

BY_SPAWN = """
import os, sys
for spawn in (os.posix_spawn, os.posix_spawnp):
    child = spawn(sys.argv[1], [sys.argv[1]], os.environ)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
for fork in (os.fork, ):
    child = fork()
    if child == 0:
        os.execl(sys.argv[1], sys.argv[1])
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""

MAKEFILE = """
all: first second third
first:
\t@{program}
second:
\t@{program} | cat && true
third:
\t+@$(MAKE) --no-print-directory -f {itself} fourth
fourth:
\t@env {program}
"""


class ChildrenTest(harness.EndToEndTest):
    def assert_as_untouched(self, command, env=None, options=()):
        untouched = self.space.untouched(command, env)
        preload = {"LD_PRELOAD": str(PRELOAD), "OPTILE_SOCKET": str(self.space.socket)}
        for got in (self.space.run(command, {**preload, **(env or {})}),
                    self.space.launched(command, *options, env=env)):
            self.assert_same_run(untouched, got)
            self.assertEqual(untouched.stderr, got.stderr)
        return untouched

    def script(self, name, text):
        path = self.space.dir / name
        path.write_text(text)
        path.chmod(0o700)
        return path


class PreloadIncompatibleChildren(ChildrenTest):
    """By the programs that people start others with."""

    def assert_all_run(self, command, count=1, env=None):
        untouched = self.assert_as_untouched(command, env)
        self.assertEqual(0, untouched.code, untouched)
        self.assertEqual(count, untouched.stdout.count("LD_PRELOAD (none)"), untouched)

    def test_run_untouched_from_shell(self):  # fault: F47
        for child in HARMED:
            self.assert_all_run(["sh", "-c", child])
            self.assert_all_run(["sh", "-c", f"{child}; {child} | cat; (exec {child})"], 3)
            self.assert_all_run(["bash", "-c", f"env {child}; nice {child}; echo | xargs {child}"],
                                3)

    def test_run_untouched_from_make(self):  # fault: F47
        self.assertIsNotNone(shutil.which("make"), "Debian's make is missing")
        makefile = self.space.dir / "Makefile"
        for child in HARMED:
            makefile.write_text(MAKEFILE.format(program=child, itself=makefile))
            self.assert_all_run(["make", "-s", "-f", makefile], 3)

    def test_run_untouched_from_python_subprocess(self):  # fault: F47
        for child in HARMED:
            script = self.script("wrapper", f"#!{child}\n")
            self.assert_all_run([PYTHON, "-c", BY_SUBPROCESS, child, script], 5)

    def test_run_untouched_from_python_multiprocessing(self):
        for child in HARMED:
            self.assert_all_run([PYTHON, "-c", BY_SPAWN, child], 3)

    def test_run_untouched_from_path_search(self):
        env = {"PATH": f"/nowhere:{PROGRAMS}:{os.environ['PATH']}"}
        for child in HARMED:
            self.assert_all_run(["env", child.name], env=env)
            self.assert_all_run([STARTS, "posix_spawnp", child.name], env=env)

    def test_run_untouched_behind_static_program(self):
        # It is not reached itself and hands on what it has; what that starts is seen again.
        between = PROGRAMS / "static_starts"
        self.assert_all_run(["sh", "-c", f"{between} execv /bin/sh -c {SANITIZED}"])
        kept = self.space.preloaded([STARTS, "execv", between, "execv", PLAIN])
        self.assertIn(f"LD_PRELOAD {PRELOAD},", kept.stdout, kept)

    @unittest.skipUnless(MUSL.exists(), "musl-gcc was not there when this was built")
    def test_run_untouched_with_musl(self):  # fault: F47
        told = self.space.preloaded([STARTS, "execv", MUSL])
        self.assertIn("LD_PRELOAD (none)", told.stdout, told)

    def test_lose_preloaded_llvm_runtime_with_shim(self):
        command = [STARTS, "execv_openmp", SANITIZED]
        finished = self.space.launched(command, "--openmp", "llvm")
        self.assertEqual(0, finished.code, finished)
        self.assertIn("LD_PRELOAD (none)", finished.stdout)
        plain = self.space.launched([STARTS, "execv_openmp", PLAIN], "--openmp", "llvm")
        self.assertRegex(plain.stdout, f"LD_PRELOAD {PRELOAD}:/[^:]*/libomp.so.5,")

    def test_keep_other_preloads_in_order(self):  # fault: F47
        env = {"LD_PRELOAD": "libm.so.6 libdl.so.2:librt.so.1",
               "ASAN_OPTIONS": "verify_asan_link_order=0"}
        for way in ("execv", "execve", "posix_spawn"):
            command = [STARTS, way, SANITIZED]
            untouched = self.space.untouched(command, env)
            self.assertIn("LD_PRELOAD libm.so.6 libdl.so.2:librt.so.1,", untouched.stdout)
            self.assert_same_run(untouched, self.space.launched(command, env=env))
            between = {**env, "LD_PRELOAD": f"libm.so.6 libdl.so.2:{PRELOAD}:librt.so.1",
                       "OPTILE_SOCKET": str(self.space.socket)}
            self.assert_same_run(untouched, self.space.run(command, between))

    def test_keep_sanitizer_preloaded_by_user(self):
        library = re.search(r"=> (\S*libasan\S*)", self.space.untouched(["ldd", SANITIZED]).stdout)
        env = {"LD_PRELOAD": library[1], "ASAN_OPTIONS": "detect_leaks=0"}
        untouched = self.space.untouched([PLAIN], env)
        self.assertEqual(0, untouched.code, untouched)
        launched = self.space.launched([PLAIN], env=env)
        self.assert_same_run(untouched, launched)
        self.assertIn("must be the first library of all", launched.stderr)
        behind = f"LD_PRELOAD=\"$LD_PRELOAD:{library[1]}\" exec {PLAIN}"
        self.assert_same_run(untouched, self.space.launched(
            ["sh", "-c", behind], env={"ASAN_OPTIONS": "detect_leaks=0"}))


class ExecFunctions(ChildrenTest):
    """Every function of the C library that starts a program."""

    def test_start_incompatible_children_untouched(self):  # fault: F47
        for child in HARMED:
            for way in WAYS:
                with self.subTest(way=way, child=child.name):
                    untouched = self.assert_as_untouched([STARTS, way, child])
                    self.assertEqual(0, untouched.code, untouched)
                    self.assertIn("LD_PRELOAD (none)", untouched.stdout)

    def test_pass_arguments_and_exit_codes(self):
        for way in ("execv", "execve", "execvp", "execvpe", "posix_spawn", "posix_spawnp"):
            with self.subTest(way):
                self.assert_as_untouched([STARTS, way, SANITIZED, "", "two words", "$HOME"])
                self.assertEqual(7, self.assert_as_untouched([STARTS, way, SANITIZED, "7"]).code)

    def test_keep_shim_in_compatible_children(self):
        kept = {"LD_PRELOAD": f"libm.so.6:{PRELOAD} libdl.so.2"}
        for way in WAYS:
            with self.subTest(way):
                untouched = self.space.untouched([STARTS, way, PLAIN])
                got = self.space.preloaded([STARTS, way, PLAIN], kept)
                self.assertEqual(untouched.code, got.code, got)
                self.assertEqual(
                    untouched.stdout.replace("(none), input", f"{kept['LD_PRELOAD']}, input"),
                    got.stdout)
                self.assertEqual("", got.stderr)

    def test_report_errors_of_untouched_run(self):  # fault: F47
        refused = self.space.dir / "refused"
        refused.write_bytes(SANITIZED.read_bytes())
        nothing = self.script("nothing", "")
        rubbish = self.script("rubbish", "\x7fELF and no more")
        for target in (self.space.dir / "missing", self.space.dir, refused, nothing, rubbish,
                       f"{SANITIZED}/below", "no-such-command", ""):
            for way in WAYS:
                if way in ("system", "popen") and target == nothing:
                    continue  # the shell runs it
                with self.subTest(way=way, target=str(target)):
                    self.assert_as_untouched([STARTS, way, target])

    def test_start_scripts_untouched(self):
        scripts = [self.script("with-a-line", f"#!{SANITIZED} 3\n"),
                   self.script("through-env", f"#!/usr/bin/env {SANITIZED}\n"),
                   self.script("without-a-line", f"{SANITIZED} $1\n"),
                   self.script("shell", f"#!/bin/sh\nexec {SANITIZED} 5\n")]
        for script in scripts:
            for way in WAYS_OF_SCRIPTS:
                with self.subTest(way=way, script=script.name):
                    self.assert_as_untouched([STARTS, way, script])

    def test_pass_oversized_environment_unchanged(self):
        env = {f"VARIABLE_{i}": "x" for i in range(9000)}
        finished = self.space.preloaded([STARTS, "execv", PLAIN], env)
        self.assertEqual(0, finished.code, finished)
        self.assertIn(f"LD_PRELOAD {PRELOAD}", finished.stdout)
        del env["VARIABLE_8999"]
        fits = {name: env[name] for name in list(env)[:7000]}
        self.assert_as_untouched([STARTS, "execv", SANITIZED], fits)


if __name__ == "__main__":
    unittest.main()
