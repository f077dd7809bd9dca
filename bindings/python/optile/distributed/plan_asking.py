"""Asks the daemon of this machine whether another plan may take the place of the one in force,
where `optile launch` has started the job and the machine is in a cluster. The daemon publishes the
plan there, or says why not (docs/design/0042-published-plans.md).

Never waits within a step: a question is sent behind one window of steps, its answer read behind a
later one, and training goes on under the plan in force.
"""

from __future__ import annotations

import enum
import json
import os
import socket
import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, Optional, Protocol, Tuple

_ANSWER_SECONDS = 10.0  # of the daemon, whose etcd has a few of them
_BETWEEN_SECONDS = 0.05  # from one look at what has come of it to the next
_FIRST_PAUSE = 2.0  # from one question without an outcome to the next; doubles each time, up to:
_MOST_PAUSE = 60.0
_MOST_ANSWER = 1 << 20


class Verdict(enum.IntEnum):
    """What rank 0 says to all ranks behind each window."""

    ALONE = 0  # nobody is asked: what the ranks decide is in force at once
    READY = 1  # another plan may be proposed
    WAIT = 2  # for an answer, or until it is time to ask again
    ACCEPTED = 3  # what was proposed is published: all switch to it
    UNREACHABLE = 4  # nobody knows: it is given up, and the last plan stays
    REFUSED = 5  # for good: no plan of this process is changed any more

    @property
    def may_propose(self) -> bool:
        return self in (Verdict.ALONE, Verdict.READY)


class Question(Protocol):
    """One that was sent."""

    def answer(self) -> Optional[Tuple[int, Any]]:
        """The status and what it says, as JSON; None: nothing yet. Raises OSError where nothing
        will come."""
        ...

    def close(self) -> None: ...


class SocketQuestion:
    """By the daemon's socket; no call waits."""

    def __init__(self, path: str, target: str, body: str) -> None:
        """Raises OSError where it cannot be sent as a whole at once."""
        request = request_text("POST", target, body)
        self._got = b""
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.setblocking(False)
            self._socket.connect(path)
            if self._socket.send(request) < len(request):
                raise BlockingIOError("the daemon's socket is full")
        except OSError:
            self._socket.close()
            raise

    def answer(self) -> Optional[Tuple[int, Any]]:
        try:
            while part := self._socket.recv(65536):
                self._got += part
                if len(self._got) > _MOST_ANSWER:
                    raise ConnectionError("the daemon's answer is too long")
        except BlockingIOError:
            return None
        head, _, body = self._got.partition(b"\r\n\r\n")
        try:
            return int(head.split(b" ", 2)[1]), json.loads(body)
        except (IndexError, ValueError):
            raise ConnectionError("the daemon's answer ends early") from None

    def close(self) -> None:
        self._socket.close()


@dataclass
class _Asked:
    body: str
    number: int  # of the plan
    in_force: bool  # it is so already
    since: float
    sent: Optional[Question] = None
    again_at: float = 0.0

    def close(self) -> None:
        if self.sent is not None:
            self.sent.close()
            self.sent = None


def request_text(method: str, target: str, body: str = "") -> bytes:
    return (
        f"{method} {target} HTTP/1.1\r\nHost: optile\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body.encode())}\r\n\r\n{body}"
    ).encode()


def launch_claim() -> Optional[Dict[str, Any]]:
    """As `optile launch` says it to what it starts; None: it has none, or has not started this."""
    token = os.environ.get("OPTILE_CLUSTER_CLAIM", "")
    if not token:
        return None
    try:
        generation = int(os.environ.get("OPTILE_CLUSTER_GENERATION", "0"))
    except ValueError:
        return None
    return {"token": token, "generation": generation}


