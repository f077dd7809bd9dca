"""Training on several ranks, divided between them by their measured speed while it runs.

    import optile.distributed as od

    model, optimizer = od.prepare(model, optimizer, loss_fn, example)
    for x, y in batches:  # the whole batch, on every rank
        loss = od.step(x, y)

To be started as PyTorch's distributed programs are (torchrun, mpirun with its variables); in one
process it is plain training. `loss_fn(outputs, y)` is a mean over rows; the result of `step` is the
loss of the whole batch. Call all from one thread, in every rank equally often.

plan="data": each rank computes a share of the rows. PyTorch's DistributedDataParallel moves the
gradients, each weighted by its rank's rows, so that loss and gradients are those of the whole batch
however it is divided.

plan="pipeline": each rank runs some of the layers, and PyTorch's pipelining moves activations and
their gradients. Every rank keeps the whole model, but only its own layers are trained there, and
the optimizer has state for them alone: gather_model() before a checkpoint or an evaluation.

plan="placement": each rank runs some of the operators of a step, as `optile place` says by what
they take on each rank and what tensors between ranks take. Weights are as with a pipeline.

plan="hybrid": some ranks run one model by one of the two plans above, and as many replicas of it as
there are ranks for train side by side, each with its part of the batch's rows.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import time
from typing import Any, Dict, List, Optional, Protocol, Sequence, Tuple, Union

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from .batches import length_of, rows_of
from .changes import WindowMedians
from .delayed_updates import delayed_updates
from .hybrids.training import (
    Choice, Chooser, Epochs, HybridTraining, check_hybrid, chosen_training,
)  # fmt: skip
from .kept_layers import resume_alone
from .kept_state import StateKeeper
from .layers import Clock, LossFunction
from .moves import Broadcast
from .plan_record import PlanInForce, RankTimes
from .plan_telling import PlanTeller, node_name
from .ranks import gather_numbers, gather_objects, ranks_unlike_first
from .replicas import Replicas
from .shares import ShareController, Window, divide
from .hybrids.speedups import predicted_speedups

_PLANS = ("data", "pipeline", "placement", "splits", "hybrid")

__all__ = [
    "prepare", "step", "steps_done", "report", "gather_model", "save_graph", "delayed_updates",
]  # fmt: skip


def _check_models_agree(model: torch.nn.Module) -> None:
    described = [(name, tuple(one.shape), str(one.dtype)) for name, one in
                 model.named_parameters()]  # fmt: skip
    mine = hashlib.sha256(repr(described).encode()).hexdigest()[:16]
    if others := ranks_unlike_first(mine):
        raise RuntimeError(
            f"rank {dist.get_rank()}: the model of ranks {others} has other parameters than that "
            "of rank 0; start every rank with the same program and options"
        )


class _Training:
    """One model of this process, on its rank: all of it, for a share of the rows."""

    def __init__(
        self, model: torch.nn.Module, optimizer: torch.optim.Optimizer, loss_fn: LossFunction,
        clock: Clock, keep: bool, stateful: Sequence[Any], layers: Sequence[torch.nn.Module] = (),
    ) -> None:  # fmt: skip
        self._clock = clock
        self._stateful = stateful
        self._layers = layers  # of a pipeline that has one rank now
        self.optimizer = optimizer
        self.loss_fn = loss_fn
        self.model = self._plain_model = model
        self.ranks = dist.get_world_size() if dist.is_initialized() else 1
        self.rank = dist.get_rank() if dist.is_initialized() else 0
        self.controller = ShareController(self.ranks)
        self.steps = 0
        self._began = 0.0
        self._forward_seconds = 0.0
        self._medians = WindowMedians()
        self._keeper = StateKeeper(clock) if keep else None
        self._resumed_from: Optional[int] = None
        self._last_seconds = 0.0
        self._resume()
        if self.ranks == 1:
            self._teller = PlanTeller([node_name()])
            self._teller.tell(0, PlanInForce([1.0]), [], [])
            return
        _check_models_agree(model)
        self._teller = PlanTeller(gather_objects(node_name()))
        self._tell()
        model.register_forward_pre_hook(self._on_forward)
        model.register_forward_hook(self._on_forwarded)
        self.model = DistributedDataParallel(model)

    # Computing is timed where no rank waits for another: inside the forward pass.
    def _on_forward(self, *_: Any) -> None:
        self._began = self._clock()

    def _on_forwarded(self, *_: Any) -> None:
        self._forward_seconds = self._clock() - self._began

    def step(self, x: Any, y: Any) -> torch.Tensor:
        self._keep()
        begin = self._clock()
        self.optimizer.zero_grad(set_to_none=True)
        if self.ranks == 1:
            loss = self.loss_fn(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            self.steps += 1
            self._last_seconds = self._clock() - begin
            self._note_alone(self._last_seconds)
            return loss.detach()
        rows = divide(self.controller.shares, length_of(x))
        first = sum(rows[: self.rank])
        mine = rows[self.rank]
        outputs = self.model(rows_of(x, first, first + mine))
        loss = self.loss_fn(outputs, rows_of(y, first, first + mine))
        weight = mine / sum(rows)
        whole = loss.detach() * weight
        summed = dist.all_reduce(whole, async_op=True)
        # What it moves is a mean over ranks.
        (loss * (weight * self.ranks)).backward()
        self.optimizer.step()
        summed.wait()
        self.steps += 1
        self._last_seconds = self._clock() - begin
        self._note(rows, self._last_seconds)
        return whole

    def _note(self, rows: List[int], seconds: float) -> None:
        medians = self._medians.add((self._forward_seconds / rows[self.rank], seconds))
        if medians is None:
            return
        every = gather_numbers(medians)
        row_seconds = [max(one[0], 1e-9) for one in every]
        window = Window(rows, row_seconds, max(one[1] for one in every))
        if self.controller.add(window, self.steps):
            self._medians.begin_plan()
            self._teller.changed(self.steps)
        self._tell()

    def _tell(self) -> None:
        if self.rank == 0:
            self._teller.tell(self.steps, self.controller.in_force, self.controller.rank_times(),
                              self.controller.changes)  # fmt: skip

    def _state(self) -> Dict[str, Any]:
        return {
            "model": self._plain_model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "stateful": [one.state_dict() for one in self._stateful],
            "random": torch.get_rng_state(),
            "shares": list(self.controller.shares),
        }

    def _resume(self) -> None:
        """Collective: all go on from the last step whose state some rank has."""
        if self._keeper is None:
            return
        kept = self._keeper.found()
        # Several ranks with a pipeline or a placement keep layers.
        found = next((one for one in kept if "model" in one.state), None)
        if self.ranks == 1 and kept and found is None:
            last = resume_alone(kept, self._layers, self.optimizer, self._stateful)
            self.steps, self._resumed_from = last, last or None
            self._keeper.begin_at(last)
            return
        mine = found.step if found is not None else 0
        steps = gather_objects(mine) if self.ranks > 1 else [mine]
        last = max(steps)
        if last == 0:
            return
        state = found.state if found is not None and mine == last else None
        if min(steps) < last:
            state = Broadcast(steps.index(last)).pass_object(state)
        assert state is not None
        self._plain_model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        for one, its_state in zip(self._stateful, state["stateful"]):
            one.load_state_dict(its_state)
        if mine == last:
            torch.set_rng_state(state["random"])
        if len(state["shares"]) == self.ranks:
            self.controller.shares = state["shares"]
        self.steps = self._resumed_from = last
        self._keeper.begin_at(last)

    def _keep(self) -> None:
        """As the program has left it behind the last step, its own objects among it."""
        if self._keeper is not None:
            gather = gather_numbers if self.ranks > 1 else lambda mine: [list(mine)]
            self._keeper.keep_where_due(self.steps, self._last_seconds, self._state, gather)

    def _note_alone(self, seconds: float) -> None:
        medians = self._medians.add((seconds,))
        if medians is not None:
            plan = PlanInForce([1.0], measured_seconds=medians[0])
            self._teller.tell(self.steps, plan, [RankTimes(medians[0], 1.0, medians[0])], [])

    def report(self) -> Dict[str, Any]:
        return {
            "rank": self.rank,
            "steps": self.steps,
            "shares": list(self.controller.shares),
            "changes": [vars(one) for one in self.controller.changes],
            "resumed_from": self._resumed_from,
            "kept_every": self._keeper.every if self._keeper else None,
            "not_kept": self._keeper.reason if self._keeper else "",
        }

    def gather_model(self) -> None:
        """Every rank has all of it."""

    def tell_choice(self, choice: str) -> None:
        self._teller.choice = choice

    def save_graph(self, path: str) -> None:
        raise RuntimeError(
            'only plan="placement" and plan="splits" on several ranks measure what a graph is made '
            "of"
        )


class _Prepared(Protocol):
    steps: int

    def step(self, x: Any, y: Any) -> torch.Tensor: ...
    def report(self) -> Dict[str, Any]: ...
    def gather_model(self) -> None: ...
    def save_graph(self, path: str) -> None: ...


_training: Optional[_Prepared] = None


def _pipeline(
    model: torch.nn.Module, optimizer: torch.optim.Optimizer, loss_fn: LossFunction, example: Any,
    clock: Clock, micro_batches: Optional[int], schedule: str, boundaries: Optional[Sequence[int]],
    keep: bool, stateful: Sequence[Any], replicas: Optional[Replicas] = None,
) -> _Prepared:  # fmt: skip
    _check_version("pipeline")
    from . import layers, pipeline

    ranks = dist.get_world_size() if dist.is_initialized() else 1
    ranks = replicas.ranks if replicas is not None else ranks
    its_layers = layers.layers_of(model)
    pipeline.check_example(example, schedule, boundaries, ranks, len(its_layers))
    if ranks == 1:
        return _Training(model, optimizer, loss_fn, clock, keep, stateful, its_layers)
    _check_models_agree(model)
    return pipeline.PipelineTraining(
        model, optimizer, loss_fn, example, clock, micro_batches, schedule, boundaries, keep,
        stateful, replicas or Replicas(),
    )  # fmt: skip


def _placed(
    model: torch.nn.Module, optimizer: torch.optim.Optimizer, loss_fn: LossFunction, example: Any,
    clock: Clock, placement: Optional[str], keep: bool, stateful: Sequence[Any],
    replicas: Optional[Replicas] = None,
) -> _Prepared:  # fmt: skip
    _check_version("placement")
    from . import placed

    if not dist.is_initialized() or dist.get_world_size() == 1:
        return _Training(model, optimizer, loss_fn, clock, keep, stateful)
    _check_models_agree(model)
    return placed.PlacementTraining(
        model, optimizer, loss_fn, example, clock, placement, keep, stateful,
        replicas or Replicas(),
    )  # fmt: skip


def _hybrid(
    model: torch.nn.Module, optimizer: torch.optim.Optimizer, loss_fn: LossFunction, example: Any,
    clock: Clock, micro_batches: Optional[int], schedule: str, boundaries: Optional[Sequence[int]],
    placement: Optional[str], model_ranks: Union[int, str, None], model_plan: str, epochs: Epochs,
    keep: bool, stateful: Sequence[Any],
) -> HybridTraining:  # fmt: skip
    ranks = dist.get_world_size() if dist.is_initialized() else 1
    check_hybrid(model_plan, model_ranks, ranks, boundaries, placement, keep)
    _check_version(model_plan)

    def made(ranks_of_model: int) -> Any:
        if ranks_of_model == 1:
            return _Training(model, optimizer, loss_fn, clock, keep, stateful)
        replicas = Replicas(ranks_of_model)
        if model_plan == "placement":
            return _placed(model, optimizer, loss_fn, example, clock, placement, keep, stateful,
                           replicas)  # fmt: skip
        return _pipeline(model, optimizer, loss_fn, example, clock, micro_batches, schedule,
                         boundaries, keep, stateful, replicas)  # fmt: skip

    if ranks == 1:
        return HybridTraining(made(1), Choice(1, 1, "there is one rank"))
    _check_models_agree(model)
    if isinstance(model_ranks, int):
        choice = Choice(model_ranks, ranks // model_ranks, "as given")
        return HybridTraining(made(model_ranks), choice, length_of(example))
    predicted = predicted_speedups(model_plan, model, loss_fn, example, clock, schedule,
                                   micro_batches)  # fmt: skip
    chooser = Chooser(model, loss_fn, example, clock, predicted, epochs)
    return chosen_training(chooser, made, length_of(example))


def _split(
    model: torch.nn.Module, optimizer: torch.optim.Optimizer, loss_fn: LossFunction, example: Any,
    clock: Clock, splits: Optional[str], keep: bool, stateful: Sequence[Any],
) -> _Prepared:  # fmt: skip
    if keep:
        raise ValueError('keep=True is not built for plan="splits": checkpoint by gather_model()')
    _check_version("splits")
    from .splits import training

    training.check_optimizer(optimizer)
    if not dist.is_initialized() or dist.get_world_size() == 1:
        return _Training(model, optimizer, loss_fn, clock, keep, stateful)
    _check_models_agree(model)
    return training.SplitTraining(model, optimizer, loss_fn, example, clock, splits)


def _check_version(plan: str) -> None:
    version = tuple(int(one) for one in torch.__version__.split("+")[0].split(".")[:2])
    if plan == "pipeline" and importlib.util.find_spec("torch.distributed.pipelining") is None:
        raise RuntimeError(
            f"a pipeline needs torch.distributed.pipelining, which PyTorch {torch.__version__} has "
            "not; 2.13 was tried"
        )
    if plan == "placement" and version < (2, 0):
        raise RuntimeError(
            f"a placement needs PyTorch 2.0, and this is {torch.__version__}; 2.13 was tried"
        )
    if plan == "splits" and version < (2, 1):
        raise RuntimeError(
            f"splits need PyTorch 2.1, and this is {torch.__version__}; 2.13 was tried"
        )


def prepare(
    model: torch.nn.Module, optimizer: torch.optim.Optimizer, loss_fn: LossFunction, example: Any,
    plan: str = "data", *, micro_batches: Optional[int] = None, schedule: str = "1f1b",
    boundaries: Optional[Sequence[int]] = None, placement: Optional[str] = None,
    model_ranks: Union[int, str, None] = None, model_plan: str = "pipeline", epochs: Epochs = None,
    splits: Optional[str] = None, keep: bool = False, stateful: Sequence[Any] = (),
    clock: Clock = time.perf_counter,
) -> Tuple[torch.nn.Module, torch.optim.Optimizer]:  # fmt: skip
    """Before the first step, in every rank. `example`: a batch, (x, y); `clock` says seconds. What
    it returns stands for what it was given. Raises where ranks have other models or a batch cannot
    be divided between them.

    With plan="pipeline", the model is an nn.Sequential, or has pipeline_layers(): the layers that
    its forward() runs one after the other, each from one tensor to another (TypeError otherwise).
    Every rank begins with rank 0's weights and optimizer state. `schedule` is 1f1b or gpipe.
    `micro_batches` of a step (None: chosen by simulated steps) and `boundaries`, the first layer of
    each stage but the first one (None: chosen, and moved while it runs), stay as they are given.
    What is returned are the given objects; the optimizer's groups are those of the whole model on
    every rank. Every batch has as many rows as the example.

    With plan="placement", torch.fx traces the model, in the mode (training) that it is in
    (ValueError where it cannot). `placement`: a file that `optile place step --json` wrote for the
    graph that save_graph() gives, which stays (None: searched for by the command optile, and again
    while it runs). Otherwise as with a pipeline.

    With plan="hybrid", `model_ranks` ranks run one model, by `model_plan`, pipeline or placement
    with their options, and each replica computes equal parts of the rows: `example` is the batch of
    one replica, and a step's batch has as many rows for each of them; report() says how many
    `replicas` there are. model_ranks="auto": `optile parallelism` chooses a divisor of the ranks,
    by what is measured and by `epochs` that converging takes: by rows of the whole batch (None: it
    does not converge), or the file with them that bench/distributed/epochs.py writes; without, they
    are taken to be equal. Other plans take none of the three.

    With plan="splits", torch.fx traces the model likewise (ValueError). Layers that are not known
    are divided by rows. `splits`: a file that `optile place strategy --json` wrote for the problem
    that save_graph() gives, or `optile place network --json` (None: found by the command optile).
    The optimizer is one of torch.optim's that treat each element by itself; `keep` is refused.

    With `keep`, the state of the training is kept in memory of each node every few steps, and where
    torchrun starts ranks again, this loads it: go on with the batch steps_done(). `stateful`: what
    else belongs to it and has state_dict() and load_state_dict(), such as a schedule of learning
    rates. Of a pipeline and a placement each rank keeps what it trains."""
    global _training
    if plan not in _PLANS:
        raise ValueError(f"a plan is one of {', '.join(_PLANS)}, and not {plan!r}")
    if not dist.is_initialized() and int(os.environ.get("WORLD_SIZE", "1")) > 1:
        dist.init_process_group("gloo")
    if plan == "hybrid":
        _training = _hybrid(
            model, optimizer, loss_fn, example, clock, micro_batches, schedule, boundaries,
            placement, model_ranks, model_plan, epochs, keep, stateful,
        )  # fmt: skip
        return _training.model, optimizer
    if plan == "splits":
        _training = _split(model, optimizer, loss_fn, example, clock, splits, keep, stateful)
        return model, optimizer
    if plan == "placement":
        _training = _placed(
            model, optimizer, loss_fn, example, clock, placement, keep, stateful
        )
        return model, optimizer
    if plan == "pipeline":
        _training = _pipeline(
            model, optimizer, loss_fn, example, clock, micro_batches, schedule, boundaries, keep,
            stateful,
        )  # fmt: skip
        return model, optimizer
    training = _Training(model, optimizer, loss_fn, clock, keep, stateful)
    divide(training.controller.shares, length_of(example))
    _training = training
    return training.model, optimizer


def _prepared() -> _Prepared:
    if _training is None:
        raise RuntimeError("call optile.distributed.prepare() before anything else of it")
    return _training


def step(x: Any, y: Any) -> torch.Tensor:
    """Forward, backward and the optimizer's step for the batch `x` with `y`; its loss."""
    return _prepared().step(x, y)


def steps_done() -> int:
    """How many steps the training has behind it, those before a restart among them."""
    return _prepared().steps


def gather_model() -> None:
    """Collective, between steps: afterwards the model and the optimizer of every rank hold all that
    was trained, as a checkpoint wants it. With plan="data" they do anyway."""
    _prepared().gather_model()


def save_graph(path: str) -> None:
    """Of plan="placement": writes what was measured for `optile place step --graph`: units of
    operators, forward and backward, what goes between them, and the ranks. Of plan="splits": for
    `optile place strategy --graph`, each layer under each of its splits."""
    _prepared().save_graph(path)


def report() -> Dict[str, Any]:
    """The plan in force, and which others were tried, with what they promised and gained. Of a
    pipeline: `boundaries`, `micro_batches`, and seconds of a step as they were predicted by
    simulating it and as the last ten steps measured them (None: not yet)."""
    return _prepared().report()
