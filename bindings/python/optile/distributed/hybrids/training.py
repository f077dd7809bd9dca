"""Hybrids: whether N ranks are N replicas of a model, or N/M of them with M ranks each (Pal et al.,
section 3). What it depends on is measured before the first step, and `optile parallelism` decides.
"""

from __future__ import annotations

import json
import statistics
import subprocess
from dataclasses import asdict, dataclass, field
from typing import (
    Any, Callable, Dict, List, Mapping, Optional, Protocol, Sequence, Set, Tuple, Union,
)  # fmt: skip

import torch
import torch.distributed as dist
from torch import nn

from ..batches import length_of
from ..job import Job
from ..layers import with_restored
from ..moves import Broadcast
from ..place_command import find_command
from ..ranks import gather_numbers
from ..replicas import average_over

Epochs = Union[None, str, Mapping[int, Optional[float]]]

_MODEL_PLANS = ("pipeline", "placement")
_ROUNDS = 4  # of a measured step; the first one, with other memory, does not count


class Training(Protocol):
    """Of one plan, on this rank."""

    model: nn.Module
    steps: int

    def step(self, x: Any, y: Any) -> torch.Tensor: ...
    def report(self) -> Dict[str, Any]: ...
    def gather_model(self) -> None: ...
    def save_graph(self, path: str) -> None: ...
    def tell_choice(self, choice: str) -> None: ...
    def run_passes(self, x: Any, y: Any) -> Optional[torch.Tensor]: ...


@dataclass
class Choice:
    """How many ranks run one model, and why. Seconds and ratios are those of before the first step,
    while all ranks of the job compute."""

    model_ranks: int
    replicas: int
    because: str
    alone_seconds: Optional[float] = None  # of a replica's forward and backward pass on one rank
    speedups: Dict[int, float] = field(default_factory=dict)  # SU, by ranks of one model
    measured: List[int] = field(default_factory=list)  # of these it is no prediction
    efficiencies: Dict[int, float] = field(default_factory=dict)  # SE, by replicas
    epochs: Dict[int, Optional[float]] = field(default_factory=dict)  # E, by replicas
    over_data_parallel: Optional[float] = None  # None: not asked for, or that does not converge


def divisors(ranks: int) -> List[int]:
    return [one for one in range(1, ranks + 1) if ranks % one == 0]


def check_hybrid(
    model_plan: str, model_ranks: Any, ranks: int, boundaries: Optional[Sequence[int]],
    placement: Optional[str], keep: bool,
) -> None:  # fmt: skip
    """Raises ValueError for what prepare() was given and no hybrid can be made of."""
    if model_plan not in _MODEL_PLANS:
        raise ValueError(
            f'model_plan is one of {", ".join(_MODEL_PLANS)}, and not {model_plan!r}'
        )
    number = isinstance(model_ranks, int) and not isinstance(model_ranks, bool)
    if model_ranks != "auto" and not (number and model_ranks > 0):
        raise ValueError(
            f'plan="hybrid" wants model_ranks, how many ranks run one model, or "auto", and not '
            f"{model_ranks!r}"
        )
    if number and ranks > 1 and ranks % model_ranks != 0:
        raise ValueError(
            f"model_ranks={model_ranks}: {ranks} ranks are no whole number of replicas of "
            f"{model_ranks} ranks; it may be {', '.join(map(str, divisors(ranks)))}"
        )
    if model_ranks == "auto" and (boundaries is not None or placement is not None):
        raise ValueError(
            'boundaries and a placement are of a number of ranks: name model_ranks, not "auto"'
        )
    if keep:
        raise ValueError(
            'plan="hybrid" keeps no state of the training yet: leave out keep=True, or take the '
            "plan data, pipeline or placement"
        )


