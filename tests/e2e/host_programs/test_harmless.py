"""What people do to their processes, and what optile must not change about it: forks, spawns,
jumps, words about places, pools of workers. Each program runs untouched, under the bare shim and
under the launcher; exit code and output are the same."""
import os
import unittest

from support import harness
from support.harness import PROGRAMS, PYTHON, SCRIPTS, blas, usable_cpus
from host_programs.test_programs import ProgramTest

TWO_THREADS = {"OMP_NUM_THREADS": "2"}
# Where teams have fewer cores than threads, spinning would take for ever.
PASSIVE = {"OMP_WAIT_POLICY": "passive"}
SLEEPING = {**PASSIVE, **TWO_THREADS}


class ForkedChild(ProgramTest):
    """A region in a forked child, where its parent had a team: GCC's runtime hangs there."""

    def run_tuned(self, *options):
        return self.space.launched([PROGRAMS / "fork_with_team"], *options, env=TWO_THREADS)

    def test_starts_with_one_thread_beside_parent_team(self):  # fault: F43
        for options in ((), ("--openmp", "llvm"), ("--mode", "freeze")):
            with self.subTest(options):
                finished = self.run_tuned(*options)
                self.assertEqual((0, "fork with a team: 5 children, 0 failures\n"),
                                 (finished.code, finished.stdout), finished)

    def test_keeps_width_without_parent_team(self):
        self.assert_unharmed([PROGRAMS / "fork_without_team"], TWO_THREADS)

    def test_ends_as_untouched_without_daemon(self):
        finished = self.space.preloaded([PROGRAMS / "fork_with_team"], TWO_THREADS)
        self.assertEqual(0, finished.code, finished)

    def test_stays_untouched_in_observe_mode(self):  # fault: F43
        command = [PROGRAMS / "fork_with_team", "bare"]
        untouched = self.space.untouched(command, TWO_THREADS)
        self.assertEqual("the child hung\n", untouched.stdout, untouched)
        for mode in ("observe", "off"):
            self.assert_same_run(untouched, self.space.launched(command, "--mode", mode,
                                                                env=TWO_THREADS))


class ProcessLifecycle(ProgramTest):
    def test_supports_vfork_spawn_system_and_exec(self):  # fault: F44
        self.assert_unharmed([PROGRAMS / "spawns"], TWO_THREADS)

    def test_supports_longjmp_out_of_regions(self):  # fault: F44
        self.assert_unharmed([PROGRAMS / "jumps"], TWO_THREADS)

    def test_supports_thread_cancellation_inside_ops(self):
        self.assert_unharmed([PROGRAMS / "cancelled_ops"], SLEEPING)
        # It is not given LLVM's runtime, which would abort, not even when asked to.
        self.assert_unharmed([PROGRAMS / "cancelled_ops"], SLEEPING, ("--openmp", "llvm"))

    def test_supports_worker_pools(self):  # fault: F43
        for provider in ("openblas-pthread", "openblas-openmp"):
            with self.subTest(provider):
                env = {**blas(provider), **TWO_THREADS}
                command = [PYTHON, SCRIPTS / "worker_pools.py"]
                # A forked worker hangs under GCC's runtime: there is nothing to compare with.
                if provider == "openblas-pthread":
                    expected = self.space.untouched(command, env).stdout
                    self.assert_same_run(self.space.untouched(command, env),
                                         self.space.launched(command, "--mode", "observe", env=env))
                finished = self.space.launched(command, env=env)
                self.assertEqual((0, expected), (finished.code, finished.stdout), finished)

    def test_never_attaches_children_without_regions(self):
        self.space.start_daemon()
        finished = self.space.launched(
            ["sh", "-c", f"for i in 1 2 3; do /bin/true; done; {PYTHON} -c pass; "
             f"{PROGRAMS / 'default_width'}"], env=TWO_THREADS)
        self.assertEqual(0, finished.code, finished)
        metrics = self.space.ask("metrics")
        self.assertRegex(metrics.stdout, r"(?m)^optile_clients_attached_total 1$", metrics)


