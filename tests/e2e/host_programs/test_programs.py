"""Plain programs run the same without optile, under the bare shim and under the launcher: exit code
and output, whatever the runtime, the copies of it, and the way the program treats its threads."""
import subprocess
import unittest

from support import harness
from support.harness import PROGRAMS, EndToEndTest, blas

# Four threads on any machine: the libraries' mistakes need a team.
FOUR_THREADS = {"OMP_NUM_THREADS": "4"}
# BLIS spins at its barriers and never gives way: with more threads than cores each takes a turn of
# the scheduler's, and a run takes fifty times as long.
A_TEAM_FOR_BLIS = {"OMP_NUM_THREADS": str(max(2, min(4, harness.usable_cpus())))}


class ProgramTest(EndToEndTest):
    def assert_unharmed(self, command, env=None, launcher_options=()):
        """Compares every way of running `command` with the untouched one, which must succeed."""
        untouched = self.space.untouched(command, env)
        self.assertEqual(0, untouched.code, untouched)
        self.assert_same_run(untouched, self.space.preloaded(command, env))
        for mode in ("observe", "tune"):
            self.assert_same_run(untouched, self.space.launched(
                command, "--mode", mode, *launcher_options, env=env))
        # By now the launcher has left a daemon behind.
        self.assert_same_run(untouched, self.space.preloaded(command, env))

    def assert_unharmed_at_any_width(self, command, env=None, team=None):
        self.assert_unharmed(command, {**(env or {}), **(team or FOUR_THREADS)})
        self.assert_unharmed(command, env)


class OneDnnPrograms(ProgramTest):
    def test_keep_convolution_weights(self):
        self.assert_unharmed_at_any_width([PROGRAMS / "onednn_convolution_weights"])

    def test_keep_matmul_results(self):
        self.assert_unharmed_at_any_width([PROGRAMS / "onednn_matmul"])


class BlasPrograms(ProgramTest):
    def test_run_on_openblas_openmp(self):
        self.assert_unharmed_at_any_width([PROGRAMS / "blas_sgemm"], blas("openblas-openmp"))

    def test_run_on_openblas_pthread(self):
        self.assert_unharmed_at_any_width([PROGRAMS / "blas_sgemm"], blas("openblas-pthread"))

    def test_run_on_blis(self):
        # BLIS heeds a variable of its own, and does without it where only OMP_NUM_THREADS is set.
        self.assert_unharmed([PROGRAMS / "blas_sgemm"],
                             {**blas("blis-openmp"), **A_TEAM_FOR_BLIS,
                              "BLIS_NUM_THREADS": A_TEAM_FOR_BLIS["OMP_NUM_THREADS"]})
        self.assert_unharmed_at_any_width([PROGRAMS / "blas_sgemm"], blas("blis-openmp"),
                                          A_TEAM_FOR_BLIS)

    def test_run_on_two_primary_threads(self):
        for provider, team in (("openblas-openmp", FOUR_THREADS),
                               ("openblas-pthread", FOUR_THREADS),
                               ("blis-openmp", A_TEAM_FOR_BLIS)):
            with self.subTest(provider):
                self.assert_unharmed([PROGRAMS / "blas_sgemm", "masters"],
                                     {**blas(provider), **team})


class OpenMpPrograms(ProgramTest):
    def test_keep_buffers_sized_by_max_threads(self):
        self.assert_unharmed_at_any_width([PROGRAMS / "buffers_by_maximum"])

    def test_keep_default_width(self):
        self.assert_unharmed_at_any_width([PROGRAMS / "default_width"])

    def test_keep_num_threads_clauses(self):
        self.assert_unharmed_at_any_width([PROGRAMS / "clauses"])

    def test_run_every_construct(self):
        self.assert_unharmed_at_any_width([PROGRAMS / "constructs"])

    def test_pass_exceptions(self):
        self.assert_unharmed_at_any_width([PROGRAMS / "exceptions"])

    def test_keep_dynamic_teams(self):
        self.assert_unharmed([PROGRAMS / "constructs"], {"OMP_DYNAMIC": "true", **FOUR_THREADS})


