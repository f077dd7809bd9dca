"""The measurements of bench/many_cores, each within the seconds that it is given."""

from __future__ import annotations

import contextlib
import pathlib
import random
import time
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

import observed_curves
import oracle
import predictions
import ratios
import settings
import together
import workload_run
from private_daemon import PrivateDaemon
from steered import (
    Program, Steered, adjoining, confine_all, neighbours, paused, wait_until_ready, window,
)  # fmt: skip
from workload_run import progress

Json = Dict[str, Any]
Split = Tuple[int, ...]

SHORTEST_WINDOW = 0.4
FEWEST_WINDOWS, MOST_WINDOWS = 3, 12
CANDIDATES = 3  # splits that are measured again
PHASE_LOOK_SECONDS = 0.5


@dataclass
class Bench:
    """Where the products are, where output goes, and what was found so far."""

    build: pathlib.Path
    folder: pathlib.Path  # of logs
    private: pathlib.Path  # of sockets, whose paths must be short
    units: Sequence[int]
    env: Mapping[str, str]
    start_seconds: float = 4.0  # importing PyTorch and the first step, as measured there
    uniform: Dict[Program, Dict[int, float]] = field(default_factory=dict)  # steps/s by width

    def best_width(self, program: Program) -> int:
        known = self.uniform.get(program)
        if not known:
            raise workload_run.RunError(f"not measured alone: {program.name}")
        return max(known.items(), key=lambda one: one[1])[0]

    def best_rate(self, program: Program) -> float:
        width = self.best_width(program)
        return self.uniform[program][width]

    @contextlib.contextmanager
    def running(
        self, programs: Sequence[Program], prefix: Sequence[str] = (), steered: bool = True,
        words: Optional[Mapping[str, str]] = None,
    ) -> Iterator[List[Steered]]:  # fmt: skip
        started: List[Steered] = []
        try:
            # One by hand gets its threads from the first command on. Until then two that spin for
            # the same cores would take minutes to start.
            first = {"OMP_NUM_THREADS": "1"} if steered else {}
            for program in programs:
                env = {**self.env, **first, **(words or {})}
                started.append(Steered(program, env, self.folder, prefix, steered))
            wait_until_ready(started)
            yield started
        finally:
            for one in started:
                one.end()

    def daemon(self, name: str) -> PrivateDaemon:
        return PrivateDaemon(self.build, self.private, name)


def count_of_windows(seconds: float, at_least: float = SHORTEST_WINDOW) -> int:
    return max(FEWEST_WINDOWS, min(MOST_WINDOWS, int(seconds / max(at_least, 1.0))))


def recommended(bench: Bench, running: Sequence[Steered], seconds: float) -> List[float]:
    """As PyTorch does by itself and its documentation says: everybody everywhere, with as many
    threads as physical cores. Where they spin against each other a step may take long."""
    for one in running:
        one.confine(bench.units, settings.physical_cores())
    window(running, min(SHORTEST_WINDOW, seconds), patience=0)
    return window(running, max(SHORTEST_WINDOW, seconds), patience=2 * seconds)


