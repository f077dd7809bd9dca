"""Scheduling assistants (Tavarageri et al., section 3): each rank has one. Where a resource of its
rank is used more than a threshold it offers a unit that is bound by that resource, and where less
than another one it takes a unit that another rank offers. `optile place assistants` runs them,
beside the steps of rank 0; here is what they are told, and what becomes of their proposals.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import subprocess
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple

from .place_command import find_command
from .placements import Placement
from .stages import StageSeconds
from .step_units import Schedule, UnitCosts, UnitGraph

_NICE = 19
_MOST_THETA = 0.95  # the paper's
_BEYOND = 0.01  # of the use that the plan in force expects of the busiest rank
_BELOW = 0.1  # of the same: who is used less may take a unit
_SAMPLES = 3  # steps in a row beyond a threshold
_COOL_DOWN = 50  # steps
_MARGIN = 0.02
_PART = 0.55  # of the difference between the busiest and the least busy rank, for one unit
_MEMORY_BOUND = 0.5  # of a unit's seconds, for copying as many bytes
_PASSES = 3  # over what a unit reads, holds and makes: forward, and two gradients backward
_ELEMENT_BYTES = 4


@dataclass(frozen=True)
class Resources:
    """Of each rank."""

    copy_seconds: Sequence[float]  # for a byte
    free_bytes: Sequence[int]


class ProposedMoves:
    """Pure: the lines for the assistants, and which placement they propose. On rank 0."""

    def __init__(self, graph: UnitGraph, elements: Sequence[int], resources: Resources) -> None:
        """`elements`: parameters of each unit, one by one."""
        self._graph = graph
        self._resources = resources
        self._held = [one * _ELEMENT_BYTES for one in elements]
        touched = list(self._held)
        for value in graph.values:
            for unit in (value.producer, *value.readers):
                touched[unit] += value.bytes
        self._touched = [one * _PASSES for one in touched]
        self._rules: Dict[Placement, List[Dict[str, Any]]] = {}
        self._proposed: Optional[Placement] = None
        self._settled = False
        self.handovers = 0
        self.declined = 0

    def begin(self, plan: Placement, costs: UnitCosts, schedule: Schedule, declined: bool = False,
              ) -> Dict[str, Any]:  # fmt: skip
        """The line for a plan in force: its units, and thresholds by what its simulated step says
        of each rank's use, with the speeds that the ranks had when it first was in force."""
        self._proposed, self._settled = None, False
        self.declined += declined
        seconds = max(schedule.seconds, 1e-12)
        uses = self._uses(plan, costs, seconds)
        if plan not in self._rules:
            self._rules[plan] = [_rule(*one) for one in uses]
        # Half of the difference, and a little, since units are not of any size.
        rules = [{**rule, "largest": max(_PART * (max(of_ranks) - min(of_ranks)), 1e-9)}
                 for rule, (_, of_ranks, _) in zip(self._rules[plan], uses)]  # fmt: skip
        units = range(len(self._graph.names))
        return {
            "devices": costs.ranks,
            "declined": declined,
            "rules": rules,
            "nodes": [self._node(unit, plan, costs, seconds) for unit in units],
        }

    def sample(self, plan: Placement, costs: UnitCosts, schedule: Schedule,
               stages: Sequence[StageSeconds], steps: int) -> Dict[str, Any]:  # fmt: skip
        """The line for some steps. Uses are of the simulated step, as the thresholds are: what a
        real one takes beyond that is not work that could be handed over."""
        seconds = max(schedule.seconds, 1e-12)
        sending = self._sending(costs, plan)
        free = self._resources.free_bytes
        return {
            "steps": steps,
            "samples": [
                {"compute": sum(stage) / seconds,
                 "memory": self._copying(plan, rank) / seconds,
                 "network": sending[rank] / seconds,
                 "free_bytes": free[rank]}
                for rank, stage in enumerate(stages)
            ],
        }  # fmt: skip

    def add(self, answer: Dict[str, Any]) -> None:
        """Of the assistants, to a sample."""
        handovers = answer["handovers"]
        self.handovers += len(handovers)
        self._proposed = Placement(tuple(int(one) for one in answer["owners"]))
        self._settled = not handovers

    def proposed(self, plan: Placement) -> Optional[Placement]:
        """Another placement than the one in force, once nothing more is handed over."""
        if not self._settled or self._proposed == plan:
            return None
        return self._proposed

    def _uses(
        self, plan: Placement, costs: UnitCosts, seconds: float
    ) -> List[Tuple[str, List[float], str]]:
        """Of each resource, what every rank uses of it, and which unit of those that it binds goes
        first."""
        ranks = range(costs.ranks)
        computing = [self._computing(costs, plan, rank) / seconds for rank in ranks]
        copying = [self._copying(plan, rank) / seconds for rank in ranks]
        sending = [one / seconds for one in self._sending(costs, plan)]
        return [("compute", computing, "largest-demand"), ("memory", copying, "smallest-state"),
                ("network", sending, "smallest-state")]  # fmt: skip

    def _computing(self, costs: UnitCosts, plan: Placement, rank: int) -> float:
        return sum(_unit_seconds(costs, unit, rank)
                   for unit, owner in enumerate(plan.owners) if owner == rank)  # fmt: skip

    def _copying(self, plan: Placement, rank: int) -> float:
        touched = sum(size for size, owner in zip(self._touched, plan.owners) if owner == rank)
        return touched * self._resources.copy_seconds[rank]

    def _sending(self, costs: UnitCosts, plan: Placement) -> List[float]:
        found = [0.0] * costs.ranks
        for value in self._graph.values:
            owner = plan.owners[value.producer]
            seconds = costs.link.seconds(value.bytes) * (1 + value.gradient)
            for other in {plan.owners[reader] for reader in value.readers} - {owner}:
                found[owner] += seconds
                found[other] += seconds
        return found

    def _node(self, unit: int, plan: Placement, costs: UnitCosts, seconds: float) -> Dict[str, Any]:
        owner = plan.owners[unit]
        computing = _unit_seconds(costs, unit, owner)
        copying = self._touched[unit] * self._resources.copy_seconds[owner]
        sending = sum(costs.link.seconds(value.bytes) * (1 + value.gradient)
                      for value in self._graph.values
                      if unit == value.producer or unit in value.readers)  # fmt: skip
        bound, used = bound_of(computing, copying, sending)
        return {"name": self._graph.names[unit], "owner": owner, "bound": bound,
                "demand": used / seconds, "bytes": self._held[unit]}  # fmt: skip