class PlanAsker:
    """Of rank 0. Every plan that is asked for, or decided without asking, has a higher number than
    all before. So what became of a question without an answer does not matter behind the next."""

    def __init__(
        self, claim: Optional[Dict[str, Any]], send: Callable[[str], Question],
        now: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        """`claim`: None where nobody is to be asked. `send`: raises OSError where it cannot."""
        self._claim = claim
        self._send = send
        self._now = now
        self._question: Optional[_Asked] = None
        self._outcome: Optional[Verdict] = None  # not looked at yet
        self._last_number = 1
        self._last_asked = 0
        self._counted = False  # number is that of a plan that changed() will tell of
        self._published = False  # the plan in force is
        self._pause = _FIRST_PAUSE
        self._due = 0.0
        self.number = 1  # of the plan in force
        self.refused = False
        self.reason = ""  # why nothing was agreed the last time

    @property
    def state(self) -> str:
        """As a record of the plan has it."""
        if self._claim is None:
            return "none"
        if self.refused:
            return "refused"
        if self.reason:
            return "unreachable"
        return "accepted" if self._published else "asked"

    @property
    def idle(self) -> bool:
        """Something may be asked now."""
        return (self._claim is not None and not self.refused and self._question is None
                and self._outcome is None and self._now() >= self._due)  # fmt: skip

    @property
    def published(self) -> bool:
        """The plan in force is, as far as is known."""
        return self._published

    def next_number(self, in_force: bool) -> int:
        """Of the plan that is to be asked for: the one in force, or another one."""
        if in_force and self.number > self._last_asked:
            return self.number
        return self._last_number + 1

    def ask(self, record: Dict[str, Any], in_force: bool) -> None:
        """Its epoch is next_number()."""
        self._last_asked = record["epoch"]
        self._last_number = max(self._last_number, self._last_asked)
        body = json.dumps({"claim": self._claim, "plan": record})
        self._question = _Asked(body, self._last_asked, in_force, self._now())
        self._put()

    def changed(self) -> None:
        """Another plan is in force: the one that was accepted last, or else one that was decided
        without asking, such as the way back from a trial."""
        if self._counted:
            self._counted = False
            return
        self._last_number += 1
        self.number, self._published = self._last_number, False

    def poll(self) -> None:
        """Behind any step: reads what has come."""
        asked = self._question
        if asked is None:
            return
        if self._now() - asked.since >= _ANSWER_SECONDS:
            return self._give_up(self.reason or "etcd has not answered in time")
        if asked.sent is None:
            if self._now() >= asked.again_at:
                self._put()
            return None
        try:
            answer = asked.sent.answer()
        except OSError as error:
            return self._give_up(f"the daemon does not answer: {error}")
        if answer is not None:
            asked.close()
            self._take(*answer)

    def look(self) -> Verdict:
        """Behind a window of steps: what all ranks are told."""
        self.poll()
        outcome, self._outcome = self._outcome, None
        if self._claim is None:
            return Verdict.ALONE
        if outcome is not None:
            return outcome
        if self.refused:
            return Verdict.REFUSED
        return Verdict.READY if self.idle else Verdict.WAIT

    def _put(self) -> None:
        assert self._question is not None
        try:
            self._question.sent = self._send(self._question.body)
        except OSError as error:
            self._give_up(f"the daemon does not answer: {error}")

    def _take(self, status: int, said: Any) -> None:
        said = said if isinstance(said, dict) else {}
        if status == 404:  # a daemon of a version that publishes nothing
            self._claim = self._question = None
            return
        if status != 200:
            error = said.get("error")
            message = error.get("message") if isinstance(error, dict) else None
            return self._give_up(str(message or f"the daemon answers with status {status}"))
        self._settle(str(said.get("state")), str(said.get("reason", "")))

    def _settle(self, state: str, reason: str) -> None:
        asked = self._question
        assert asked is not None
        if state == "asked":
            asked.again_at = self._now() + _BETWEEN_SECONDS
        elif state == "accepted":
            self._question = None
            self.number, self._published, self.reason = asked.number, True, ""
            self._pause, self._counted = _FIRST_PAUSE, not asked.in_force
            self._outcome = Verdict.READY if asked.in_force else Verdict.ACCEPTED
        elif state == "refused":
            self._question = None
            self.refused, self.reason = True, reason
            self._outcome = Verdict.REFUSED
        else:
            self._give_up(reason)

    def _give_up(self, reason: str) -> None:
        """Whatever becomes of it is settled by the next question, which states the plan in force
        again or asks for another one."""
        asked = self._question
        assert asked is not None
        asked.close()
        self._question = None
        self.reason = reason or "etcd does not answer"
        self._published = False
        self._due = self._now() + self._pause
        self._pause = min(2 * self._pause, _MOST_PAUSE)
        self._outcome = Verdict.WAIT if asked.in_force else Verdict.UNREACHABLE