def learn(daemon: PrivateDaemon, running: Sequence[Steered], seconds: float) -> bool:
    """Until all plans are settled, so long at most."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        window(running, PHASE_LOOK_SECONDS)
        clients = daemon.get("/v1/clients")["clients"]
        phases = [one["phase"] for one in clients if one["state"] == "running"]
        if len(phases) == len(running) and set(phases) == {"tuned"}:
            return True
    return False


# --- one program ----------------------------------------------------------------------------


def single(bench: Bench, program: Program, seconds: float) -> Json:
    """Every uniform width by hand, the best of them before and after optile's windows."""
    widths = settings.counts(len(bench.units))
    busy = max(seconds - 2 * bench.start_seconds, 6.0)
    with bench.running([program]) as by_hand:
        own = recommended(bench, by_hand, busy * 0.08)[0]
        rates = {}
        for width in widths:
            confine_all(by_hand, [bench.units[:width]])
            rates[width] = window(by_hand, max(SHORTEST_WINDOW, busy * 0.3 / len(widths)))[0]
        bench.uniform[program] = rates
        best = bench.best_width(program)
        count = count_of_windows(busy * 0.15)
        confine_all(by_hand, [bench.units[:best]])
        before = [window(by_hand, busy * 0.12 / count)[0] for _ in range(count)]
        with paused(by_hand), bench.daemon(f"single-{program.name}") as daemon:
            with bench.running([program], daemon.prefix([]), steered=False) as running:
                settled = learn(daemon, running, busy * 0.25)
                tuned = [window(running, busy * 0.2 / count)[0] for _ in range(count)]
            report = workload_run.load(daemon.report)
        window(by_hand, min(SHORTEST_WINDOW, busy * 0.05))
        after = [window(by_hand, busy * 0.12 / count)[0] for _ in range(count)]
    uniform = [ratios.geometric_mean([a, b]) for a, b in zip(before, after)]
    # Throughputs, so the other way round than seconds.
    ratio = ratios.times_as_fast(tuned, uniform)
    progress(f"{program.name}: {ratio} of the best uniform width, {best}")
    return {
        "program": program.name, "batch": program.batch, "recommended": own, "by_width": rates,
        "best_width": best, "settled": settled, "phase": report.get("phase"),
        "windows": {"uniform_before": before, "optile": tuned, "uniform_after": after},
        "optile_to_best_uniform": ratio.as_json(),
        "optile_to_recommended": ratios.geometric_mean(tuned) / own if own > 0 else None,
    }  # fmt: skip


# --- several --------------------------------------------------------------------------------


def sweep(
    bench: Bench, running: Sequence[Steered], splits: Sequence[Split], full: Sequence[float],
    seconds: float,
) -> Dict[Split, float]:  # fmt: skip
    """Weighted speed-up of each split, as far as time reaches: half of it in an order that is
    drawn, then beside the best one so far."""
    left = random.Random(1).sample(list(splits), len(splits))
    each = min(1.5, max(SHORTEST_WINDOW, seconds / max(1, len(left))))
    begin, found = time.monotonic(), {}
    while left and time.monotonic() < begin + seconds:
        near = neighbours(max(found, key=lambda split: found[split]), left) if found else []
        late = time.monotonic() > begin + seconds / 2
        split = near[0] if near and late else left[0]
        left.remove(split)
        confine_all(running, adjoining(bench.units, split))
        found[split] = weighted(window(running, each), full)
    return found


def weighted(made: Sequence[float], full: Sequence[float]) -> float:
    return sum(mine / most for mine, most in zip(made, full))


def windows_of_splits(
    bench: Bench, running: Sequence[Steered], splits: Sequence[Split], full: Sequence[float],
    count: int, seconds: float,
) -> Dict[Split, List[float]]:  # fmt: skip
    found: Dict[Split, List[float]] = {split: [] for split in splits}
    each = max(SHORTEST_WINDOW, seconds / (count * len(splits)))
    for _ in range(count):
        for split in splits:
            confine_all(running, adjoining(bench.units, split))
            found[split].append(weighted(window(running, each), full))
    return found


