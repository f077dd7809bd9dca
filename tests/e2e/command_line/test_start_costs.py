"""What `optile run` costs a program that is over at once, in system calls: time would be the
machine's. `counts_calls` counts those of one process, before and after it became the program. And
what it costs one that runs on while nothing of it can be steered, in events that are told."""
import os
import pathlib
import shutil

from support.harness import PROGRAMS, PYTHON, EndToEndTest, wait_until

COUNTER = PROGRAMS / "counts_calls"
# Measured with control groups of version 1: 268 by launcher, shim and program together, where it
# was 952 while the launcher read the machine's topology.
MOST_OF_LAUNCHER = 320
MOST_OF_SHIM = 90
# Of an interpreter that can use Debian's PyTorch, which has 130 libraries: 3365, where it was 4257.
MOST_OF_LAUNCHER_FOR_PYTHON = 3800


class StartCosts(EndToEndTest):
    def counts(self, program, command):
        """(before it became `program`, in all)"""
        counted = self.space.run([COUNTER, program, *command])
        self.assertEqual(0, counted.code, counted)
        return tuple(map(int, counted.stdout.split()[-2:]))

    def test_are_bounded_for_untunable_program(self):
        self.space.start_daemon()
        true = shutil.which("true")
        _, alone = self.counts(true, [true])
        before, together = self.counts(true, self.space.launcher(command=[true]))
        self.assertLess(before, MOST_OF_LAUNCHER)
        self.assertLess(together - before - alone, MOST_OF_SHIM)

    def test_are_bounded_for_interpreter(self):
        self.space.start_daemon()
        command = [PYTHON, "-I", "-c", "pass"]
        program = self.space.untouched([PYTHON, "-c", "import os; print(os.readlink('/proc/self/"
                                                      "exe'))"]).stdout.strip()
        before, _ = self.counts(program, self.space.launcher(command=command))
        self.assertLess(before, MOST_OF_LAUNCHER_FOR_PYTHON)


class RunningCosts(EndToEndTest):
    """Of regions that are only observed, two in a step."""

    def run_on(self, *options):
        self.space.start_daemon()
        return self.space.popen(self.space.launcher(
            *options, command=[PROGRAMS / "two_regions", os.devnull, 100_000_000]))

    def client(self):
        clients = self.space.get("/v1/clients")["clients"]
        return self.space.get(f"/v1/clients/{clients[0]['id']}") if clients else None

    def rests(self):
        """Of the latest steps, a thousand at least, only the step itself was told."""
        now = self.client()
        if now is None:
            return False
        seen = (now["steps"], now["events"]["read"])
        before = self.seen or seen
        if self.seen is None or seen[0] - before[0] >= 1000:
            self.seen = seen
        steps, read = seen[0] - before[0], seen[1] - before[1]
        return steps >= 1000 and read < 1.5 * steps

    def test_are_bounded_for_unsteerable_program(self):
        program = self.run_on()
        self.seen = None
        wait_until(self.rests, "events to be told no more", deadline=60)
        maps = pathlib.Path(f"/proc/{program.pid}/maps").read_text()
        self.assertIn("liboptile_preload", maps)
        self.assertNotIn("liboptile_counters", maps)
        self.assertIn("only watched", self.client()["decision"])

    def test_include_counters_on_request(self):
        program = self.run_on("--counters", "software")
        maps = pathlib.Path(f"/proc/{program.pid}/maps")
        wait_until(lambda: "liboptile_counters" in maps.read_text(), "counters to be read")