class ResourceLimits(ProgramTest):
    """What runs out of descriptors or address space runs on without us, and is attached once it has
    them again."""

    # So that a second thread's stack and heap fit into what is left.
    ENV = {**SLEEPING, "OMP_STACKSIZE": "64k", "MALLOC_ARENA_MAX": "1"}

    def check(self, what):
        command = [PROGRAMS / "scarce", what]
        # LLVM's runtime ends a program that has no descriptor left, with or without us.
        keep = ("--openmp", "keep")
        self.assert_unharmed(command, self.ENV, keep)  # leaves a daemon behind
        program = self.space.popen(self.space.launcher(*keep, command=command), self.ENV)
        self.assertEqual("nothing left: 0 surprises\n",
                         harness.read_until(program, "nothing left: 0 surprises"))
        harness.wait_until(lambda: not self.clients(), "a client without memory to be gone")

        def attached():
            program.stdin.write("x")
            program.stdin.flush()
            harness.read_until(program, "ran")
            return self.clients()

        harness.wait_until(attached, "the program to be attached")
        self.assertEqual(0, harness.finish(program).code)

    def clients(self):
        return self.space.get("/v1/status")["clients"]

    def test_detach_program_until_descriptors_return(self):
        self.check("descriptors")

    def test_detach_program_until_address_space_returns(self):
        self.check("memory")


class OtherThreadManager(ProgramTest):
    """Who manages the program's threads already is left to it."""

    def test_reduces_mode_to_observe(self):
        manager = harness.BUILD / "tests" / "fake_manager" / "libdlb.so"
        env = {"LD_PRELOAD": str(manager), **SLEEPING}
        command = [PROGRAMS / "annotated", "300"]
        untouched = self.space.untouched(command, env)
        self.assertEqual(0, untouched.code, untouched)
        report = self.space.dir / "report.json"
        launched = self.space.launched(command, "--report", report, env=env)
        self.assert_same_run(untouched, launched)
        self.assertIn("libdlb.so manages the threads of this program: it is only observed",
                      launched.stderr)
        told = self.report(report)
        self.assertEqual("observe", told["mode"], told)
        self.assertIn("DLB", " ".join(told["fallbacks"]))
        self.assertFalse([op for op in told["ops"] if op["width"] != op["default_width"]], told)
        # The shim alone finds it as well.
        self.assert_same_run(untouched, self.space.preloaded(
            command, {**env, "LD_PRELOAD": f"{harness.PRELOAD}:{manager}"}))


class AffinitySettings(ProgramTest):
    """What the user says about where threads run is where they run."""

    def test_keep_places_of_runtime(self):
        last = max(os.sched_getaffinity(0))
        for word in ({"OMP_PROC_BIND": "true"}, {"OMP_PROC_BIND": "close", "OMP_PLACES": "cores"},
                     {"GOMP_CPU_AFFINITY": f"{last}"}):
            with self.subTest(word):
                self.assert_unharmed([PROGRAMS / "masks"], {**word, **SLEEPING})

    def test_keep_places_with_default_number_of_threads(self):
        # A linked runtime has bound the main thread to one place by the time that the shim starts.
        for word in ({"OMP_PROC_BIND": "spread"}, {"OMP_PLACES": "cores"},
                     {"GOMP_CPU_AFFINITY": "0-1"}):
            with self.subTest(word):
                self.assert_unharmed([PROGRAMS / "masks"], {**word, **PASSIVE})

    def test_keep_places_set_behind_launcher(self):
        # Nobody has heard of the binding when the number of threads is chosen.
        finished = self.space.launched(
            ["env", "OMP_PROC_BIND=spread", PROGRAMS / "masks"], env=PASSIVE)
        untouched = self.space.untouched([PROGRAMS / "masks"],
                                         {"OMP_PROC_BIND": "spread", **PASSIVE})
        self.assert_same_run(untouched, finished)

    def test_keep_kmp_affinity(self):
        runtime = harness.library_folder() / "libomp.so.5"
        self.assertTrue(runtime.exists(), f"{runtime} is missing: install Debian's libomp5-14")
        self.assert_unharmed([PROGRAMS / "masks"], {
            "KMP_AFFINITY": "compact", "LD_PRELOAD": str(runtime), **SLEEPING})

    @unittest.skipIf(usable_cpus() < 2, "one core: there is nothing to be kept out of")
    def test_keep_taskset_mask(self):  # fault: F45
        unit = str(max(os.sched_getaffinity(0)))
        for words in (SLEEPING, PASSIVE):
            with self.subTest(words):
                self.assert_unharmed(["taskset", "-c", unit, PROGRAMS / "masks"], words)
        finished = self.space.launched(["taskset", "-c", unit, PROGRAMS / "masks"])
        self.assertIn(f"  0: {unit}\n", finished.stdout)


if __name__ == "__main__":
    unittest.main()