def several(bench: Bench, programs: Sequence[Program], seconds: float) -> Json:
    """All static splits, the best ones again, optile, and the best split once more."""
    full = [bench.best_rate(program) for program in programs]
    splits = together.splits(len(bench.units), len(programs))
    name = "-".join(program.name for program in programs)
    busy = max(seconds - 2 * bench.start_seconds, 10.0)
    count = count_of_windows(busy * 0.1)
    with bench.running(programs) as by_hand:
        tried = sweep(bench, by_hand, splits, full, busy * 0.35)
        best = sorted(tried, key=lambda split: -tried[split])[:CANDIDATES]
        again = windows_of_splits(bench, by_hand, best, full, count, busy * 0.2)
        own = weighted(recommended(bench, by_hand, busy * 0.05), full)
        chosen = max(again, key=lambda split: ratios.geometric_mean(again[split]))
        with paused(by_hand), bench.daemon(f"several-{len(programs)}") as daemon:
            prefix = daemon.prefix([], report=False)
            with bench.running(programs, prefix, steered=False) as running:
                window(running, busy * 0.15)
                made = [window(running, max(SHORTEST_WINDOW, busy * 0.15 / count))
                        for _ in range(count)]  # fmt: skip
                leases = [(one["program"], one["cores"], one["fraction"])
                          for one in daemon.get("/v1/leases")["clients"]]  # fmt: skip
        window(by_hand, min(SHORTEST_WINDOW, busy * 0.05))
        after = windows_of_splits(bench, by_hand, [chosen], full, count, busy * 0.1)[chosen]
    split = [ratios.geometric_mean([a, b]) for a, b in zip(again[chosen], after)]
    tuned = [weighted(one, full) for one in made]
    ratio = ratios.times_as_fast(tuned, split)
    progress(f"{name}: {ratio} of the best split, {'+'.join(map(str, chosen))}")
    return {
        "programs": [program.name for program in programs], "alone": full, "recommended": own,
        "splits": len(splits), "tried": {"+".join(map(str, k)): v for k, v in tried.items()},
        "best_split": "+".join(map(str, chosen)), "leases": leases,
        "windows": {"split_before": again[chosen], "optile": tuned, "split_after": after},
        "shares": [[mine / most for mine, most in zip(one, full)] for one in made],
        "optile": ratios.geometric_mean(tuned), "split": ratios.geometric_mean(split),
        "optile_to_best_split": ratio.as_json(),
    }  # fmt: skip


# --- what is predicted, and bound threads ---------------------------------------------------


def accuracy(bench: Bench, program: Program, seconds: float) -> Json:
    """The curves of a tuned run against runs at uniform widths that are only observed."""
    widths = settings.counts(len(bench.units))
    busy = max(seconds - (len(widths) + 1) * bench.start_seconds, 2.0 * (len(widths) + 1))
    each = busy / (len(widths) + 3)
    with bench.daemon("predictions") as daemon:
        with bench.running([program], daemon.prefix([]), steered=False) as running:
            settled = learn(daemon, running, 3 * each)
        report = workload_run.load(daemon.report)
        explained = daemon.explain_all(report)
    reports: Dict[int, List[Json]] = {}
    for width in widths:
        with bench.daemon(f"observe{width}") as daemon:
            prefix = daemon.prefix(observed_curves.WORDS)
            words = {"OMP_NUM_THREADS": str(width)}
            with bench.running([program], prefix, steered=False, words=words) as running:
                window(running, each)
            reports[width] = [workload_run.load(daemon.report)]
    seen = observed_curves.explanations(reports)
    found = predictions.compare(explained, seen)
    best = oracle.compute(seen, None)
    progress(f"{program.name}: {predictions.line(found)}")
    return {
        "program": program.name, "settled": settled, "widths": widths, **found,
        "oracle_over_uniform": best.times_over_uniform() if best else None,
    }  # fmt: skip


BOUND: Mapping[str, Mapping[str, str]] = {
    "unbound": {},
    "close": {"OMP_PROC_BIND": "close", "OMP_PLACES": "cores"},
    "spread": {"OMP_PROC_BIND": "spread", "OMP_PLACES": "cores"},
}


def binding(bench: Bench, program: Program, seconds: float) -> Json:
    """Untouched and under optile, with the words that bind threads and without."""
    ways = [(name, tuned) for name in BOUND for tuned in (False, True)]
    each = max(1.0, (seconds - len(ways) * bench.start_seconds) / len(ways))
    until = time.monotonic() + seconds
    found: Dict[str, List[float]] = {}
    with bench.daemon("binding") as daemon:
        for name, tuned in ways:
            if time.monotonic() > until:
                break  # the table shows what there is
            prefix = daemon.prefix([], report=False) if tuned else ()
            words = {"OMP_NUM_THREADS": str(bench.best_width(program)), **BOUND[name]}
            with bench.running([program], prefix, steered=False, words=words) as running:
                window(running, each / 2)
                rates = [window(running, each / 2 / 3)[0] for _ in range(3)]
            found[f"{name}, {'optile' if tuned else 'untouched'}"] = rates
    return {"program": program.name, "threads": bench.best_width(program), "windows": found}
