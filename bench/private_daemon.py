"""A daemon with a store and a socket of its own, and a first run under it that settles a plan.

Each form of the ablation gets its own, so that no form replays what another one learned, and
nothing of the user's is read or written.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import pathlib
import shutil
import signal
import socket
import subprocess
import time
import urllib.parse
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Type

import settings
import workload_run
from workload_run import RunError, Workload, progress

START_PATIENCE = 10.0
ANSWER_PATIENCE = 10.0
END_PATIENCE = 60.0  # a program of many gigabytes on a full machine
LOOK_SECONDS = 1.0
# A daemon that outlives its driver, however that ended, goes by itself.
IDLE_EXIT_SECONDS = 3600
# A settled run goes on until so many steps were made under the plan, or so long.
SETTLED_STEPS = 5
SETTLED_SECONDS = 20.0
ENDLESS_STEPS = 1000000
LIBRARIES = ("preload", "torch_bridge", "counters", "admission")


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: pathlib.Path) -> None:
        super().__init__("localhost", timeout=ANSWER_PATIENCE)
        self._path = str(path)

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


@dataclass
class Preparation:
    """The first run of a form."""

    settled: bool
    seconds: float
    report: Dict[str, Any]
    explanations: List[Dict[str, Any]] = field(default_factory=list)

    def as_json(self) -> Dict[str, Any]:
        names = ("phase", "decision", "steps", "sampled_steps", "samples", "launch_plan",
                 "uniform_width", "default_width", "overhead_ratio", "fallbacks")  # fmt: skip
        chosen = {name: self.report.get(name) for name in names}
        return {"settled": self.settled, "seconds": self.seconds, **chosen}


def binaries(build: pathlib.Path) -> List[pathlib.Path]:
    """The launcher, the daemon and what they need in the process."""
    found = [build / "bin" / "optile", build / "bin" / "optiled"]
    found += [build / "lib" / f"liboptile_{name}.so" for name in LIBRARIES]
    for needed in found:
        if not needed.exists():
            raise RunError(f"{needed} is missing: run ./dev build, or name a finished --build")
    return found


def copy_build(build: pathlib.Path, target: pathlib.Path) -> str:
    """A copy that no build in the meantime changes; the answer tells it from others."""
    digest = hashlib.sha256()
    for source in binaries(build):
        copied = target / source.parent.name / source.name
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, copied)
        digest.update(copied.read_bytes())
    return digest.hexdigest()[:16]


class PrivateDaemon:
    """Runs from `with` to its end; owns the process, not the folder."""

    def __init__(
        self, build: pathlib.Path, folder: pathlib.Path, name: str, words: Sequence[str] = ()
    ) -> None:
        """`words`: options of the daemon besides."""
        self._words = tuple(words)
        self._optile, self._optiled = binaries(build.resolve())[:2]
        self.socket = folder / f"{name}.sock"
        self.report = folder / f"{name}.report.json"
        self._store = folder / f"{name}.db"
        self._process: Optional["subprocess.Popen[bytes]"] = None

    def __enter__(self) -> "PrivateDaemon":
        self.start()
        return self

    def start(self) -> None:
        """Also after kill(): on the same socket and store."""
        command = [str(self._optiled), "--socket", str(self.socket), "--store", str(self._store)]
        self._process = subprocess.Popen(
            [*command, "--idle-exit", str(IDLE_EXIT_SECONDS), *self._words],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        try:
            self._wait_until_it_answers(command)
        except BaseException:
            self.stop()
            raise

    def kill(self) -> None:
        """With -9: it cleans up nothing."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.stop()

    def stop(self) -> None:
        if self._process is not None:
            workload_run.end_process(self._process)
            self._process = None

    def _wait_until_it_answers(self, command: Sequence[str]) -> None:
        end = time.monotonic() + START_PATIENCE
        while time.monotonic() < end:
            if self._process is None or self._process.poll() is not None:
                break
            try:
                self.get("/v1/status")
                return
            except (OSError, RunError):
                time.sleep(0.02)
        raise RunError(f"the daemon does not start; see what it says: {' '.join(command)}")

    def get(self, target: str) -> Dict[str, Any]:
        connection = _UnixConnection(self.socket)
        try:
            connection.request("GET", target)
            response = connection.getresponse()
            body = json.loads(response.read())
        except (http.client.HTTPException, ValueError) as error:
            raise RunError(f"the daemon's answer to {target} is unreadable: {error}") from error
        finally:
            connection.close()
        if response.status != 200 or not isinstance(body, dict):
            raise RunError(f"the daemon answered {response.status} to {target}")
        return body

    def prefix(self, options: Sequence[str], report: bool = True) -> Tuple[str, ...]:
        """The launcher's words before a command."""
        own = ("--report", str(self.report)) if report else ()
        return (
            str(self._optile), "run", "--socket", str(self.socket), "--store", str(self._store),
            *own, *options, "--",
        )  # fmt: skip

    # --- the first run ----------------------------------------------------------------------

    def prepare(
        self, workload: Workload, environment: Mapping[str, str], options: Sequence[str],
        seconds: float,
    ) -> Preparation:  # fmt: skip
        """Trains until the plan is settled and stored, or `seconds` are over."""
        own = self.report.with_suffix(".program.json")
        command = [*self.prefix(options), *workload.command(ENDLESS_STEPS, 0, own)]
        self.report.unlink(missing_ok=True)
        begin = time.monotonic()
        process = subprocess.Popen(
            command, env=dict(environment), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            settled = self._watch(process, begin + seconds)
            # The launcher hands the signal on, waits for the program and writes the report.
            process.send_signal(signal.SIGTERM)
            process.wait(END_PATIENCE)
        except subprocess.TimeoutExpired:
            raise RunError("the first run does not end on SIGTERM") from None
        finally:
            workload_run.end_process(process)
        try:
            report = json.loads(self.report.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise RunError(f"the first run left no report: {error}") from error
        return Preparation(settled, time.monotonic() - begin, report, self.explain_all(report))

    def _watch(self, process: "subprocess.Popen[bytes]", until: float) -> bool:
        """True once the client is tuned and stays so for some steps."""
        tuned_since: Optional[float] = None
        shown = 0.0
        while time.monotonic() < until:
            time.sleep(LOOK_SECONDS)
            if process.poll() is not None:
                raise RunError(
                    f"the first run ended by itself with status {process.returncode}; "
                    "run the workload by hand to see why"
                )
            client = self._running_client()
            if not client:
                continue
            now = time.monotonic()
            if now - shown >= 10:
                shown = now
                progress(f"  {client['phase']}, step {client['steps']}")
            if client["phase"] != "tuned":
                tuned_since = None
                continue
            tuned_since = tuned_since or now
            made = int((client.get("step_samples") or {}).get("tuned", 0))
            if made >= SETTLED_STEPS or now - tuned_since >= SETTLED_SECONDS:
                return True
        return False

    def _running_client(self) -> Mapping[str, Any]:
        for client in self.get("/v1/clients").get("clients", []):
            if client.get("state") == "running":
                return self.get(f"/v1/clients/{client['id']}")
        return {}

    def explain_all(self, report: Mapping[str, Any]) -> List[Dict[str, Any]]:
        """The explanation of every op of the report, in its order, as far as the daemon knows."""
        known: Dict[str, Dict[str, Any]] = {}
        wanted = [(str(op["id"]), op.get("client")) for op in report.get("ops", [])]
        for op, client in wanted:
            if op in known or client is None:
                continue
            answer = self.get(f"/v1/ops/{urllib.parse.quote(op)}/explain?client={client}")
            for one in answer.get("explanations", []):
                known.setdefault(str(one["id"]), one)
        return [known[op] for op, _ in wanted if op in known]
