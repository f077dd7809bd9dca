"""Tells the plan in force to the daemon of this machine, for `optile cluster plan`, and asks it for
others.

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
from dataclasses import replace
from typing import Any, Dict, List, Optional, Sequence

from .changes import Change
from .plan_asking import PlanAsker, SocketQuestion, Verdict, launch_claim, request_text
from .plan_record import MOST_RANKS, PlanInForce, RankTimes, plan_record

_SYSTEM_SOCKET = "/run/optile/optiled.sock"
_ASKING_SECONDS = 0.3  # before the first step, for this node's name
_BETWEEN_SECONDS = 5.0  # where the plan is the same
_MOST_NAME = 63
_MOST_REASON = 256


def as_name(text: str, otherwise: str) -> str:
    """As nodes and jobs may be called."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", text)[:_MOST_NAME] or otherwise


def as_shown(text: str) -> str:
    """As the daemon takes a reason."""
    return re.sub(r"[^ -~]", "?", text)[:_MOST_REASON]


def job_name() -> str:
    """What `optile launch` says, or the program's file."""
    named = os.environ.get("OPTILE_CLUSTER_JOB", "")
    return as_name(named or os.path.basename(sys.argv[0] if sys.argv else ""), "job")


def generation() -> Dict[str, Any]:
    """Of a job that outlives its nodes, as `optile launch --nodes MIN:MAX` says it; an older daemon
    takes nothing of it."""
    number = os.environ.get("OPTILE_CLUSTER_GENERATION", "")
    if not number.isdecimal() or int(number) == 0:
        return {}
    lost = os.environ.get("OPTILE_CLUSTER_LOST_NODES", "")
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


def _answer(path: str, target: str) -> Any:
    """What the daemon says, as JSON; waits a moment at most. None: nothing."""
    try:
        with socket.socket(socket.AF_UNIX) as daemon:
            end = time.monotonic() + _ASKING_SECONDS
            daemon.settimeout(_ASKING_SECONDS)
            daemon.connect(path)
            daemon.sendall(request_text("GET", target))
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
            daemon.send(request_text("POST", target, body))
    except OSError:
        pass


def node_name() -> str:
    """As the cluster knows this machine, or as it is called."""
    path = daemon_socket()
    answer = _answer(path, "/v1/cluster") if path else None
    named = answer.get("name") if isinstance(answer, dict) else None
    return as_name(named if isinstance(named, str) else socket.gethostname(), "node")


def _is_in_cluster(path: str) -> bool:
    """Where a daemon listens and says nothing within a moment, it may be."""
    answer = _answer(path, "/v1/cluster")
    if isinstance(answer, dict):
        return answer.get("state", "none") != "none"
    try:
        with socket.socket(socket.AF_UNIX) as daemon:
            daemon.setblocking(False)
            daemon.connect(path)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return True


class PlanTeller:
    """Of rank 0; those of the others are asked for nothing. `nodes`: where each rank runs."""

    def __init__(self, nodes: Sequence[str], rank: int = 0) -> None:
        self._nodes = list(nodes)
        self._path = daemon_socket() if len(self._nodes) <= MOST_RANKS and rank == 0 else None
        self._rank = rank
        self._job = job_name()
        self._run = secrets.token_hex(12)
        self._since = 0
        self._told: Optional[List[Any]] = None
        self._told_at = 0.0
        self._generation = generation()
        self.choice = ""  # why so many ranks run one model
        path = self._path
        claim = launch_claim() if path is not None else None
        if path is None or claim is None or not _is_in_cluster(path):
            self._asker = PlanAsker(None, lambda body: SocketQuestion("", "", body))
        else:
            self._asker = PlanAsker(
                claim, lambda body: SocketQuestion(path, "/v1/cluster/publications", body)
            )

    def poll(self) -> None:
        """Behind any step: reads what has come of a question."""
        self._asker.poll()

    def verdict(self) -> Verdict:
        """Behind a window; rank 0's counts for all."""
        return self._asker.look()

    def changed(self, step: int) -> None:
        """Another plan is in force behind that step."""
        self._asker.changed()
        self._since = step

    @property
    def publication(self) -> Optional[Dict[str, Any]]:
        """For people, on rank 0: how far the cluster has agreed, and why not."""
        if self._rank > 0:
            return None
        asker = self._asker
        return {"state": asker.state, "number": asker.number, "reason": asker.reason}

    def tell(
        self, step: int, in_force: PlanInForce, times: Sequence[RankTimes],
        changes: Sequence[Change], proposed: Optional[Change] = None,
    ) -> None:  # fmt: skip
        """Asks for what is `proposed` besides, or for the plan in force where that is not published
        yet."""
        if self._path is None:
            return
        self._ask(step, in_force, proposed)
        now = time.monotonic()
        asker = self._asker
        news = [asker.number, self.choice, len(changes), changes[-1].measured if changes else None,
                asker.state, asker.reason]  # fmt: skip
        if news == self._told and now < self._told_at + _BETWEEN_SECONDS:
            return
        self._told, self._told_at = news, now
        record = plan_record(self._named(asker.number, step, self._since), in_force, self._nodes,
                             times, changes)  # fmt: skip
        _tell(self._path, "/v1/cluster/plans", json.dumps(record))

    def _named(self, number: int, step: int, since: int) -> Dict[str, Any]:
        return {
            "job": self._job, "run": self._run, "epoch": number, "step": step, "since_step": since,
            "choice": self.choice, "publication": self._asker.state,
            "publication_reason": as_shown(self._asker.reason), **self._generation,
        }  # fmt: skip

    def _ask(self, step: int, in_force: PlanInForce, proposed: Optional[Change]) -> None:
        asker = self._asker
        if not asker.idle or (proposed is None and asker.published):
            return
        number = asker.next_number(proposed is None)
        if proposed is None:
            named = self._named(number, step, self._since)
            asker.ask(plan_record(named, in_force, self._nodes, [], []), True)
            return
        asked = replace(in_force, plan=proposed.after, predicted_seconds=None,
                        measured_seconds=None)  # fmt: skip
        named = self._named(number, step, step)
        asker.ask(plan_record(named, asked, self._nodes, [], [proposed]), False)
