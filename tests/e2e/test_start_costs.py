"""What `optile run` costs a program that is over at once, in system calls: time would be the
machine's. `counts_calls` counts those of one process, before and after it became the program."""
import shutil

from harness import PROGRAMS, PYTHON, EndToEndTest

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

    def test_a_program_without_anything_to_tune(self):
        self.space.start_daemon()
        true = shutil.which("true")
        _, alone = self.counts(true, [true])
        before, together = self.counts(true, self.space.launcher(command=[true]))
        self.assertLess(before, MOST_OF_LAUNCHER)
        self.assertLess(together - before - alone, MOST_OF_SHIM)

    def test_an_interpreter(self):
        self.space.start_daemon()
        command = [PYTHON, "-I", "-c", "pass"]
        program = self.space.untouched([PYTHON, "-c", "import os; print(os.readlink('/proc/self/"
                                                      "exe'))"]).stdout.strip()
        before, _ = self.counts(program, self.space.launcher(command=command))
        self.assertLess(before, MOST_OF_LAUNCHER_FOR_PYTHON)
