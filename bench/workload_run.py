"""One run of a workload in a fresh process: its environment, what is put before it, its times.

Everything that starts here ends here: the process gets a session of its own and all of it is
killed when the driver is interrupted, times out or fails.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import blas_provider
import settings

WORKLOADS = sorted(path.stem for path in blas_provider.WORKLOADS.glob("*.py") if
                   path.stem != "training")  # fmt: skip
# Built, in bin/ of a build; they use no BLAS.
NATIVE_WORKLOADS = sorted(path.stem for path in blas_provider.WORKLOADS.glob("*.cc") if
                          path.stem != "timed_loop")  # fmt: skip
INTERRUPTED = 130
LINES_OF_ERROR = 12
# Others may keep this many cores busy before a table says so.
QUIET_CORES = 0.15
# Seconds of a step's repetition that a run spends before it is timed, and the steps that takes.
WARM_SECONDS = 1.0
LEAST_WARM, MOST_WARM = 3, 30


class RunError(Exception):
    """A run failed or measured something else than asked; the message says what to do."""


class TooSlow(Exception):
    """The run was ended at its time limit."""


@dataclass(frozen=True)
class Workload:
    """A program of bench/workloads and its batch; None is the program's default."""

    name: str
    batch: Optional[int] = None
    binary: Optional[pathlib.Path] = None  # of a native one
    pause: float = 0.0  # seconds, after every so many of work; not for native ones
    compiled: bool = False  # its models, by torch.compile

    @property
    def title(self) -> str:
        title = f"{self.name}:{self.batch}" if self.batch else self.name
        return f"{title}, compiled" if self.compiled else title

    def command(self, steps: int, warmup: int, own_report: pathlib.Path) -> List[str]:
        words = [str(self.binary)]
        if self.binary is None:
            words = [blas_provider.PYTHON, str(blas_provider.WORKLOADS / f"{self.name}.py")]
        words += ["--steps", str(steps)]
        words += ["--warmup", str(warmup), "--json", str(own_report), "--quiet"]
        words += ["--pause", f"{self.pause:g}"] if self.pause > 0 else []
        words += ["--compile"] if self.compiled else []
        return words + (["--batch", str(self.batch)] if self.batch else [])


def program_words(text: str) -> Tuple[str, Optional[int]]:
    """A program as a command line names it, `lstm` or with a batch `resnet50:2`."""
    name, colon, batch = text.partition(":")
    if name in NATIVE_WORKLOADS and colon:
        raise argparse.ArgumentTypeError(f"{name} has no batch")
    if name not in [*WORKLOADS, *NATIVE_WORKLOADS]:
        known = ", ".join([*WORKLOADS, *NATIVE_WORKLOADS])
        raise argparse.ArgumentTypeError(f"no program {name}: there are {known}")
    if colon and not batch.isdigit():
        raise argparse.ArgumentTypeError(f"{text}: a batch is a positive number")
    return name, positive(batch) if colon else None


def add_programs_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "workloads", nargs="+", type=program_words, metavar="PROGRAM[:BATCH]",
        help=f"of {', '.join([*WORKLOADS, *NATIVE_WORKLOADS])}",
    )  # fmt: skip


def workload_in(build: pathlib.Path, name: str, batch: Optional[int] = None) -> Workload:
    if name not in NATIVE_WORKLOADS:
        return Workload(name, batch)
    binary = build.resolve() / "bin" / name
    if not binary.exists():
        raise RunError(f"{binary} is missing: run ./dev build, or name a finished --build")
    return Workload(name, binary=binary)


@dataclass(frozen=True)
class Launch:
    """A way to start a workload, with the label that tables show."""

    label: str
    environment: Mapping[str, str]
    prefix: Tuple[str, ...] = ()  # words before the workload's command line
    report: Optional[pathlib.Path] = None  # that the prefix writes, read after each run
    blas: Optional[str] = None  # provider that the process must have loaded
    runtime: Optional[str] = None  # OpenMP runtime that it must have loaded


def launch_of(setting: settings.Setting, provider: str, label: Optional[str] = None) -> Launch:
    return Launch(
        label=label or setting.name,
        environment=setting.environment(provider),
        blas=provider,
        runtime=setting.runtime,
    )


@dataclass
class Measured:
    """Step times after the warm-up, and what else the run left behind."""

    step_seconds: List[float]
    wall_seconds: float
    foreign_cores: float  # kept busy meanwhile by others than this run
    program: Dict[str, Any] = field(default_factory=dict)
    report: Dict[str, Any] = field(default_factory=dict)

    @property
    def median(self) -> float:
        return statistics.median(self.step_seconds)


def warmup_for(step_seconds: float) -> int:
    """Untimed steps: long enough for caches, pools and a replayed plan to be in place."""
    return max(LEAST_WARM, min(MOST_WARM, round(WARM_SECONDS / max(step_seconds, 1e-6))))


def steps_for(step_seconds: float, seconds: float, least: int = 3, most: int = 5000) -> int:
    return max(least, min(most, round(seconds / max(step_seconds, 1e-6))))


# --- one process ----------------------------------------------------------------------------