class DifficultHosts(ProgramTest):
    def test_fork_without_exec(self):
        self.assert_unharmed_at_any_width([PROGRAMS / "fork_without_exec"])

    def test_run_more_primary_threads_than_slots(self):
        self.assert_unharmed_at_any_width([PROGRAMS / "many_masters"])

    def test_handle_signals_and_close_descriptors(self):  # fault: F44
        self.assert_unharmed_at_any_width([PROGRAMS / "hostile_host"])

    def test_run_with_few_descriptors(self):
        self.assert_unharmed(["sh", "-c", f"ulimit -n 6; exec {PROGRAMS / 'constructs'}"])

    def test_run_with_little_address_space(self):
        self.assert_unharmed(["sh", "-c", f"ulimit -v 200000; exec {PROGRAMS / 'default_width'}"])


class Plugins(ProgramTest):
    """Hosts that open what uses OpenMP with RTLD_LOCAL, out of the reach of RTLD_NEXT."""

    def test_run_with_one_runtime(self):
        self.assert_unharmed_at_any_width([PROGRAMS / "plugin_host", PROGRAMS / "plugin_first.so",
                                           PROGRAMS / "plugin_second.so", 1])

    def test_run_with_two_copies_of_runtime(self):
        self.assert_unharmed_at_any_width([PROGRAMS / "plugin_host", PROGRAMS / "plugin_first.so",
                                           PROGRAMS / "plugin_copy.so", 2])

    def test_reload_after_rebuild(self):  # fault: F48
        for scope in ("local", "global"):
            with self.subTest(scope):
                self.assert_unharmed_at_any_width([
                    PROGRAMS / "reloading_host", PROGRAMS / "answering_plugin_2.so",
                    PROGRAMS / "answering_plugin_3.so", scope])

    def test_reload_with_own_blas(self):  # fault: F48
        for scope in ("local", "global"):
            with self.subTest(scope):
                self.assert_unharmed([
                    PROGRAMS / "reloading_host", PROGRAMS / "multiplying_plugin_2.so",
                    PROGRAMS / "multiplying_plugin_3.so", scope])

    def test_open_regions_on_thread_joined_by_constructor(self):  # fault: F48
        self.assert_unharmed_at_any_width([PROGRAMS / "loading_host",
                                           PROGRAMS / "starting_plugin.so"])

    def test_open_known_regions_on_thread_joined_by_constructor(self):  # fault: F48
        self.assert_unharmed_at_any_width([PROGRAMS / "waiting_host", PROGRAMS / "plugin_first.so",
                                           PROGRAMS / "waiting_plugin.so"])

    def test_run_onetbb_algorithms_joined_by_constructor(self):  # fault: F48
        self.assert_unharmed([PROGRAMS / "loading_host", PROGRAMS / "starting_tbb_plugin.so"])

    def test_load_with_deepbind(self):
        """Their regions go past the shim: nothing is claimed about them."""
        command = [PROGRAMS / "plugin_host", PROGRAMS / "plugin_first.so",
                   PROGRAMS / "plugin_copy.so", 2]
        env = {"PLUGIN_HOST_DEEP": "1", **FOUR_THREADS}
        self.assert_unharmed(command, env)
        self.assertIn("no op of the program was seen",
                      self.space.launched(command, "--summary", env=env).stderr)


class LlvmRuntime(ProgramTest):
    """GCC-built programs on the runtime that the launcher may put in the place of theirs."""

    def assert_unharmed_on_llvm(self, name, env=None, team=None):
        self.assert_unharmed([PROGRAMS / name], {**(env or {}), **(team or FOUR_THREADS)},
                             ("--openmp", "llvm"))

    def test_runs_onednn_programs(self):
        self.assert_unharmed_on_llvm("onednn_convolution_weights")
        self.assert_unharmed_on_llvm("onednn_matmul")

    def test_runs_blas_programs(self):
        for provider, team in (("openblas-openmp", FOUR_THREADS), ("blis-openmp", A_TEAM_FOR_BLIS)):
            with self.subTest(provider):
                self.assert_unharmed_on_llvm("blas_sgemm", blas(provider), team)

    def test_runs_openmp_programs(self):
        for name in ("buffers_by_maximum", "default_width", "clauses", "constructs", "exceptions",
                     "fork_without_exec", "many_masters"):
            with self.subTest(name):
                self.assert_unharmed_on_llvm(name)


