"""Tells the plan in force to the daemon of this machine, for `optile cluster plan`.

Never waits within a step: what is told goes into the daemon's socket as a whole or not at all, and
no answer is read. Where no daemon listens, nothing happens, and training is the same.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import stat
import sys
import time
from typing import Any, Dict, List, Optional, Sequence

from .changes import Change
from .plan_record import MOST_RANKS, PlanInForce, RankTimes, plan_record

_SYSTEM_SOCKET = "/run/optile/optiled.sock"
_ASKING_SECONDS = 0.3  # before the first step, for this node's name
_BETWEEN_SECONDS = 5.0  # where the plan is the same
_MOST_NAME = 63


def as_name(text: str, otherwise: str) -> str:
    """As nodes and jobs may be called."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", text)[:_MOST_NAME] or otherwise


def job_name() -> str:
    """What `optile launch` says, or the program's file."""
    named = os.environ.get("OPTILE_CLUSTER_JOB", "")
    return as_name(named or os.path.basename(sys.argv[0] if sys.argv else ""), "job")


def generation() -> Dict[str, Any]:
    """Of a job that outlives its nodes, as `optile launch --nodes MIN:MAX` says it; an older daemon
    takes nothing of it."""
    number = os.environ.get("OPTILE_GENERATION", "")
    if not number.isdecimal():
        return {}
    lost = os.environ.get("OPTILE_LOST_NODES", "")
    return {"generation": int(number), "lost_nodes": lost.split(",") if lost else []}


def _own_folder(path: str) -> bool:
    """Nobody else can have put a socket there."""
    try:
        folder = os.lstat(os.path.dirname(path))
    except OSError:
        return False
    return stat.S_ISDIR(folder.st_mode) and folder.st_uid == os.geteuid()


def daemon_socket() -> Optional[str]:
    """As docs/reference/man/optile.1 says it, whether somebody listens there or not."""
    if named := os.environ.get("OPTILE_SOCKET"):
        return named
    system = os.environ.get("OPTILE_SYSTEM_SOCKET") or _SYSTEM_SOCKET
    if os.access(system, os.W_OK):
        return system
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    own = [os.path.join(runtime, "optile", "optiled.sock")] if runtime else []
    own.append(f"/tmp/optile-{os.geteuid()}/optiled.sock")
    return next((path for path in own if _own_folder(path)), None)


def _request(method: str, target: str, body: str = "") -> bytes:
    return (
        f"{method} {target} HTTP/1.1\r\nHost: optile\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body.encode())}\r\n\r\n{body}"
    ).encode()


def _answer(path: str, target: str) -> Any:
    """What the daemon says, as JSON; waits a moment at most. None: nothing."""
    try:
        with socket.socket(socket.AF_UNIX) as daemon:
            end = time.monotonic() + _ASKING_SECONDS
            daemon.settimeout(_ASKING_SECONDS)
            daemon.connect(path)
            daemon.sendall(_request("GET", target))
            got = b""
            while part := daemon.recv(65536):
                got += part
                daemon.settimeout(max(0.001, end - time.monotonic()))
        return json.loads(got.partition(b"\r\n\r\n")[2])
    except (OSError, ValueError):
        return None


def _tell(path: str, target: str, body: str) -> None:
    try:
        with socket.socket(socket.AF_UNIX) as daemon:
            daemon.setblocking(False)
            daemon.connect(path)
            daemon.send(_request("POST", target, body))
    except OSError:
        pass


def node_name() -> str:
    """As the cluster knows this machine, or as it is called."""
    path = daemon_socket()
    answer = _answer(path, "/v1/cluster") if path else None
    named = answer.get("name") if isinstance(answer, dict) else None
    return as_name(named if isinstance(named, str) else socket.gethostname(), "node")


class PlanTeller:
    """Of rank 0. `nodes`: where each rank runs."""

    def __init__(self, nodes: Sequence[str]) -> None:
        self._nodes = list(nodes)
        self._path = daemon_socket() if len(self._nodes) <= MOST_RANKS else None
        self._job = job_name()
        self._run = secrets.token_hex(12)
        self._epoch = 1
        self._since = 0
        self._told: Optional[List[Any]] = None
        self._told_at = 0.0
        self._generation = generation()
        self.choice = ""  # why so many ranks run one model

    def changed(self, step: int) -> None:
        """Another plan is in force behind that step."""
        self._epoch += 1
        self._since = step

    def tell(
        self, step: int, in_force: PlanInForce, times: Sequence[RankTimes],
        changes: Sequence[Change],
    ) -> None:  # fmt: skip
        if self._path is None:
            return
        now = time.monotonic()
        news = [self._epoch, self.choice, len(changes), changes[-1].measured if changes else None]
        if news == self._told and now < self._told_at + _BETWEEN_SECONDS:
            return
        self._told, self._told_at = news, now
        named: Dict[str, Any] = {
            "job": self._job, "run": self._run, "epoch": self._epoch, "step": step,
            "since_step": self._since, "choice": self.choice, **self._generation,
        }  # fmt: skip
        record = plan_record(named, in_force, self._nodes, times, changes)
        _tell(self._path, "/v1/cluster/plans", json.dumps(record))
