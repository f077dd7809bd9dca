"""`optile place step`, which finds the rank of each unit: before the first step, and later beside
the steps, at the lowest priority, so that training does not wait for it; and `optile place
strategy`, which chooses a split for each layer."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
from typing import Any, Dict, List, Optional

_EVALUATIONS = 20_000  # the answer depends on these alone, as long as there is time for them
_SECONDS = 5
_NICE = 19


def find_command() -> str:
    """Raises RuntimeError where there is none."""
    found = shutil.which("optile")
    beside = (folder / "bin" / "optile" for folder in pathlib.Path(__file__).resolve().parents)
    found = found or next((str(one) for one in beside if os.access(one, os.X_OK)), None)
    if found is None:
        raise RuntimeError(
            "a plan is searched for by the command optile, which is not in PATH: add the folder "
            "where it is installed, or name a placement or splits"
        )
    return found


def choose_strategies(problem: Dict[str, Any]) -> Dict[str, Any]:
    """The answer of `optile place strategy`, exact where OptCNN's elimination is. Raises
    RuntimeError with what the command says where it fails."""
    with tempfile.TemporaryDirectory(prefix="optile-place-") as folder:
        file = pathlib.Path(folder, "problem.json")
        file.write_text(json.dumps(problem), encoding="utf-8")
        ended = subprocess.run(
            [find_command(), "place", "strategy", "--graph", str(file), "--json", "--time-limit",
             f"{_SECONDS}s"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    if ended.returncode != 0:
        raise RuntimeError("optile place found no splits: " + ended.stderr.strip()[-500:])
    answer = json.loads(ended.stdout)
    assert isinstance(answer, dict)
    return answer


def _command(folder: str, file: Dict[str, Any]) -> List[str]:
    """Writes the file there, too."""
    graph = pathlib.Path(folder, "graph.json")
    graph.write_text(json.dumps(file), encoding="utf-8")
    return [
        find_command(), "place", "step", "--graph", str(graph), "--links", "edge", "--json",
        "--method", "local-search", "--evaluations", str(_EVALUATIONS),
        "--time-limit", f"{_SECONDS}s",
    ]  # fmt: skip


def place(file: Dict[str, Any]) -> Dict[str, Any]:
    """Waits for the answer. Raises RuntimeError with what the command says where it fails."""
    with tempfile.TemporaryDirectory(prefix="optile-place-") as folder:
        ended = subprocess.run(
            _command(folder, file), capture_output=True, text=True, check=False
        )
    if ended.returncode != 0:
        raise RuntimeError("optile place found no placement: " + ended.stderr.strip()[-500:])
    answer = json.loads(ended.stdout)
    assert isinstance(answer, dict)
    return answer


class BackgroundSearch:
    """One search after the other. Where one fails nothing is found."""

    def __init__(self) -> None:
        self._folder: Optional[tempfile.TemporaryDirectory[str]] = None
        self._running: Optional[subprocess.Popen[str]] = None

    @property
    def idle(self) -> bool:
        return self._running is None

    def begin(self, file: Dict[str, Any]) -> None:
        """Only while it is idle."""
        try:
            self._folder = tempfile.TemporaryDirectory(prefix="optile-place-")
            answer = pathlib.Path(self._folder.name, "answer.json")
            with answer.open("w", encoding="utf-8") as output:
                self._running = subprocess.Popen(
                    ["nice", "-n", str(_NICE), *_command(self._folder.name, file)],
                    stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.DEVNULL, text=True,
                )  # fmt: skip
        except (OSError, RuntimeError):
            self._end()

    def take(self) -> Optional[Dict[str, Any]]:
        """The answer, once, as soon as it is there. Never waits."""
        if self._running is None or self._running.poll() is None:
            return None
        assert self._folder is not None
        answer = None
        if self._running.returncode == 0:
            text = pathlib.Path(self._folder.name, "answer.json").read_text(encoding="utf-8")
            answer = json.loads(text)
        self._end()
        return answer

    def _end(self) -> None:
        self._running = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
