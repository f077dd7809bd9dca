"""Trainings whose cores are changed while they run, and what they make in a window of time."""

from __future__ import annotations

import contextlib
import math
import os
import pathlib
import signal
import subprocess
import time
from dataclasses import dataclass
from typing import Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

import blas_provider
import together
import workload_run
from workload_run import RunError, TooSlow

HERE = pathlib.Path(__file__).resolve().parent
LOOK_SECONDS = 0.01
START_PATIENCE = 90.0
STEP_PATIENCE = 30.0  # for one step on one core
END_PATIENCE = 15.0
FEWEST_ENDS = 3  # of steps: two whole steps


@dataclass(frozen=True)
class Program:
    name: str
    batch: int

    @property
    def command(self) -> List[str]:
        script = str(HERE / "steered_training.py")
        return [blas_provider.PYTHON, script, self.name, "--batch", str(self.batch)]


class Steered:
    """One process, from its start to `end()`."""

    def __init__(
        self, program: Program, env: Mapping[str, str], folder: pathlib.Path,
        prefix: Sequence[str] = (), steered: bool = True,
    ) -> None:  # fmt: skip
        self.program = program
        self.ends: List[float] = []  # of steps
        self._confined: Dict[str, float] = {}  # since when, by cores
        self._rest = ""
        folder.mkdir(parents=True, exist_ok=True)
        number = len(list(folder.glob("*.err")))
        self._errors = folder / f"{number}-{program.name}.err"
        output = folder / f"{number}-{program.name}.steps"
        with open(output, "wb") as steps, open(self._errors, "wb") as errors:
            self._process = subprocess.Popen(
                [*prefix, *program.command], env=dict(env), stdout=steps, stderr=errors,
                stdin=subprocess.PIPE if steered else subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        self._reader = open(output, encoding="ascii")

    def look(self) -> None:
        if self._process.poll() is not None:
            text = self._errors.read_text(encoding="utf-8", errors="replace")
            last = "\n".join(text.splitlines()[-workload_run.LINES_OF_ERROR:])
            raise RunError(f"{self.program.name} ended with {self._process.returncode}:\n{last}")
        *lines, self._rest = (self._rest + self._reader.read()).split("\n")
        for line in lines:
            word, *arguments, at = line.split()
            if word == "step":
                self.ends.append(float(at))
            else:
                self._confined[" ".join(arguments)] = float(at)

    def confine(self, cores: Sequence[int], threads: int) -> str:
        words = f"{','.join(map(str, cores))} {threads}"
        self._confined.pop(words, None)
        if self._process.stdin is None:
            raise RunError(f"{self.program.name} was started without a steering line")
        try:
            self._process.stdin.write(f"cores {words}\n".encode())
            self._process.stdin.flush()
        except BrokenPipeError:
            self.look()
        return words

    def confined_since(self, words: str) -> Optional[float]:
        return self._confined.get(words)

    def pause(self) -> None:
        """Until resume() it keeps its memory and takes no core."""
        os.killpg(self._process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.killpg(self._process.pid, signal.SIGCONT)

    def end(self) -> None:
        """The launcher hands SIGTERM on, waits for the program and writes its report."""
        try:
            self._process.terminate()
            self._process.wait(END_PATIENCE)
        except (OSError, subprocess.TimeoutExpired):
            pass
        workload_run.end_process(self._process)
        self._reader.close()
        if self._process.stdin is not None:
            self._process.stdin.close()


_give_up_at = math.inf


def give_up_at(moment: float) -> None:
    """From then on whoever waits here gives up, on the monotonic clock."""
    global _give_up_at  # noqa: PLW0603  (one for a whole driver)
    _give_up_at = moment


def wait_until(
    running: Sequence[Steered], holds: Callable[[], bool], patience: float, what: str
) -> None:
    limit = min(time.monotonic() + patience, _give_up_at)
    while not holds():
        for one in running:
            one.look()
        if time.monotonic() > limit:
            raise TooSlow(f"{what} of {', '.join(one.program.name for one in running)}")
        time.sleep(LOOK_SECONDS)


@contextlib.contextmanager
def paused(running: Sequence[Steered]) -> Iterator[None]:
    """Others may use the machine meanwhile: cheaper than another start."""
    for one in running:
        one.pause()
    try:
        yield
    finally:
        for one in running:
            one.resume()


def wait_until_ready(running: Sequence[Steered]) -> None:
    wait_until(
        running, lambda: all(len(one.ends) > 1 for one in running), START_PATIENCE, "the start"
    )


def window(
    running: Sequence[Steered], seconds: float, patience: float = FEWEST_ENDS * STEP_PATIENCE
) -> List[float]:
    """Steps a second of each from now on; longer where a step takes long. 0 of one that makes no
    two steps in `patience`, if that is given."""
    begin = time.monotonic()
    wait_until(running, lambda: time.monotonic() >= begin + seconds, seconds + 1, "a window")
    until = time.monotonic() + patience

    def have_steps() -> bool:
        few = [one for one in running if sum(end >= begin for end in one.ends) < FEWEST_ENDS]
        return not few or time.monotonic() > until

    wait_until(running, have_steps, patience + 1, "two steps")
    return [
        together.throughput(inside, begin, time.monotonic()) if len(inside) > 1 else 0.0
        for inside in ([end for end in one.ends if end >= begin] for one in running)
    ]


def confine_all(
    running: Sequence[Steered], cores: Sequence[Sequence[int]], threads: Optional[int] = None
) -> None:
    """Until each has made a step there: the first one also makes threads, as many as cores where
    they are not given."""
    words = [one.confine(where, threads or len(where)) for one, where in zip(running, cores)]

    def holds() -> bool:
        for one, word in zip(running, words):
            since = one.confined_since(word)
            if since is None or not one.ends or one.ends[-1] < since:
                return False
        return True

    wait_until(running, holds, 2 * STEP_PATIENCE, "a step on other cores")


def adjoining(units: Sequence[int], split: Sequence[int]) -> List[List[int]]:
    """The units of each program, one after the other."""
    found, first = [], 0
    for count in split:
        found.append(list(units[first : first + count]))
        first += count
    return found


def neighbours(split: Sequence[int], known: Sequence[Tuple[int, ...]]) -> List[Tuple[int, ...]]:
    """Those of the known splits where one core has gone from one program to another."""
    return [
        other for other in known if sum(abs(a - b) for a, b in zip(split, other)) == 2
    ]