def epochs_by_replicas(epochs: Epochs, rows: int, ranks: int) -> Dict[int, Optional[float]]:
    """From epochs by rows of the whole batch, of which a replica has `rows`. Raises ValueError
    where those are of no whole number of replicas."""
    if epochs is None:
        return {one: 1.0 for one in divisors(ranks)}
    if isinstance(epochs, str):
        with open(epochs, encoding="utf-8") as file:
            told = json.load(file)
        if not isinstance(told, dict):
            raise ValueError(f"{epochs} has no epochs by rows of the whole batch")
        epochs = {int(batch): number for batch, number in told.items()}
    found: Dict[int, Optional[float]] = {}
    for batch, number in epochs.items():
        if batch < rows or batch % rows != 0:
            raise ValueError(
                f"epochs with a batch of {batch} rows: they are of no whole number of replicas, "
                f"which take the example's {rows} rows each"
            )
        found[batch // rows] = number
    return found


def advised(
    ranks: int, speedups: Mapping[int, float], efficiencies: Mapping[int, float],
    epochs: Mapping[int, Optional[float]],
) -> Dict[str, Any]:  # fmt: skip
    """What `optile parallelism` says of so many devices. Raises RuntimeError with its message where
    it fails, or where nothing converges."""

    def pairs(numbers: Mapping[int, Optional[float]]) -> str:
        return ",".join(f"{count}:{'none' if one is None else format(one, '.9g')}"
                        for count, one in sorted(numbers.items()))  # fmt: skip

    command = [find_command(), "parallelism", "--devices", str(ranks), "--epochs", pairs(epochs),
               "--speedup", pairs(speedups), "--efficiency", pairs(efficiencies),
               "--json"]  # fmt: skip
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        raise RuntimeError("optile parallelism: " + ended.stderr.strip()[-500:])
    answer = json.loads(ended.stdout)[0]
    if answer["best"] is None:
        raise RuntimeError(
            f"by the epochs that were given, {ranks} ranks converge neither as replicas of one "
            "rank each nor as fewer replicas"
        )
    assert isinstance(answer, dict)
    return answer


def agreed(decide: Callable[[], Any]) -> Any:
    """Collective: what rank 0 decides. Where that fails, every rank ends with its message."""
    found: Tuple[Any, str] = (None, "")
    if dist.get_rank() == 0:
        try:
            found = (decide(), "")
        except (OSError, RuntimeError, ValueError, TypeError, AttributeError) as error:
            found = (None, str(error))
    decided, message = Broadcast(0).pass_object(found)
    if message:
        raise RuntimeError(message)
    return decided


def _measured(job: Job, run: Callable[[], Any]) -> float:
    """Collective: seconds of what all ranks begin at once, on the slowest; it leaves gradients, and
    neither changes buffers nor draws random numbers for good. Gradients are None behind it."""
    seconds = []

    def run_rounds() -> None:
        for _ in range(_ROUNDS):
            job.model.zero_grad(set_to_none=True)
            dist.barrier()
            begin = job.clock()
            run()
            seconds.append(job.clock() - begin)

    with_restored(job.model.buffers(), run_rounds)
    job.model.zero_grad(set_to_none=True)
    return max(one for one, in gather_numbers([statistics.median(seconds[1:])]))


def step_seconds_by_replicas(job: Job) -> Dict[int, float]:
    """Collective. Forward and backward pass of the example on every rank alone, and behind it the
    exchange of all gradients between so many ranks."""
    ranks = job.ranks
    x, y = job.example
    trained = [one for one in job.model.parameters() if one.requires_grad]
    alike = [[one for one in trained if one.dtype == dtype]
             for dtype in dict.fromkeys(one.dtype for one in trained)]  # fmt: skip
    found: Dict[int, float] = {}
    for count in divisors(ranks):
        apart = ranks // count
        groups = [dist.new_group(list(range(first, ranks, apart))) for first in range(apart)]
        group = groups[job.rank % apart]

        def run(count: int = count, group: Any = group) -> None:
            job.loss_fn(job.model(x), y).backward()
            for parameters in alike if count > 1 else ():
                average_over(parameters, group, count)

        found[count] = _measured(job, run)
    return found


class Chooser:
    """Collective, each of its functions."""

    def __init__(self, job: Job, predicted: Mapping[int, float], epochs: Epochs) -> None:
        """`predicted`: how many times as fast so many ranks run one model as one rank does."""
        self._job = job
        self._epochs = epochs
        self._speedups = dict(predicted)
        self._measured: Set[int] = set()
        self._ranks = job.ranks
        seconds = step_seconds_by_replicas(job)
        self._alone_seconds = seconds[1]
        # Noise alone lets more replicas be faster than one.
        self._efficiencies = {count: min(1.0, seconds[1] / max(one, 1e-12))
                              for count, one in seconds.items()}  # fmt: skip

    def measures(self, choice: Choice) -> bool:
        """Whether its speed-up is still a prediction."""
        return choice.model_ranks > 1 and choice.model_ranks not in self._measured

    def measure(self, training: Training, choice: Choice) -> None:
        """Runs the passes of a step, without an update."""
        seconds = _measured(self._job, lambda: training.run_passes(*self._job.example))
        self._speedups[choice.model_ranks] = self._alone_seconds / max(seconds, 1e-12)
        self._measured.add(choice.model_ranks)

    def choice(self) -> Choice:
        """By what is known so far."""
        told, answer = agreed(self._advice)
        best = answer["choices"][answer["best"]]
        model_ranks, replicas = best["model_devices"], best["replicas"]
        known = "measured" if model_ranks in self._measured else "predicted"
        because = [f"{model_ranks} ranks run a model {self._speedups[model_ranks]:.2f} times as "
                   f"fast as one ({known})"] if model_ranks > 1 else []  # fmt: skip
        because += [f"{count} replicas with an efficiency of {self._efficiencies[count]:.2f}"
                    for count in sorted({replicas, self._ranks} - {1})]  # fmt: skip
        because += ["epochs equal for all" if self._epochs is None else "epochs as given"]
        return Choice(
            model_ranks, replicas, ", ".join(because), self._alone_seconds, dict(self._speedups),
            sorted(self._measured), self._efficiencies, told, best["over_data_parallel"],
        )  # fmt: skip

    def _advice(self) -> Tuple[Dict[int, Optional[float]], Dict[str, Any]]:
        told = epochs_by_replicas(self._epochs, length_of(self._job.example[0]), self._ranks)
        return told, advised(self._ranks, self._speedups, self._efficiencies, told)


class HybridTraining:
    """A training by some plan, and why so many ranks run one model."""

    def __init__(self, training: Training, choice: Choice, rows: Optional[int] = None) -> None:
        """`rows`: of each replica's part of a batch (None: any)."""
        self._training = training
        self._choice = choice
        self._rows = rows
        self.model = training.model
        training.tell_choice(choice.because)

    @property
    def steps(self) -> int:
        return self._training.steps

    def step(self, x: Any, y: Any) -> torch.Tensor:
        replicas = self._choice.replicas
        for rows in (length_of(x), length_of(y)):
            if self._rows is not None and rows != self._rows * replicas:
                raise ValueError(
                    f"a batch of {rows} rows: {replicas} replicas take {self._rows} rows each, as "
                    "many as the example"
                )
        return self._training.step(x, y)

    def gather_model(self) -> None:
        self._training.gather_model()

    def save_graph(self, path: str) -> None:
        self._training.save_graph(path)

    def report(self) -> Dict[str, Any]:
        choice = self._choice
        return {**self._training.report(), "replicas": choice.replicas,
                "model_ranks": choice.model_ranks, "choice": asdict(choice)}  # fmt: skip


def chosen_training(
    chooser: Chooser, make: Callable[[int], Training], rows: int
) -> HybridTraining:
    """Collective. A prediction that is chosen by is measured first, and chosen again with that."""
    choice = chooser.choice()
    training = make(choice.model_ranks)
    while chooser.measures(choice):
        chooser.measure(training, choice)
        before, choice = choice, chooser.choice()
        if choice.model_ranks != before.model_ranks:
            training.gather_model()
            training = make(choice.model_ranks)
    return HybridTraining(training, choice, rows)
