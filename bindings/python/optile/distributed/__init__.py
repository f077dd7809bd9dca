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

import os
import time
from typing import Any, Dict, Optional, Protocol, Sequence, Tuple, Union

import torch
import torch.distributed as dist

from .batches import length_of
from .data_parallel import DataTraining
from .delayed_updates import delayed_updates
from .hybrids.speedups import predicted_speedups
from .hybrids.training import (
    Choice, Chooser, Epochs, HybridTraining, check_hybrid, chosen_training,
)  # fmt: skip
from .job import Job, check_version
from .layers import Clock, LossFunction
from .ranks import begin_process_group
from .replicas import Replicas
from .shares import divide

_PLANS = ("data", "pipeline", "placement", "splits", "hybrid")

__all__ = [
    "prepare", "step", "steps_done", "report", "gather_model", "save_graph", "delayed_updates",
]  # fmt: skip


class _Prepared(Protocol):
    model: torch.nn.Module
    steps: int

    def step(self, x: Any, y: Any) -> torch.Tensor: ...
    def report(self) -> Dict[str, Any]: ...
    def gather_model(self) -> None: ...
    def save_graph(self, path: str) -> None: ...


_training: Optional[_Prepared] = None


def _pipeline(
    job: Job, micro_batches: Optional[int], schedule: str, boundaries: Optional[Sequence[int]],
    replicas: Optional[Replicas] = None,
) -> _Prepared:  # fmt: skip
    check_version("pipeline")
    from . import layers, pipeline

    ranks = replicas.ranks if replicas is not None else job.ranks
    its_layers = layers.layers_of(job.model)
    pipeline.check_example(job.example, schedule, boundaries, ranks, len(its_layers))
    if ranks == 1:
        return DataTraining(job, its_layers)
    job.check_models_agree()
    return pipeline.PipelineTraining(
        job, micro_batches, schedule, boundaries, replicas or Replicas()
    )


def _placement(
    job: Job, placement: Optional[str], replicas: Optional[Replicas] = None, assisted: bool = False
) -> _Prepared:
    check_version("placement")
    from . import placed

    if job.ranks == 1:
        return DataTraining(job)
    job.check_models_agree()
    return placed.PlacementTraining(job, placement, replicas or Replicas(), assisted)


def _splits(job: Job, splits: Optional[str]) -> _Prepared:
    if job.keep:
        raise ValueError('keep=True is not built for plan="splits": checkpoint by gather_model()')
    check_version("splits")
    from .splits import training

    training.check_optimizer(job.optimizer)
    if job.ranks == 1:
        return DataTraining(job)
    job.check_models_agree()
    return training.SplitTraining(job, splits)


def _hybrid(
    job: Job, micro_batches: Optional[int], schedule: str, boundaries: Optional[Sequence[int]],
    placement: Optional[str], model_ranks: Union[int, str, None], model_plan: str, epochs: Epochs,
) -> _Prepared:  # fmt: skip
    check_hybrid(model_plan, model_ranks, job.ranks, boundaries, placement, job.keep)
    check_version(model_plan)

    def made(ranks_of_model: int) -> Any:
        if ranks_of_model == 1:
            return DataTraining(job)
        replicas = Replicas(ranks_of_model)
        if model_plan == "placement":
            return _placement(job, placement, replicas)
        return _pipeline(job, micro_batches, schedule, boundaries, replicas)

    if job.ranks == 1:
        return HybridTraining(made(1), Choice(1, 1, "there is one rank"))
    job.check_models_agree()
    if isinstance(model_ranks, int):
        choice = Choice(model_ranks, job.ranks // model_ranks, "as given")
        return HybridTraining(made(model_ranks), choice, length_of(job.example))
    predicted = predicted_speedups(model_plan, job, schedule, micro_batches)
    return chosen_training(Chooser(job, predicted, epochs), made, length_of(job.example))


def prepare(
    model: torch.nn.Module, optimizer: torch.optim.Optimizer, loss_fn: LossFunction, example: Any,
    plan: str = "data", *, micro_batches: Optional[int] = None, schedule: str = "1f1b",
    boundaries: Optional[Sequence[int]] = None, placement: Optional[str] = None,
    model_ranks: Union[int, str, None] = None, model_plan: str = "pipeline", epochs: Epochs = None,
    splits: Optional[str] = None, assisted: bool = False, keep: bool = False,
    stateful: Sequence[Any] = (), clock: Clock = time.perf_counter,
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
    while it runs). `assisted`: while such a search runs, scheduling assistants of the ranks hand
    single units over. Otherwise as with a pipeline.

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
    if assisted and (plan != "placement" or placement is not None):
        raise ValueError(
            'assisted=True moves units of plan="placement", where no placement is given'
        )
    if not dist.is_initialized() and int(os.environ.get("WORLD_SIZE", "1")) > 1:
        begin_process_group()
    job = Job(model, optimizer, loss_fn, example, clock, keep, stateful)
    if plan == "pipeline":
        _training = _pipeline(job, micro_batches, schedule, boundaries)
    elif plan == "placement":
        _training = _placement(job, placement, assisted=assisted)
    elif plan == "splits":
        _training = _splits(job, splits)
    elif plan == "hybrid":
        _training = _hybrid(job, micro_batches, schedule, boundaries, placement, model_ranks,
                            model_plan, epochs)  # fmt: skip
    else:
        training = DataTraining(job)
        divide(training.controller.shares, length_of(example))
        _training = training
    return _training.model, optimizer


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
