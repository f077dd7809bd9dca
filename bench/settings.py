"""Uniform settings of a process: threads, OpenMP runtime, wait policy, BLAS threads.

A setting is what a user could set by hand before a program starts, the same for all of it. The
host optimum is the best of them, so this file decides what optile is compared with. Pure, but for
reading what the machine is.
"""

from __future__ import annotations

import datetime
import math
import os
import pathlib
import platform
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional

import blas_provider

# Whatever steers threads; taken out of the environment, so that only a setting's own words hold.
STEERING = (
    "OMP_", "GOMP_", "KMP_", "OPENBLAS_", "GOTO_", "BLIS_", "MKL_", "DNNL_", "OPTILE_",
    "LD_PRELOAD", "LD_LIBRARY_PATH",
)  # fmt: skip

# Providers with a thread pool beside OpenMP's, and the variable that sizes it before the start.
OWN_POOL: Mapping[str, str] = {"openblas-pthread": "OPENBLAS_NUM_THREADS"}

# Up to here every number of threads is tried, beyond it powers of two and the number of cores.
ALL_COUNTS_UP_TO = 8

# How idle threads wait: name -> variables. `default` is what the program's own runtime does with
# nothing set; it is in the grid because the recommendation is one of its points.
WAITS: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    "libomp": {
        "1 ms": {"KMP_BLOCKTIME": "1"},
        "passive": {"OMP_WAIT_POLICY": "passive"},
        "active": {"OMP_WAIT_POLICY": "active"},
    },
    "libgomp": {
        "passive": {"OMP_WAIT_POLICY": "passive"},
        "default": {},
        "active": {"OMP_WAIT_POLICY": "active"},
    },
}


class SettingError(Exception):
    """A setting cannot be had here; the message says what to do."""


@dataclass(frozen=True)
class Setting:
    """Variables on top of an environment without any, and a name for tables."""

    name: str
    variables: Mapping[str, str] = field(default_factory=dict)
    runtime: Optional[str] = None  # the OpenMP runtime that a run must have; None: its own

    def environment(self, provider: str) -> Dict[str, str]:
        return {**clean_environment(provider), **self.variables}

    def as_json(self) -> Dict[str, Any]:
        return {"name": self.name, "variables": dict(self.variables), "runtime": self.runtime}


def from_json(value: Mapping[str, Any]) -> Setting:
    try:
        variables = {str(name): str(text) for name, text in value["variables"].items()}
        return Setting(str(value["name"]), variables, value.get("runtime"))
    except (KeyError, AttributeError, TypeError) as error:
        raise SettingError(
            f"this is no setting ({error}): let bench/host_optimum.py write the file anew"
        ) from error


def clean_environment(provider: str) -> Dict[str, str]:
    """This process's environment without anything that steers threads, the provider put first."""
    env = {name: text for name, text in os.environ.items() if not name.startswith(STEERING)}
    return blas_provider.environment(provider, env)


# --- the machine ----------------------------------------------------------------------------


def _quota() -> float:
    """Cores that the control group grants; infinite where nothing limits them."""
    try:
        limit, period = pathlib.Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return math.inf if limit == "max" else int(limit) / int(period)
    except (OSError, ValueError):
        return math.inf


def usable_cores() -> int:
    """Hardware threads that this process may use."""
    units = len(os.sched_getaffinity(0))
    return max(1, int(min(units, math.ceil(min(_quota(), units)))))


def physical_cores() -> int:
    """Cores among them: hardware threads of one core count once."""
    cores = set()
    for unit in os.sched_getaffinity(0):
        folder = pathlib.Path(f"/sys/devices/system/cpu/cpu{unit}/topology")
        try:
            package = (folder / "physical_package_id").read_text().strip()
            cores.add((package, (folder / "core_id").read_text().strip()))
        except OSError:
            cores.add(("", str(unit)))
    return min(len(cores), usable_cores())


def _cpu_model() -> str:
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.machine()


def machine_description() -> Dict[str, Any]:
    """What belongs beside every figure; the load is that of this moment."""
    return {
        "model": _cpu_model(),
        "usable_cores": usable_cores(),
        "physical_cores": physical_cores(),
        "architecture": platform.machine(),
        "kernel": platform.release(),
        "load_average": list(os.getloadavg()),
        "utc": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
    }


# --- the settings ---------------------------------------------------------------------------


def counts(cores: int) -> List[int]:
    """Thread counts worth trying, the largest first: those are the likely ones."""
    if cores <= ALL_COUNTS_UP_TO:
        return list(range(cores, 0, -1))
    powers = [1 << bit for bit in range(cores.bit_length())]
    return sorted({count for count in powers if count <= cores} | {cores}, reverse=True)


def libomp_path() -> str:
    """LLVM's runtime under the name that takes libgomp's place."""
    library = blas_provider.library_folder() / "libomp.so.5"
    if not library.exists():
        raise SettingError(f"{library} is missing: install the package libomp5-14")
    return str(library)


def untouched() -> Setting:
    return Setting("untouched")


def recommendation() -> Setting:
    """What PyTorch's documentation says: as many threads as physical cores, nothing else."""
    return Setting("recommendation", {"OMP_NUM_THREADS": str(physical_cores())}, "libgomp")


def grid(provider: str, cores: int) -> List[Setting]:
    """Every uniform setting, those that usually do well first."""
    preload = {"libgomp": {}, "libomp": {"LD_PRELOAD": libomp_path()}}
    pool = OWN_POOL.get(provider)
    settings = []
    # Wheels open the libgomp that they carry, by a name of its own: nothing takes its place.
    wheel = provider == blas_provider.WITHIN_PYTORCH
    for runtime, waits in WAITS.items():
        if wheel and runtime != "libgomp":
            continue
        for wait, words in waits.items():
            for threads in counts(cores):
                base = {**preload[runtime], **words, "OMP_NUM_THREADS": str(threads)}
                name = f"{runtime} {wait}, {threads} threads"
                expected = "llvm" if runtime == "libomp" else "libgomp"
                if pool is None:
                    settings.append(Setting(name, base, expected))
                    continue
                for blas in counts(cores):
                    words_of_pool = {**base, pool: str(blas)}
                    settings.append(Setting(f"{name}, BLAS {blas}", words_of_pool, expected))
    return settings
