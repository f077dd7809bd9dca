"""What every training workload shares: arguments, the timed loop, the report.

A workload is a function from `Options` to a `Trainer`: everything it needs (model, optimizer,
data) is made once from the seed, and `Trainer.step(i)` then runs one training iteration and
returns its loss. The loop here times each step, prints progress to stderr and writes one JSON
object whose fields the benchmark drivers read.

Only stderr and the file (or stdout) that `--json` names are written. Seconds are wall time from
the monotonic clock, one value for each step after the warm-up.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import pathlib
import re
import statistics
import sys
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Protocol

import torch

# Progress lines closer together than this are dropped: a step of a small model takes 10 ms, and
# a terminal that scrolls is a load of its own.
PROGRESS_INTERVAL_SECONDS = 0.25

# The environment that decides how threads behave; everything else is left out of the report.
ENVIRONMENT_PREFIXES = ("OMP_", "KMP_", "GOMP_", "OPENBLAS_", "GOTO_", "BLIS_", "MKL_", "OPTILE_")
ENVIRONMENT_NAMES = ("LD_PRELOAD", "LD_LIBRARY_PATH", "DNNL_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY")


@dataclass(frozen=True)
class Options:
    """The command line of a workload."""

    steps: int
    warmup: int
    batch: int
    seed: int
    json_path: Optional[str]
    quiet: bool
    threads: Optional[int]
    seconds: Optional[float] = None
    pause: float = 0.0
    compiled: bool = False


class Trainer(Protocol):
    """One model with its optimizer and data."""

    def step(self, index: int) -> float:
        """Runs training iteration `index` and returns its loss."""


@dataclass
class StepTrainer:
    """A `Trainer` made of a function, with figures that are computed after the last step."""

    step_function: Callable[[int], float]
    final_figures: Callable[[], Dict[str, float]] = field(default=dict)

    def step(self, index: int) -> float:
        return self.step_function(index)


def as_asked(options: Options, model: torch.nn.Module) -> Callable[..., Any]:
    """What a step calls: the model, or what torch.compile makes of it."""
    return torch.compile(model) if options.compiled else model


def mapped_libraries() -> List[str]:
    """Paths of the shared objects in this process, links resolved, in no particular order."""
    paths = set()
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            fields = line.rstrip("\n").split(maxsplit=5)
            if len(fields) == 6 and ".so" in fields[5]:
                paths.add(os.path.realpath(fields[5]))
    return sorted(paths)


def _openblas_kind(path: str) -> str:
    """How this OpenBLAS makes threads, by its own word."""
    try:
        kind = ctypes.CDLL(path).openblas_get_parallel()
    except (OSError, AttributeError):
        return "openblas-unknown"
    return {0: "openblas-serial", 1: "openblas-pthread", 2: "openblas-openmp"}.get(
        kind, "openblas-unknown"
    )


def blas_in_use(libraries: List[str]) -> Dict[str, str]:
    """The BLAS provider among these libraries and its path; `mixed` if there are several."""
    found: Dict[str, str] = {}
    for path in libraries:
        name = os.path.basename(path)
        if re.match(r"libopenblas", name):
            found[_openblas_kind(path)] = path
        elif re.match(r"libblis", name) or "/blis-" in path:
            found.setdefault("blis", path)
        elif re.match(r"libmkl_(rt|core)", name):
            found["mkl"] = path
    if not found:
        # The reference library has no thread pool and no name of its own. The libblas.so.3 of
        # OpenBLAS is only a door to libopenblas, so this is looked at last.
        for path in libraries:
            if re.match(r"libblas\.so", os.path.basename(path)):
                found["reference"] = path
    if len(found) == 1:
        provider, path = next(iter(found.items()))
        return {"provider": provider, "path": path}
    return {"provider": "mixed" if found else "none", "path": " ".join(sorted(found.values()))}


def openmp_in_use(libraries: List[str]) -> Dict[str, str]:
    """The OpenMP runtime: `llvm` when libomp is loaded, which then answers for libgomp too."""
    for provider, pattern in (("llvm", r"lib(i?omp)[0-9-]*\.so"), ("libgomp", r"libgomp")):
        for path in libraries:
            if re.match(pattern, os.path.basename(path)):
                return {"runtime": provider, "path": path}
    return {"runtime": "none", "path": ""}


def relevant_environment() -> Dict[str, str]:
    return {
        name: value
        for name, value in sorted(os.environ.items())
        if name.startswith(ENVIRONMENT_PREFIXES) or name in ENVIRONMENT_NAMES
    }


def parse_options(name: str, default_batch: int, arguments: Optional[List[str]]) -> Options:
    def positive(text: str) -> int:
        value = int(text)
        if value < 1:
            raise argparse.ArgumentTypeError(f"{text} is not a positive number")
        return value

    def not_negative(text: str) -> int:
        value = int(text)
        if value < 0:
            raise argparse.ArgumentTypeError(f"{text} is negative")
        return value

    parser = argparse.ArgumentParser(prog=name, description=f"Trains {name} and times each step.")
    parser.add_argument("--steps", type=positive, default=20, help="timed steps (default 20)")
    parser.add_argument(
        "--warmup", type=not_negative, default=2, help="untimed steps before them (default 2)"
    )
    parser.add_argument(
        "--batch", type=positive, default=default_batch, help=f"default {default_batch}"
    )
    parser.add_argument("--seed", type=int, default=1, help="of weights and data (default 1)")
    parser.add_argument("--json", metavar="FILE", help="write the report here; - is stdout")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    parser.add_argument(
        "--threads", type=positive, help="call torch.set_num_threads (default: leave it alone)"
    )
    parser.add_argument(
        "--seconds", type=float, help="end after this many of timed steps, whatever --steps says"
    )
    parser.add_argument(
        "--pause", type=float, default=0.0, metavar="SECONDS",
        help="wait so long after every so many seconds of steps, as for data (default 0: never)",
    )  # fmt: skip
    parser.add_argument(
        "--compile", action="store_true", help="models by torch.compile: a longer warm-up"
    )
    parsed = parser.parse_args(arguments)
    return Options(
        steps=parsed.steps,
        warmup=parsed.warmup,
        batch=parsed.batch,
        seed=parsed.seed,
        json_path=parsed.json,
        quiet=parsed.quiet,
        threads=parsed.threads,
        seconds=parsed.seconds,
        pause=parsed.pause,
        compiled=parsed.compile,
    )


class Progress:
    """Lines such as `step 12/40 loss 2.31 0.51 s` on stderr, rate-limited."""

    def __init__(self, total: int, quiet: bool) -> None:
        self._total = total
        self._quiet = quiet
        self._last = -PROGRESS_INTERVAL_SECONDS

    def show(self, done: int, loss: float, seconds: float, warming: bool) -> None:
        now = time.perf_counter()
        due = now - self._last >= PROGRESS_INTERVAL_SECONDS or done == self._total
        if self._quiet or not due:
            return
        self._last = now
        note = " (warm-up)" if warming else ""
        print(
            f"step {done}/{self._total} loss {loss:.4g} {seconds:.3g} s{note}",
            file=sys.stderr,
            flush=True,
        )


def write_report(report: Dict[str, object], path: Optional[str]) -> None:
    if path is None:
        return
    text = json.dumps(report, indent=2) + "\n"
    if path == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    target = pathlib.Path(path)
    partial = target.with_name(target.name + ".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(target)


def main(
    name: str,
    default_batch: int,
    make: Callable[[Options], Trainer],
    arguments: Optional[List[str]] = None,
) -> int:
    """Runs the workload `name`; `make` is called once, after the seeds are set."""
    options = parse_options(name, default_batch, arguments)
    if options.threads is not None:
        torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    trainer = make(options)

    progress = Progress(options.warmup + options.steps, options.quiet)
    losses: List[float] = []
    seconds: List[float] = []
    ends: List[float] = []  # of timed steps, on the clock that all processes share
    total = sys.maxsize if options.seconds else options.warmup + options.steps
    worked_since = time.monotonic()
    for index in range(total):
        start = time.perf_counter()
        loss = trainer.step(index)
        elapsed = time.perf_counter() - start
        losses.append(loss)
        if index >= options.warmup:
            seconds.append(elapsed)
            ends.append(time.monotonic())
        progress.show(index + 1, loss, elapsed, index < options.warmup)
        if options.seconds and ends and ends[-1] - ends[0] >= options.seconds:
            break
        if options.pause > 0 and time.monotonic() - worked_since >= options.pause:
            time.sleep(options.pause)
            worked_since = time.monotonic()

    libraries = mapped_libraries()
    figures = trainer.final_figures() if isinstance(trainer, StepTrainer) else {}
    blas = blas_in_use(libraries)
    openmp = openmp_in_use(libraries)
    report: Dict[str, object] = {
        "workload": name,
        "batch": options.batch,
        "compiled": options.compiled,
        "seed": options.seed,
        "steps": len(seconds),
        "warmup": options.warmup,
        "step_seconds": seconds,
        "step_ends": ends,
        "median_seconds": statistics.median(seconds),
        "first_loss": losses[0],
        "last_loss": losses[-1],
        "figures": figures,
        "torch_version": torch.__version__,
        "torch_threads": torch.get_num_threads(),
        "blas": blas["provider"],
        "blas_path": blas["path"],
        "openmp_runtime": openmp["runtime"],
        "openmp_path": openmp["path"],
        "environment": relevant_environment(),
    }
    write_report(report, options.json_path)
    if not options.quiet:
        extra = "".join(f", {key} {value:.4g}" for key, value in figures.items())
        print(
            f"{name}: batch {options.batch}, median {statistics.median(seconds) * 1e3:.4g} ms a "
            f"step, loss {losses[0]:.4g} -> {losses[-1]:.4g}{extra}, BLAS {blas['provider']}, "
            f"OpenMP {openmp['runtime']}, torch threads {torch.get_num_threads()}",
            file=sys.stderr,
        )
    return 0
