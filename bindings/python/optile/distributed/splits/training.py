"""Layers over ranks: each layer is divided by rows or by channels, as `optile place strategy` finds
it for what this machine's ranks take for each layer and for passing tensors on.
"""

from __future__ import annotations

import json
import pathlib
import statistics
from typing import Any, Dict, List, Optional, Sequence

import torch
import torch.distributed as dist
from torch.utils._pytree import tree_map

from ..changes import WindowMedians
from ..job import Job
from ..moves import Broadcast, pass_layer
from ..place_command import choose_strategies
from ..plan_record import PlanInForce, SplitsInForce, rank_times
from ..plan_telling import PlanTeller, node_name
from ..ranks import gather_numbers, gather_objects, ranks_unlike_first
from .answers import splits_of
from .layers import find_layers
from .measures import measure_costs
from .runs import DividedTensors, GradientSum, LayerRunner
from .splits import Split, SplitProblem, equal_ranges, parameter_parts

# They treat each element by itself, so that they may be given parts of a weight.
_OPTIMIZERS = ("SGD", "Adam", "AdamW", "Adamax", "Adagrad", "Adadelta", "RMSprop", "Rprop", "NAdam",
               "RAdam", "ASGD")  # fmt: skip


def check_optimizer(optimizer: torch.optim.Optimizer) -> None:
    """Raises ValueError for one that is not known to work on parts of weights."""
    if type(optimizer) not in [getattr(torch.optim, one) for one in _OPTIMIZERS]:
        raise ValueError(
            f'plan="splits" divides weights, and {type(optimizer).__name__} is not known to treat '
            f"each element by itself, as torch.optim's {', '.join(_OPTIMIZERS)} do"
        )


class _OwnRandomNumbers:
    """In the place of the program's, which draws the same on every rank and goes on doing so."""

    def __init__(self, rank: int) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(torch.initial_seed() + rank)
            self._state = torch.get_rng_state()

    def __enter__(self) -> None:
        self._programs = torch.get_rng_state()
        torch.set_rng_state(self._state)

    def __exit__(self, *_: Any) -> None:
        self._state = torch.get_rng_state()
        torch.set_rng_state(self._programs)