class UnusualBinaries(ProgramTest):
    """What a preload cannot enter, or must not, runs as if nobody had asked."""

    def test_run_statically_linked(self):
        self.assert_unharmed([PROGRAMS / "static_buffers"], FOUR_THREADS)

    def test_run_with_static_runtime(self):
        command = [PROGRAMS / "own_runtime"]
        self.assert_unharmed(command, FOUR_THREADS)
        told = self.space.launched(command, env=FOUR_THREADS).stderr
        self.assertIn("cannot be seen: an OpenMP runtime is linked into it statically", told)

    def test_run_with_address_sanitizer(self):
        # The bare preload is the user's own doing there; the launcher has to look first.
        command = [PROGRAMS / "sanitized_buffers"]
        untouched = self.space.untouched(command, FOUR_THREADS)
        self.assertEqual(0, untouched.code, untouched)
        self.assert_same_run(untouched, self.space.launched(command, env=FOUR_THREADS))

    def test_run_as_interpreter_script(self):
        script = self.space.dir / "script.sh"
        script.write_text(f'#!/bin/sh\necho "$0 has $# arguments: $*"\nexec '
                          f"{PROGRAMS / 'constructs'}\n")
        script.chmod(0o700)
        self.assert_unharmed([script, "one two", "", "--mode", "--", "off"], FOUR_THREADS)

    def test_run_in_pipeline(self):
        self.assert_unharmed(
            ["sh", "-c", "printf 'a\\nb\\n' | tr a-z A-Z | sort -r | tee /dev/null"])


class ForcedWidths(unittest.TestCase):
    """The programs above notice what they are there to notice: a shim that forces the size of a
    team hangs them or makes them wrong. Without these tests the ones above could not fail."""

    # A hang burns as many cores as it has threads; ten times what the programs need is enough.
    HANG_LIMIT = 5.0

    def setUp(self):
        self.space = harness.Workspace()
        self.addCleanup(self.space.close)

    def forced(self, what, command, env=None):
        """How `command` ends under the forcing shim; None when it hangs."""
        process = self.space.popen(command, {
            "LD_PRELOAD": str(PROGRAMS / "forcing_shim.so"), "FORCING_SHIM": what, **FOUR_THREADS,
            **(env or {})})
        try:
            process.communicate(timeout=self.HANG_LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return None
        return process.returncode

    def assert_noticed(self, what, command, env=None):
        self.assertNotEqual(0, self.forced(what, command, env), f"{command} did not notice {what}")

    def assert_clean_without_force(self, command, env=None):
        finished = self.space.run(command, {
            "LD_PRELOAD": str(PROGRAMS / "forcing_shim.so"), "FORCING_SHIM": "none",
            **FOUR_THREADS, **(env or {})})
        self.assertEqual(0, finished.code, finished)

    def check(self, command, *forces, env=None):
        self.assert_clean_without_force(command, env)
        for what in forces:
            with self.subTest(what):
                self.assert_noticed(what, command, env)

    def test_keep_convolution_weights(self):
        self.check([PROGRAMS / "onednn_convolution_weights"], "shrink", "halve")

    def test_keep_matmul_results(self):
        self.check([PROGRAMS / "onednn_matmul"], "shrink", "halve")

    def test_keep_openblas_openmp_results(self):
        self.check([PROGRAMS / "blas_sgemm"], "halve", env=blas("openblas-openmp"))

    def test_keep_blis_results(self):
        self.check([PROGRAMS / "blas_sgemm"], "halve", env=blas("blis-openmp"))

    def test_keep_buffers_sized_by_max_threads(self):
        self.check([PROGRAMS / "buffers_by_maximum"], "shrink", "halve", "widen")

    def test_keep_num_threads_clauses(self):
        self.check([PROGRAMS / "clauses"], "shrink", "widen")

    def test_keep_default_width(self):
        self.check([PROGRAMS / "default_width"], "shrink", "widen")

    def test_keep_two_copies_of_runtime(self):
        # The fixture itself knows one copy only, so the clean run is the one without it.
        command = [PROGRAMS / "plugin_host", PROGRAMS / "plugin_first.so",
                   PROGRAMS / "plugin_copy.so", "2"]
        self.assertEqual(0, self.space.untouched(command, FOUR_THREADS).code)
        self.assert_noticed("one_pointer", command)


if __name__ == "__main__":
    unittest.main()
