"""What ./dev demo shows while it runs: one line for each phase.

On a terminal the line is drawn anew, with a bar and the time left; elsewhere there is a line every
few seconds.
"""

from __future__ import annotations

import shutil
import sys
import time
from typing import Mapping, TextIO

BAR = 16
REDRAW_SECONDS = 0.25
PLAIN_SECONDS = 5.0


def rates_text(rates: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {rate:.1f}" for name, rate in rates.items())


def clock(seconds: float) -> str:
    whole = max(0, round(seconds))
    return f"{whole // 60}:{whole % 60:02d}"


def drawn_line(label: str, part: float, left: float, rates: Mapping[str, float], width: int) -> str:
    """`part`: of the phase, from 0 to 1; `left`: seconds of the whole demo."""
    full = round(max(0.0, min(1.0, part)) * BAR)
    bar = "#" * full + "." * (BAR - full)
    line = f"{label:<28} [{bar}] {clock(left)} left  {rates_text(rates)}"
    return line.rstrip()[: max(20, width - 1)]


def plain_line(label: str, seconds: float, of: float, rates: Mapping[str, float]) -> str:
    shown = f"  steps/s: {rates_text(rates)}" if rates else ""
    return f"{label:<28} {seconds:3.0f} of {of:.0f} s{shown}"


class Screen:
    """One phase after the other; `left()` counts down all that were planned."""

    def __init__(self, planned: float, output: TextIO = sys.stdout) -> None:
        self._output = output
        self._drawn = output.isatty()
        self._end = time.monotonic() + planned
        self._label = ""
        self._begin = self._shown = 0.0
        self._length = 1.0

    def begin(self, label: str, length: float) -> None:
        self._label, self._length = label, length
        self._begin = time.monotonic()
        self._shown = self._begin if not self._drawn else 0.0

    def ends_in(self, seconds: float) -> None:
        """Of the phase: its start took what it took."""
        length = time.monotonic() - self._begin + seconds
        self._end += length - self._length
        self._length = length

    def show(self, rates: Mapping[str, float]) -> None:
        now = time.monotonic()
        if now - self._shown < (REDRAW_SECONDS if self._drawn else PLAIN_SECONDS):
            return
        self._shown = now
        passed = now - self._begin
        if self._drawn:
            width = shutil.get_terminal_size().columns
            line = drawn_line(self._label, passed / self._length, self._end - now, rates, width)
            self._write(f"\r\033[K{line}")
        else:
            self._write(plain_line(self._label, passed, self._length, rates) + "\n")

    def finish(self, text: str = "") -> None:
        """What stays of the phase: one line."""
        if self._drawn or text:
            start = "\r\033[K" if self._drawn else ""
            self._write(f"{start}{self._label:<28} {text or 'done'}\n")

    def leave(self) -> None:
        """Something else is printed next: the drawn line ends."""
        if self._drawn:
            self._write("\n")

    def _write(self, text: str) -> None:
        self._output.write(text)
        self._output.flush()