def bound_of(computing: float, copying: float, sending: float) -> Tuple[str, float]:
    """What limits a unit: the network where all that it reads and makes takes longer to pass than
    the unit to compute; memory where copying as many bytes as it touches takes half as long. With
    the seconds in which it uses that resource."""
    if sending > computing:
        return "network", sending
    if copying >= _MEMORY_BOUND * computing:
        return "memory", copying
    return "compute", computing


def _unit_seconds(costs: UnitCosts, unit: int, rank: int) -> float:
    return costs.forward[rank][unit] + costs.backward[rank][unit] + costs.update[rank][unit]


def _rule(resource: str, uses: Sequence[float], choice: str) -> Dict[str, Any]:
    theta = min(max(uses) + _BEYOND, _MOST_THETA)
    return {"resource": resource, "theta": theta,
            "gamma": min(theta, max(0.0, max(uses) - _BELOW)), "choice": choice,
            "samples": _SAMPLES, "cool_down": _COOL_DOWN, "margin": _MARGIN}  # fmt: skip


_PIPE_BYTES = 1 << 20  # the most that Linux gives to anybody


class AssistantsCommand:
    """`optile place assistants`, spoken to without ever waiting for it. Where it fails, nothing is
    proposed any more."""

    def __init__(self) -> None:
        self._running: Optional[subprocess.Popen[bytes]] = None
        self._unread = b""
        self._awaited = 0  # answers
        self._outdated = 0  # of them, those of samples before the last begin()
        try:
            self._running = running = subprocess.Popen(
                ["nice", "-n", str(_NICE), find_command(), "place", "assistants"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
            )  # fmt: skip
        except (OSError, RuntimeError):
            return
        for stream in (running.stdin, running.stdout):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
            with contextlib.suppress(OSError):  # an account may have only so much of pipes
                fcntl.fcntl(stream.fileno(), getattr(fcntl, "F_SETPIPE_SZ", 1031), _PIPE_BYTES)

    @property
    def runs(self) -> bool:
        return self._running is not None

    def begin(self, line: Dict[str, Any]) -> None:
        self._outdated = self._awaited
        self._write(line)

    def sample(self, line: Dict[str, Any]) -> None:
        self._awaited += 1
        self._write(line)

    def _write(self, line: Dict[str, Any]) -> None:
        if self._running is None:
            return
        assert self._running.stdin is not None
        data = json.dumps(line).encode() + b"\n"
        try:
            # None or a part of it: it does not read any more.
            if self._running.stdin.write(data) != len(data):
                self.end()
        except OSError:
            self.end()

    def answers(self) -> List[Dict[str, Any]]:
        """Those that are there and have not been read, of samples behind the last begin()."""
        if self._running is None:
            return []
        assert self._running.stdout is not None
        try:
            while data := self._running.stdout.read(1 << 16):
                self._unread += data
            if data is not None:  # its end
                self.end()
        except OSError:
            self.end()
        *lines, self._unread = self._unread.split(b"\n")
        outdated = min(self._outdated, len(lines))
        self._awaited -= len(lines)
        self._outdated -= outdated
        return [json.loads(line) for line in lines[outdated:]]

    def end(self) -> None:
        if self._running is None:
            return
        running, self._running = self._running, None
        for stream in (running.stdin, running.stdout):
            assert stream is not None
            stream.close()
        running.kill()
        running.wait()
