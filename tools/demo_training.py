"""A training that the demo started: its process, its log, and how many steps it has made.

The program says its steps in its log, at the end of one, at most every quarter of a second. Read
often, a line's arrival is the time of that step, whichever way the program was started.
"""

from __future__ import annotations

import os
import pathlib
import random
import re
import signal
import subprocess
import time
from dataclasses import dataclass, field
from typing import List, Mapping, Optional, Sequence, Tuple

STEP = re.compile(rb"^step (\d+)/", re.MULTILINE)
LINES_OF_ERROR = 6
RESAMPLES = 1000


class TrainingError(Exception):
    """A training failed; the message says which, how, and where its output is."""


@dataclass
class Pace:
    """Stretches of a run, each with its seconds and the whole steps made in it."""

    spans: List[Tuple[float, int]] = field(default_factory=list)

    def __add__(self, other: "Pace") -> "Pace":
        return Pace(self.spans + other.spans)

    @property
    def steps(self) -> int:
        return sum(steps for _, steps in self.spans)

    def rate(self) -> float:
        """Steps a second; 0 where no whole step was seen."""
        seconds = sum(seconds for seconds, _ in self.spans)
        return self.steps / seconds if seconds > 0 else 0.0


@dataclass
class StepCounts:
    """Seconds of one clock and the steps made by then, in the order of time."""

    counts: List[Tuple[float, int]] = field(default_factory=list)

    def add(self, now: float, steps: int) -> None:
        if not self.counts or steps > self.counts[-1][1]:
            self.counts.append((now, steps))

    def between(self, begin: float, end: float) -> Pace:
        """From one count to the next; where only one is inside, from the last before it."""
        inside = [one for one in self.counts if begin <= one[0] <= end]
        if len(inside) < 2:
            inside = [one for one in self.counts if one[0] < begin][-1:] + inside
        return Pace([(b[0] - a[0], b[1] - a[1]) for a, b in zip(inside, inside[1:])])


def times_as_fast(before: Pace, after: Pace) -> Optional[Tuple[float, float, float]]:
    """Of two rates the ratio with an interval of 95 %, drawn over stretches. None where either has
    fewer than three of those."""
    if min(len(before.spans), len(after.spans)) < 3:
        return None
    source = random.Random(1)

    def drawn(pace: Pace) -> float:
        return Pace(source.choices(pace.spans, k=len(pace.spans))).rate()

    ratios = sorted(drawn(after) / drawn(before) for _ in range(RESAMPLES))
    outside = RESAMPLES // 40
    return after.rate() / before.rate(), ratios[outside], ratios[-1 - outside]


class Training:
    """A process that leads a session of its own, from its start to `end()`."""

    def __init__(
        self, name: str, command: Sequence[str], env: Mapping[str, str], log: pathlib.Path
    ) -> None:
        self.name = name
        self.log = log
        self.made = StepCounts()
        self._rest = b""
        with open(log, "wb") as output:
            self._process = subprocess.Popen(
                list(command), env=dict(env), stdin=subprocess.DEVNULL, stdout=output,
                stderr=output, start_new_session=True,
            )  # fmt: skip
        self._reader = open(log, "rb")

    def look(self) -> None:
        """Reads what it has said since; a training that has ended by itself has failed."""
        code = self._process.poll()
        text = self._rest + self._reader.read()
        whole, newline, self._rest = text.rpartition(b"\n")
        steps = STEP.findall(whole + newline)
        if steps:
            self.made.add(time.monotonic(), int(steps[-1]))
        if code is not None:
            lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
            last = "\n".join(f"  {line}" for line in lines[-LINES_OF_ERROR:])
            how = f"by signal {-code}" if code < 0 else f"with status {code}"
            raise TrainingError(
                f"the training {self.name} ended {how}; its output is in {self.log}:\n{last}"
            )

    def kill(self) -> None:
        """Launcher and program at once, as a user would or the kernel for want of memory."""
        self._signal(signal.SIGKILL)
        self._process.wait()
        self._reader.close()

    def end(self, patience: float) -> None:
        """By SIGTERM, which the launcher hands on before it writes its report."""
        if self._process.poll() is None:
            try:
                self._process.terminate()
                self._process.wait(patience)
            except subprocess.TimeoutExpired:
                pass
        self.kill()

    def _signal(self, number: int) -> None:
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            pass
