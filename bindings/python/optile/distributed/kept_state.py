"""What a training needs to go on from, kept in memory of this node beside its processes: torchrun
ends every rank when one is lost, and starts them again.

A file in /dev/shm for each rank of a launch: `optile launch`, which outlives torchrun, where it has
started the program, else the process that did, torchrun's. The files of launches that have ended
are removed by the next one.
"""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence

import torch

_ROOT = Path("/dev/shm")
_LEAST_ROOM = 3  # times the state: its successor, and as much again twice for others
_MOST_COST = 0.01  # of the time of the steps in between
_FIRST_KEPT = 3  # steps: then the optimizer has its state, and a step's time is a usual one


def _started(pid: int) -> Optional[str]:
    """When it was, as no other process of that number: None where there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return text[text.rindex(")") + 2 :].split()[19]


def _launch() -> int:
    """The process beside whose life the files are kept."""
    launch = os.environ.get("OPTILE_LAUNCH", "")
    return int(launch) if launch.isdecimal() and _started(int(launch)) else os.getppid()


def _folder() -> Path:
    """Of this user, which nobody else could have made. Raises OSError."""
    folder = _ROOT / f"optile-state-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if status.st_uid != os.getuid() or status.st_mode & 0o777 != 0o700 or folder.is_symlink():
        raise PermissionError(f"{folder} is not this user's alone")
    return folder


def _processes() -> str:
    """Whose numbers they are: containers may share /dev/shm."""
    return str(os.stat("/proc/self/ns/pid").st_ino)


def _remove_ended(folder: Path) -> None:
    for launch in folder.iterdir():
        pid, start, processes = launch.name.split("-")
        if processes == _processes() and _started(int(pid)) != start:
            shutil.rmtree(launch, ignore_errors=True)


def _bytes(state: Any) -> int:
    if isinstance(state, torch.Tensor):
        return state.numel() * state.element_size()
    if isinstance(state, dict):
        return sum(_bytes(one) for one in state.values())
    return sum(_bytes(one) for one in state) if isinstance(state, (list, tuple)) else 0


def was_started_before() -> bool:
    """Whether this launch, or its torchrun, has started these ranks before, and has lost some."""
    generation = os.environ.get("OPTILE_CLUSTER_GENERATION", "")
    restarts = os.environ.get("TORCHELASTIC_RESTART_COUNT", "")
    return any(one.isdecimal() and int(one) > first
               for one, first in ((generation, 1), (restarts, 0)))  # fmt: skip


def say_begins_anew(kept: bool, started_before: bool) -> None:
    """Of all ranks, none of which has what the training could go on from: whether any has kept
    something, and whether any was started before. A first start has nothing to say."""
    if kept:
        print("optile: of no step is every layer kept by a rank that is left, in a form for this "
              "number of ranks: the training begins with what the program has loaded",
              file=sys.stderr)  # fmt: skip
    elif started_before:
        print("optile: nothing is kept by the ranks that are left: the training begins with what "
              "the program has loaded", file=sys.stderr)  # fmt: skip


@dataclass
class Kept:
    step: int
    state: Dict[str, Any]


class StateKeeper:
    """Of one rank. Where there is no place for it, it keeps nothing, and `reason` says why. With
    `former`, the last state but one is kept too: ranks that have a part each need one of the same
    step, and one of them may be lost while it keeps its own."""

    def __init__(self, clock: Callable[[], float], former: bool = False) -> None:
        self.every: Optional[int] = None  # steps; None: not known yet, or nothing is kept
        self.kept_step: Optional[int] = None
        self.reason = ""
        self._clock = clock
        self._keeps_former = former
        self._agreed: Optional[int] = None  # as `every`, also of a rank that has failed to keep
        self._began_at = 0
        self._found_steps: Dict[Path, int] = {}
        self._file: Optional[Path] = None
        atexit.register(self._end)
        launch = _launch()
        try:
            folder = _folder()
            _remove_ended(folder)
            of_launch = folder / f"{launch}-{_started(launch)}-{_processes()}"
            of_launch.mkdir(mode=0o700, exist_ok=True)
            # Which of all ranks it is may change from one start to the next; `optile launch` starts
            # one on a node.
            alone = "OPTILE_LAUNCH" in os.environ
            rank = os.environ.get("LOCAL_RANK") or ("0" if alone else os.environ.get("RANK", "0"))
            self._file = of_launch / f"rank{int(rank)}"
        except (OSError, ValueError) as error:
            self.reason = str(error)

    def found(self) -> List[Kept]:
        """What an earlier process in this one's place has kept, in the same launch; the latest
        first."""
        found = {path: kept for path in self._files()
                 if path.exists() and (kept := self._read(path)) is not None}  # fmt: skip
        self._found_steps = {path: kept.step for path, kept in found.items()}
        return list(found.values())

    def _files(self) -> List[Path]:
        """The latest first."""
        return [] if self._file is None else [self._file, self._former(self._file)]

    @staticmethod
    def _former(file: Path) -> Path:
        return file.with_suffix(".former")

    def _read(self, file: Path) -> Optional[Kept]:
        try:
            read = torch.load(file, weights_only=True)
            return Kept(read["step"], read["state"])
        except Exception as error:  # whatever a file that is no longer whole makes it raise
            self.reason = f"{file}: {error}"
            return None

    def begin_at(self, step: int) -> None:
        """This process begins behind that step: what was found of later ones is computed anew, and
        may not push out what all ranks have."""
        self._began_at = step
        for path, found_step in self._found_steps.items():
            if found_step > step:
                path.unlink(missing_ok=True)
        if self._file is not None and not self._file.exists():
            with contextlib.suppress(OSError):  # there is no former one
                self._former(self._file).replace(self._file)

    def keep_where_due(
        self, step: int, step_seconds: float, state: Callable[[], Dict[str, Any]],
        gather: Callable[[Sequence[float]], List[List[float]]], all_needed: bool = False,
    ) -> None:  # fmt: skip
        """Behind every step. Collective once, by `gather`: how often is decided by the slowest
        rank. With `all_needed`, nothing is kept where a rank cannot keep its part, and `state()`
        is called by all ranks at the same steps."""
        if self._agreed is not None:
            if step % self._agreed == 0 and (all_needed or self.every is not None):
                self.keep(step, state())
        elif step - self._began_at == _FIRST_KEPT:
            begin = self._clock()
            self.keep(step, state())
            took = self._clock() - begin
            every = gather([took, step_seconds, float(self.kept_step is None)])
            if all_needed and any(one[2] for one in every):
                self.reason = self.reason or "another rank cannot keep its part"
                self.forget()
                return
            slowest = [max(numbers) for numbers in zip(*every)]
            self._agreed = steps_between(*slowest[:2])
            self.every = self._agreed if self.kept_step is not None else None

    def keep(self, step: int, state: Dict[str, Any]) -> None:
        if self._file is None:
            return
        successor = self._file.with_suffix(".new")
        try:
            if shutil.disk_usage(_ROOT).free < _LEAST_ROOM * _bytes(state):
                raise OSError(f"{_ROOT} has not {_LEAST_ROOM} times the room that the state takes")
            torch.save({"step": step, "state": state}, successor)
            if self._keeps_former and self._file.exists():
                self._file.replace(self._former(self._file))
            successor.replace(self._file)
            self.kept_step = step
        except (OSError, RuntimeError) as error:  # PyTorch's own for a full file system
            self.reason = str(error)
            successor.unlink(missing_ok=True)
            self.forget()

    def forget(self) -> None:
        """Nothing is kept from here on."""
        if self._file is not None:
            for path in self._files():
                path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # other ranks have theirs in it
                self._file.parent.rmdir()
            self._file = None
        self.every = self.kept_step = None

    def _end(self) -> None:
        """An orderly end, not that of an exception: nobody goes on from here."""
        if not hasattr(sys, "last_type"):
            self.forget()


def steps_between(keep_seconds: float, step_seconds: float) -> int:
    """So many that keeping a state costs a hundredth of them at most."""
    return max(1, math.ceil(keep_seconds / max(_MOST_COST * step_seconds, 1e-9)))
