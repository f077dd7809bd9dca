#!/usr/bin/python3
"""Chooses the BLAS of a process by name, and checks that the process got it.

Debian installs each BLAS in a folder of its own below the library folder of the architecture and
lets the system choose one. `LD_LIBRARY_PATH` overrides that choice for one process, so results
for several providers can be compared without touching the machine.

    blas_provider.py                                  which providers are installed
    blas_provider.py openblas-openmp -- COMMAND ...   run COMMAND with that provider
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

PYTHON = "/usr/bin/python3"
# Of a PyTorch that has its products in itself, as wheels have.
WITHIN_PYTORCH = "none"
WORKLOADS = pathlib.Path(__file__).resolve().parent / "workloads"

# Provider name -> the folders that hold its libblas.so.3 and liblapack.so.3, and its package.
FOLDERS: Mapping[str, Tuple[Sequence[str], str]] = {
    "openblas-pthread": (("openblas-pthread",), "libopenblas0-pthread"),
    "openblas-openmp": (("openblas-openmp",), "libopenblas0-openmp"),
    "blis": (("blis-openmp", "lapack"), "libblis4-openmp and liblapack3"),
    "reference": (("blas", "lapack"), "libblas3 and liblapack3"),
    WITHIN_PYTORCH: ((), ""),
}


class ProviderError(Exception):
    """The provider cannot be had; the message says what to do."""


@dataclass(frozen=True)
class LoadedBlas:
    """What a process really loaded."""

    provider: str
    path: str


def library_folder() -> pathlib.Path:
    """Where Debian keeps the libraries of this architecture, such as /usr/lib/<triplet>."""
    triplet = sysconfig.get_config_var("MULTIARCH")
    if triplet and pathlib.Path("/usr/lib", triplet).is_dir():
        return pathlib.Path("/usr/lib", triplet)
    for folder in sorted(pathlib.Path("/usr/lib").glob("*-linux-gnu*")):
        if (folder / "libc.so.6").exists():
            return folder
    return pathlib.Path("/usr/lib")


def environment(provider: str, base: Optional[Mapping[str, str]] = None) -> Dict[str, str]:
    """The environment `base` (this process's own by default) with the provider put first."""
    if provider not in FOLDERS:
        raise ProviderError(f"no BLAS provider {provider}: choose one of {', '.join(FOLDERS)}")
    result = dict(os.environ if base is None else base)
    if provider == WITHIN_PYTORCH:
        return result
    names, package = FOLDERS[provider]
    folders = [library_folder() / name for name in names]
    if not (folders[0] / "libblas.so.3").exists():
        raise ProviderError(f"{provider} is not installed: install the package {package}")
    paths = [str(folder) for folder in folders if folder.is_dir()]
    if result.get("LD_LIBRARY_PATH"):
        paths.append(result["LD_LIBRARY_PATH"])
    result["LD_LIBRARY_PATH"] = ":".join(paths)
    return result


def installed() -> List[str]:
    found = []
    for provider in FOLDERS:
        if provider == WITHIN_PYTORCH:
            continue
        try:
            environment(provider)
        except ProviderError:
            continue
        found.append(provider)
    return found


def use_python(path: str) -> None:
    """From now on workloads run in this one, with the packages that it has."""
    global PYTHON  # noqa: PLW0603  (one for a whole driver)
    PYTHON = path


def loaded(env: Mapping[str, str], within_pytorch: bool = False) -> LoadedBlas:
    """Starts a Python with this environment and asks what libblas.so.3, or PyTorch, is there."""
    load = "import torch\n" if within_pytorch else "ctypes.CDLL('libblas.so.3')\n"
    program = (
        "import ctypes, json, sys\n"
        f"sys.path.insert(0, {str(WORKLOADS)!r})\n"
        "import training\n"
        f"{load}"
        "print(json.dumps(training.blas_in_use(training.mapped_libraries())))\n"
    )
    done = subprocess.run(
        [PYTHON, "-c", program], env=dict(env), stdout=subprocess.PIPE, check=True, text=True
    )
    answer = json.loads(done.stdout)
    return LoadedBlas(answer["provider"], answer["path"])


def require(provider: str, actual: str) -> None:
    """Refuses a result that was made with another provider than the one asked for."""
    if actual != provider:
        raise ProviderError(
            f"asked for BLAS {provider}, the process loaded {actual}: "
            "look for a wrapper that replaces LD_LIBRARY_PATH"
        )


def main(arguments: List[str]) -> int:
    try:
        if not arguments:
            for provider in installed():
                actual = loaded(environment(provider))
                require(provider, actual.provider)
                print(f"{provider:18} {actual.path}")
            return 0
        provider, *command = arguments
        if command[:1] == ["--"]:
            command = command[1:]
        env = environment(provider)
        actual = loaded(env)
        require(provider, actual.provider)
        if not command:
            print(f"LD_LIBRARY_PATH={env['LD_LIBRARY_PATH']}")
            return 0
        os.execvpe(command[0], command, env)
    except (ProviderError, OSError) as error:
        print(f"blas_provider: {error}", file=sys.stderr)
        return 125


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