class SplitTraining:
    """One model of all ranks, of whose layers each rank computes parts."""

    def __init__(self, job: Job, splits: Optional[str]) -> None:
        self.model = model = job.model
        self._optimizer = optimizer = job.optimizer
        self._loss_fn = job.loss_fn
        self._clock = clock = job.clock
        self._rank, self._ranks = job.rank, job.ranks
        x, y = job.example
        self._layers = find_layers(model, x, self._ranks)
        self._shape = tuple(x.shape)
        self._own_rows = equal_ranges(len(x), self._ranks)[self._rank]
        self._check_ranks_agree(splits)
        pass_layer(model, optimizer, Broadcast(0))
        costs = measure_costs(self._layers, optimizer, self._loss, x, y, clock)
        self._problem = SplitProblem(self._layers.model, costs)
        self.splits = self._first_splits(splits)
        self._estimate = self._problem.estimate(self.splits)
        self._runner = LayerRunner(self._layers, self.splits, self._rank, clock)
        self._divided = DividedTensors(self._layers, self.splits, optimizer, self._rank)
        self._gradients = GradientSum(self._layers, self.splits, self._rank)
        self._random = _OwnRandomNumbers(self._rank)
        self._layers.values.clear()
        self.steps = 0
        self._medians = WindowMedians()
        self._windows: List[float] = []
        self._teller = PlanTeller(gather_objects(node_name()), self._rank)
        self._tell([])
        self._divided.divide()

    def _check_ranks_agree(self, splits: Optional[str]) -> None:
        described = (self._layers.model, self._shape, splits is None)
        if others := ranks_unlike_first(described):
            raise RuntimeError(
                f"rank {self._rank}: ranks {others} run other layers, or have batches of another "
                "size, than rank 0, or only some were given splits; start every rank with the same "
                "program and options"
            )

    def _first_splits(self, path: Optional[str]) -> List[Split]:
        """Collective: as rank 0 finds or reads them."""
        found, message = None, ""
        if self._rank == 0:
            try:
                if path is None:
                    answer = choose_strategies(self._problem.file())
                else:
                    answer = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
                found = [tuple(one) for one in splits_of(answer, self._layers.model)]
            except (OSError, ValueError, RuntimeError) as error:
                message = f"{path}: {error}" if path is not None else str(error)
        found, message = Broadcast(0).pass_object((found, message))
        if message:
            raise RuntimeError(message)
        return [Split(*one) for one in found]

    def _loss(self, outputs: torch.Tensor, y: Any) -> torch.Tensor:
        """Of this rank's rows: their part of the mean over the batch's."""
        own = self._own_rows
        loss = self._loss_fn(outputs, tree_map(
            lambda one: one.narrow(0, own.begin, own.length)
            if isinstance(one, torch.Tensor) and one.dim() > 0 else one, y,
        ))  # fmt: skip
        return loss * (own.length / self._shape[0])

    def step(self, x: Any, y: Any) -> torch.Tensor:
        if not isinstance(x, torch.Tensor) or tuple(x.shape) != self._shape:
            raise ValueError(
                f"a batch of shape {tuple(getattr(x, 'shape', ()))}, where the example had "
                f"{self._shape}"
            )
        begin = self._clock()
        self._divided.divide()
        self._optimizer.zero_grad(set_to_none=True)
        self._runner.waiting.seconds = 0.0
        with self._random:
            loss = self._loss(self._runner.outputs(x), y)
            whole = loss.detach().clone()
            summed = dist.all_reduce(whole, async_op=True)
            loss.backward()
        waiting = self._clock()
        self._gradients.finish()
        waited = self._runner.waiting.seconds + self._clock() - waiting
        self._optimizer.step()
        summed.wait()
        self.steps += 1
        seconds = self._clock() - begin
        self._note(seconds - waited, seconds)
        return whole

    def _note(self, computed: float, seconds: float) -> None:
        self._teller.poll()
        medians = self._medians.add((computed, seconds))
        if medians is None:
            return
        self._teller.verdict()
        every = gather_numbers(medians)
        self._windows = [*self._windows, max(one[1] for one in every)][-2:]
        self._tell([one[0] for one in every])

    @property
    def _measured_seconds(self) -> Optional[float]:
        return statistics.mean(self._windows) if self._windows else None

    def _tell(self, computed: Sequence[float]) -> None:
        if self._rank > 0:
            return
        measured = self._measured_seconds
        # All parts are equal: what one rank computes is the same part of everything.
        whole = [one * self._ranks for one in computed]
        self._teller.tell(
            self.steps,
            PlanInForce(
                SplitsInForce(parameter_parts(self._layers.model, self.splits)),
                predicted_seconds=self._estimate.seconds if self._estimate else None,
                measured_seconds=measured,
            ),
            rank_times(computed, measured, whole) if measured is not None else [], [],
        )  # fmt: skip

    def gather_model(self) -> None:
        """All of every weight, with the optimizer's state, on every rank; the next step divides
        them again."""
        self._divided.gather()

    def save_graph(self, path: str) -> None:
        """For `optile place strategy`: what each layer takes under each split."""
        pathlib.Path(path).write_text(json.dumps(self._problem.file()) + "\n", encoding="utf-8")

    def report(self) -> Dict[str, Any]:
        of = self._estimate
        return {
            "rank": self._rank,
            "steps": self.steps,
            "splits": {one.name: str(split)
                       for one, split in zip(self._layers.model.layers, self.splits)},
            "parameter_parts": parameter_parts(self._layers.model, self.splits),
            "predicted_seconds": of.seconds if of else None,
            "predicted_terms": vars(of) if of else None,
            "measured_seconds": self._measured_seconds,
            "changes": [],
            "publication": self._teller.publication,
        }  # fmt: skip
