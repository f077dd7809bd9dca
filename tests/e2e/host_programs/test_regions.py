"""--regions=tune: the program's own regions get widths; what it computes stays the same."""
import unittest

from support import harness
from support.harness import PROGRAMS, EndToEndTest

STEPS = 8000  # a second or more, also on many quick cores
SLEEPING = {"OMP_WAIT_POLICY": "passive"}  # teams that spin beside other tests take minutes
ENDLESS = 1000000000


class RegionTest(EndToEndTest):
    ops = "region "  # how the names of what is looked at begin
    steps = STEPS

    def setUp(self):
        super().setUp()
        self.space.start_daemon()

    def command(self, name, file):
        return [PROGRAMS / name, self.space.dir / file, str(self.steps)]

    def teams(self, file):
        """How often each region had a team of each size."""
        lines = (self.space.dir / file).read_text().splitlines()
        return [dict(map(int, word.split(":")) for word in line.split()) for line in lines]

    def launch(self, name, *options, env=None):
        """A run that computes what the untouched one does: its teams, by region."""
        env = {**SLEEPING, **(env or {})}
        untouched = self.untouched_once(self.command(name, "untouched"), env, key=name)
        self.assertEqual(0, untouched.code, untouched)
        finished = self.space.launched(self.command(name, "tuned"), *options, env=env)
        self.assert_same_run(untouched, finished)
        return self.teams("tuned")

    def reasons(self):
        """Why each region of the latest client has its width."""
        rows = self.space.ask_json("ops")["ops"]
        return [row["reason"] for row in rows if row["name"].startswith(self.ops)]

    def assert_reason(self, words):
        reasons = self.reasons()
        self.assertTrue(reasons)
        for reason in reasons:
            self.assertIn(words, reason)


@unittest.skipIf(harness.usable_cpus() < 2, "one core has one width")
class TunedRegions(RegionTest):
    def assert_changes(self, region):
        self.assertGreater(len(region), 1, region)
        self.assertLessEqual(max(region), harness.usable_cpus(), "no wider than the program's own")

    def assert_widths_change(self, *options):
        for region in self.launch("two_regions", *options):
            self.assert_changes(region)

    def test_change_only_widths(self):
        self.assert_widths_change("--regions=tune", "--openmp", "keep")

    def test_change_only_widths_on_llvm_runtime(self):
        self.assert_widths_change("--regions=tune", "--openmp", "llvm")

    def test_are_selected_by_object_name(self):
        self.assert_widths_change("--regions=tune:libother.so,two_regions", "--openmp", "keep")

    def test_include_kmpc_entry_points(self):
        tuned, with_clause = self.launch("llvm_regions", "--regions=tune")
        self.assert_changes(tuned)
        self.assertEqual({2: STEPS}, with_clause)


@unittest.skipIf(harness.usable_cpus() < 2, "one core has one width")
class PluginRegions(RegionTest):
    def command(self, name, file):
        return super().command(name, file) + [PROGRAMS / "team_plugin.so"]

    def test_are_tuned_when_lazily_bound(self):
        for region in self.launch("two_regions", "--regions=tune", "--openmp", "keep")[:2]:
            self.assertGreater(len(region), 1, region)

    def test_are_tuned_when_opened_past_shim(self):
        deep = {"TWO_REGIONS_DEEP": "1"}
        for region in self.launch("two_regions", "--regions=tune", "--openmp", "keep", env=deep):
            self.assertEqual(1, len(region), region)
        self.assert_reason("may open regions that are not seen")


class UntunedRegions(RegionTest):
    steps = STEPS // 2  # nothing is searched

    def assert_left(self, *options, words, env=None):
        for region in self.launch("two_regions", "--openmp", "keep", *options, env=env):
            self.assertEqual(1, len(region), region)
        self.assert_reason(words)

    def test_are_observed_by_default(self):
        self.assert_left(words="--regions=tune")

    def test_are_observed_outside_tune_mode(self):
        self.assert_left("--regions=tune", "--mode", "observe", words="(--mode observe)")

    def test_respect_cap_of_user(self):
        self.assert_left("--regions=tune", words="you said so: OMP_NUM_THREADS",
                         env={"OMP_NUM_THREADS": "2"})

    def test_respect_exact_width_of_user(self):
        self.assert_left("--regions=tune", "--respect", "exact", words="you said so: exactly",
                         env={"OMP_NUM_THREADS": "2"})

    def test_exclude_other_objects(self):
        self.assert_left("--regions=tune:libother.so", words="--regions=tune:")

    def assert_program_is_left(self, name, steps, words):
        command = [PROGRAMS / name, steps]
        finished = self.space.launched(command, "--regions=tune", env=SLEEPING)
        self.assert_same_run(self.space.untouched(command, SLEEPING), finished)
        self.assert_reason(words)

    def test_exclude_programs_sized_by_thread_count(self):
        self.assert_program_is_left("buffers_by_maximum", 50000,
                                    "may size by the number of threads")

    def test_exclude_programs_with_threadprivate_data(self):
        self.assert_program_is_left("sums_per_thread", 20000, "may keep data of each thread")


@unittest.skipIf(harness.usable_cpus() < 2, "one core has one width")
class HangingRegions(RegionTest):
    """Programs that wait for as many threads as their first team had."""

    program = "waits_for_all"

    def start(self, steps=ENDLESS):
        command = [PROGRAMS / self.program, str(steps)]
        line = self.space.launcher("--regions=tune", "--openmp", "keep", command=command)
        return self.space.popen(line, SLEEPING)

    def end(self, process):
        self.assertIsNone(process.poll(), "nothing ends it but its user")
        process.kill()
        process.communicate()

    def running(self):
        """What there is to say of the client that runs: its phase, and what was given up."""
        for client in self.space.get("/v1/clients")["clients"]:
            if client["state"] == "running":
                return client["phase"], " ".join(client["fallbacks"])
        return "", ""

    def test_stay_excluded_in_later_runs(self):  # fault: F46
        hanging = self.start()
        harness.wait_until(lambda: "did not return at width" in self.running()[1],
                           "the daemon to notice that a region hangs")
        self.end(hanging)
        again = self.start()
        harness.wait_until(lambda: self.running()[0] == "tuned", "a run that does not hang")
        self.assertIn("did not return at width", " ".join(self.reasons()))
        self.end(again)
        untouched = self.space.untouched([PROGRAMS / self.program, "200"])
        self.assert_same_run(untouched, harness.finish(self.start(200)))


class HangingAlgorithms(HangingRegions):
    """The same with oneTBB."""

    program = "tbb_waits_for_all"
    ops = "parallel_for"


if __name__ == "__main__":
    unittest.main()