def end_process(process: "subprocess.Popen[Any]", patience: float = 3.0) -> None:
    """Ends a process that leads its own session, and everything in it. It has so long to end."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience)
            if sign == signal.SIGKILL:
                return


def _busy_seconds() -> float:
    """Core seconds that this machine spent on anything since it started."""
    try:
        with open("/proc/stat", encoding="ascii") as stat:
            ticks = [int(word) for word in stat.readline().split()[1:9]]
    except (OSError, ValueError):
        return 0.0
    idle, waiting = ticks[3], ticks[4]
    return (sum(ticks) - idle - waiting) / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF))
    )


def load(path: pathlib.Path) -> Dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(f"no usable report in {path}: {error}") from error
    if not isinstance(value, dict):
        raise RunError(f"{path} holds no JSON object")
    return value


def execute(
    command: Sequence[str], env: Mapping[str, str], limit: Optional[float], label: str
) -> None:
    """Runs the command to its end; its output is shown only when it fails."""
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        process = subprocess.Popen(
            list(command), env=dict(env), stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            start_new_session=True,
        )  # fmt: skip
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            raise TooSlow(f"{label} took more than {limit:.0f} s") from None
        finally:
            end_process(process)
        if code == 0:
            return
        output.seek(0)
        last = "".join(output.readlines()[-LINES_OF_ERROR:])
        raise RunError(f"{label} ended with status {code}: {' '.join(command)}\n{last}")


def run(
    launch: Launch, workload: Workload, steps: int, warmup: int, limit: Optional[float] = None
) -> Measured:
    """One fresh process; `limit` in seconds of wall time."""
    with tempfile.TemporaryDirectory(prefix="optile-bench-") as folder:
        own = pathlib.Path(folder, "program.json")
        if launch.report is not None:
            launch.report.unlink(missing_ok=True)
        begin, busy, mine = time.monotonic(), _busy_seconds(), _own_seconds()
        command = [*launch.prefix, *workload.command(steps, warmup, own)]
        execute(command, launch.environment, limit, launch.label)
        wall = time.monotonic() - begin
        foreign = (_busy_seconds() - busy - (_own_seconds() - mine)) / max(wall, 1e-3)
        program = load(own)
    report = load(launch.report) if launch.report is not None else {}
    check(launch, workload, program)
    seconds = [float(one) for one in program["step_seconds"]]
    return Measured(seconds, wall, max(0.0, foreign), program, report)


def check(launch: Launch, workload: Workload, program: Mapping[str, Any]) -> None:
    if launch.blas is not None and workload.binary is None:
        blas_provider.require(launch.blas, str(program.get("blas")))
    actual = program.get("openmp_runtime")
    if launch.runtime is not None and actual != launch.runtime:
        raise RunError(
            f"{launch.label}: asked for OpenMP runtime {launch.runtime}, the process loaded "
            f"{actual}: look for a wrapper that replaces LD_PRELOAD"
        )


# --- what every driver shares ---------------------------------------------------------------

_BEGIN = time.monotonic()


def progress(text: str) -> None:
    print(f"[{time.monotonic() - _BEGIN:6.0f} s] {text}", file=sys.stderr, flush=True)


def positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def python_there(text: str) -> str:
    """Told to all that start workloads, as there is one in a driver."""
    if not os.access(text, os.X_OK):
        raise argparse.ArgumentTypeError(f"{text} is no program")
    blas_provider.use_python(os.path.abspath(text))
    return text


def add_python_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--python", type=python_there, metavar="FILE",
        help="another than Debian's; --blas none where its PyTorch is of a wheel",
    )  # fmt: skip


def add_workload_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("workload", choices=WORKLOADS)
    parser.add_argument(
        "--blas", required=True, choices=sorted(blas_provider.FOLDERS), help="BLAS provider"
    )
    add_python_argument(parser)
    parser.add_argument("--batch", type=positive, help="of the workload (default: its own)")
    parser.add_argument("--compile", action="store_true", help="its models, by torch.compile")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the result here")


def workload_of(options: argparse.Namespace) -> Workload:
    """Of what add_workload_arguments() added."""
    return Workload(options.workload, options.batch, compiled=options.compile)


def checked_provider(provider: str) -> Dict[str, str]:
    """Loads the provider in a process of its own and says what that was."""
    actual = blas_provider.loaded(
        settings.clean_environment(provider), provider == blas_provider.WITHIN_PYTORCH
    )
    blas_provider.require(provider, actual.provider)
    progress(f"BLAS {actual.provider}: {actual.path}")
    return {"provider": actual.provider, "path": actual.path}


def write_json(path: Optional[pathlib.Path], value: Mapping[str, Any]) -> None:
    """Beside the file and renamed into place: a reader never sees half of it."""
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    partial.replace(path)


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def command_line(name: str, main: Callable[[List[str]], int]) -> int:
    """Runs a driver: errors become one line, Ctrl-C and SIGTERM an orderly end."""
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return main(sys.argv[1:])
    except KeyboardInterrupt:
        print(f"\n{name}: interrupted; what it started has ended", file=sys.stderr)
        return INTERRUPTED
    except TooSlow as error:
        print(f"{name}: {error}: the machine is busy, or the program hangs", file=sys.stderr)
        return 1
    except (RunError, settings.SettingError, blas_provider.ProviderError, OSError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
