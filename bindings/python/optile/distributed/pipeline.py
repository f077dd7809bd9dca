"""A pipeline: each rank runs a stage of consecutive layers, and PyTorch's pipelining moves
activations and gradients of micro-batches between them. Which layers a rank has follows the ranks'
measured speed; between steps, a layer that changes its rank takes its weights and what the
optimizer knows of them along.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe

from .changes import WindowMedians
from .job import Job
from .kept_layers import KeptLayers
from .layers import Clock, LossFunction, TensorLayout, WarmUp, layers_of, modifies_input, warm_up
from .links import measured_link
from .moves import Broadcast, forget_layer, move_layers, pass_layer
from .plan_asking import Verdict
from .plan_record import PlanInForce, RankTimes, rank_times
from .plan_telling import PlanTeller, node_name
from .rank_cores import computing_clock, gather_cores, shares_cores
from .ranks import gather_numbers, gather_objects, ranks_unlike_first
from .replicas import Replicas
from .shared_cores import with_messages
from .stages import (
    SCHEDULES, Profile, StageController, StageSeconds, Window, micro_batch_counts,
)  # fmt: skip


class _Layers(nn.Module):
    """Those of one stage."""

    def __init__(self, layers: Sequence[nn.Module]) -> None:
        super().__init__()
        self._layers = nn.ModuleList(layers)
        self._copies = modifies_input(layers[0])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.clone() if self._copies else x
        for layer in self._layers:
            x = layer(x)
        return x.contiguous()  # what gloo asks for


class _TimedStage(PipelineStage):
    """Counts the seconds of computing, in which no rank waits for another."""

    def __init__(self, clock: Clock, layers: _Layers, replicas: Replicas,
                 layouts: Sequence[TensorLayout]) -> None:  # fmt: skip
        # Their layouts are given, since PyTorch would find them by running layers once more, and
        # batch statistics would see that.
        super().__init__(layers, replicas.rank, replicas.ranks, torch.device("cpu"),
                         input_args=layouts[0].empty(), output_args=layouts[1].empty(),
                         group=replicas.inside)  # fmt: skip
        self._clock = clock
        self.forward_seconds = 0.0
        self.backward_seconds = 0.0

    def forward_one_chunk(self, *args: Any, **options: Any) -> Any:
        begin = self._clock()
        output = super().forward_one_chunk(*args, **options)
        self.forward_seconds += self._clock() - begin
        return output

    def backward_one_chunk(self, *args: Any, **options: Any) -> Any:
        begin = self._clock()
        result = super().backward_one_chunk(*args, **options)
        self.backward_seconds += self._clock() - begin
        return result

    def timed_loss(self, loss_fn: LossFunction, outputs: Any, y: Any) -> torch.Tensor:
        begin = self._clock()
        loss = loss_fn(outputs, y)
        self.forward_seconds += self._clock() - begin
        return loss


def _check_options_agree(options: Tuple[Any, ...]) -> None:
    if others := ranks_unlike_first(options):
        raise RuntimeError(
            f"rank {dist.get_rank()}: ranks {others} were given another schedule, other boundaries "
            "or other sizes of batches than rank 0"
        )


class PipelineTraining:
    """One model of all ranks of a replica, of which each runs a stage. All replicas have the same
    plan: it is decided by the slowest rank at each place."""

    def __init__(
        self, job: Job, micro_batches: Optional[int], schedule: str,
        boundaries: Optional[Sequence[int]], replicas: Replicas,
    ) -> None:  # fmt: skip
        """The job's example is of one replica."""
        x, y = job.example
        self.model = model = job.model
        self._optimizer = job.optimizer
        self._loss_fn = job.loss_fn
        self._clock = job.clock
        self._cores = gather_cores(job.clock)
        self._computing_clock = computing_clock(job.clock, self._cores)
        self._schedule_name = schedule
        self._replicas = replicas
        self._rank, self._ranks = replicas.rank, replicas.ranks
        self._layers = layers_of(model)
        self._rows = len(x)
        self._medians = WindowMedians()
        self._last_seconds = 0.0
        counts = self._counts(micro_batches)
        given = None if boundaries is None else tuple(boundaries)
        _check_options_agree((schedule, counts, given, self._rows))
        self._kept = KeptLayers(self._layers, job)
        self.steps = self._kept.begin()
        warm_ups = {
            count: warm_up(model, job.loss_fn, x[: len(x) // count], y[: len(y) // count],
                           self._computing_clock)
            for count in counts
        }
        self._layouts = {count: one.inputs for count, one in warm_ups.items()}
        self._loss_dtype = warm_ups[counts[0]].loss_dtype
        elements = [sum(one.numel() for one in layer.parameters()) for layer in self._layers]
        self.controller = StageController(
            schedule, self._profiles(warm_ups), elements, boundaries, self._cores
        )
        own = self._own_layers()
        for number, layer in enumerate(self._layers):
            if number not in own:
                forget_layer(layer, job.optimizer)
        self._teller = PlanTeller(gather_objects(node_name()), dist.get_rank())
        self._build()
        self._tell([], None)

    def _counts(self, micro_batches: Optional[int]) -> List[int]:
        if micro_batches is None:
            return micro_batch_counts(self._rows, self._ranks)
        if micro_batches < self._ranks or self._rows % micro_batches != 0:
            raise ValueError(
                f"{micro_batches} micro-batches: a batch of {self._rows} rows is divided into "
                f"equal ones, as many as there are ranks ({self._ranks}) or more"
            )
        return [micro_batches]

    def _profiles(self, warm_ups: Mapping[int, WarmUp]) -> Dict[int, Profile]:
        """Collective: what all ranks measured."""
        largest = max(one.bytes() for layouts in self._layouts.values() for one in layouts)
        link = measured_link(self._replicas, largest, self._computing_clock)
        return profiles_of(warm_ups, link, self._replicas)

    def _own_layers(self) -> range:
        return self.controller.plan.layers_of(self._rank, len(self._layers))

    def _build(self) -> None:
        """The stage and the schedule of the plan in force."""
        own, count = self._own_layers(), self.controller.plan.micro_batches
        layouts = self._layouts[count]
        mine = _Layers([self._layers[number] for number in own])
        self._trained = list(mine.parameters())
        self._exchange_seconds = self._replicas.measured_exchange(self._trained, self._clock)
        stage = _TimedStage(
            self._computing_clock, mine, self._replicas, (layouts[own.start], layouts[own.stop])
        )
        kind = ScheduleGPipe if self._schedule_name == "gpipe" else Schedule1F1B
        self._stage = stage
        self._schedule = kind(
            stage, count, loss_fn=lambda outputs, y: stage.timed_loss(self._loss_fn, outputs, y)
        )

    def run_passes(self, x: torch.Tensor, y: torch.Tensor) -> Optional[torch.Tensor]:
        """Forward and backward, for the rows of this replica. The loss, on its last rank."""
        first, last = self._rank == 0, self._rank == self._ranks - 1
        losses: List[torch.Tensor] = []
        stage = self._stage
        stage.forward_seconds = stage.backward_seconds = 0.0
        begin = self._computing_clock()
        self._schedule.step(*([x] if first else []), target=y if last else None,
                            losses=losses if last else None, return_outputs=False)  # fmt: skip
        if shares_cores(self._cores):
            stage.forward_seconds, stage.backward_seconds = with_messages(
                self._computing_clock() - begin, stage.forward_seconds, stage.backward_seconds
            )
        return torch.stack([one.detach() for one in losses]).mean() if last else None

    def step(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x, y = self._replicas.rows_of((x, y))
        if len(x) != self._rows or len(y) != self._rows:
            raise ValueError(f"a batch of {len(x)} rows, where the example had {self._rows}")
        self._kept.keep(self.steps, self._last_seconds, self._own_layers())
        begin = self._clock()
        self._optimizer.zero_grad(set_to_none=True)
        loss = self.run_passes(x, y)
        if loss is None:
            loss = torch.empty((), dtype=self._loss_dtype)
        updating = self._replicas.update(loss, self._ranks - 1, self._trained, self._optimizer,
                                         self._computing_clock)  # fmt: skip
        self.steps += 1
        self._last_seconds = self._clock() - begin
        count = self.controller.plan.micro_batches
        self._note((self._stage.forward_seconds / count, self._stage.backward_seconds / count,
                    updating, self._last_seconds))  # fmt: skip
        return loss

    def _note(self, seconds: Tuple[float, float, float, float]) -> None:
        self._teller.poll()
        medians = self._medians.add(seconds)
        if medians is None:
            return
        found = gather_numbers([*medians, self._teller.verdict()])
        every = [StageSeconds(*one[:3]) for one in found]
        before = self.controller.plan
        window = Window(self._replicas.slowest_stages(every), max(one[3] for one in found))
        changed = self.controller.add(window, self.steps, Verdict(int(found[0][-1])))
        if changed:
            self._medians.begin_plan()
            self._teller.changed(self.steps)
        self._tell(self._rank_times(every, window.step_seconds, before.micro_batches),
                   None if changed else window.step_seconds)  # fmt: skip
        if changed:
            owners = (self._replicas.job_ranks(plan.owners(len(self._layers)))
                      for plan in (before, self.controller.plan))  # fmt: skip
            move_layers(self._layers, *owners, self._optimizer)
            self._build()

    def _rank_times(
        self, every: Sequence[StageSeconds], step_seconds: float, count: int
    ) -> List[RankTimes]:
        busy = [(one.forward + one.backward) * count + one.update for one in every]
        whole = self._replicas.whole_seconds(every, self.controller.whole_seconds())
        return rank_times(busy, step_seconds, whole)

    @property
    def _predicted_seconds(self) -> float:
        return self.controller.predicted_seconds + self._exchange_seconds

    def _tell(self, times: List[RankTimes], measured_seconds: Optional[float]) -> None:
        if dist.get_rank() > 0:
            return
        plan = PlanInForce(
            self.controller.plan, len(self._layers), self._schedule_name,
            self._predicted_seconds, measured_seconds, self._replicas.count,
        )  # fmt: skip
        self._teller.tell(self.steps, plan, times, self.controller.changes,
                          self.controller.proposed)  # fmt: skip

    def tell_choice(self, choice: str) -> None:
        self._teller.choice = choice

    def gather_model(self) -> None:
        """Every layer, with the optimizer's state, from its rank to all."""
        for layer, owner in zip(self._layers, self.controller.plan.owners(len(self._layers))):
            pass_layer(layer, self._optimizer, Broadcast(owner))

    def report(self) -> Dict[str, Any]:
        return {
            "rank": dist.get_rank(),
            "steps": self.steps,
            "schedule": self._schedule_name,
            **self._replicas.report(),
            **self._kept.report(),
            **asdict(self.controller.plan),
            "predicted_seconds": self._predicted_seconds,
            "measured_seconds": self.controller.measured_seconds,
            "changes": [asdict(one) for one in self.controller.changes],
            "publication": self._teller.publication,
        }


def profiles_of(
    warm_ups: Mapping[int, WarmUp], link: Tuple[float, float], replicas: Replicas
) -> Dict[int, Profile]:
    """Collective: what all ranks measured, for each number of micro-batches; of each place in a
    replica the slowest."""
    times = {count: (one.forward, one.backward) for count, one in warm_ups.items()}
    every = gather_objects((link, times))
    links = replicas.slowest([one for one, _ in every])
    profiles = {}
    for count, warm in warm_ups.items():
        forward, backward = (replicas.slowest([of_rank[count][way] for _, of_rank in every])
                             for way in (0, 1))  # fmt: skip
        transfer = [[least + one.bytes() * for_byte for one in warm.inputs[:-1]]
                    for least, for_byte in links]  # fmt: skip
        profiles[count] = Profile(forward, backward, transfer)
    return profiles


def check_example(example: Any, schedule: str, boundaries: Optional[Sequence[int]], ranks: int,
                  layers: int) -> None:  # fmt: skip
    """Raises where a pipeline cannot be made of what prepare() was given."""
    if schedule not in SCHEDULES:
        raise ValueError(f"the schedule is one of {', '.join(SCHEDULES)}, and not {schedule}")
    if not all(isinstance(one, torch.Tensor) for one in example) or len(example) != 2:
        raise TypeError("a pipeline's batch is two tensors, x and y")
    if layers < ranks:
        raise ValueError(f"{layers} layers are no pipeline of {ranks} ranks")
    if boundaries is None or ranks == 1:
        return
    edges = (0, *boundaries, layers)
    if len(edges) != ranks + 1 or any(one >= other for one, other in zip(edges, edges[1:])):
        raise ValueError(
            f"boundaries {list(boundaries)}: for {ranks} ranks and {layers} layers they are "
            f"{ranks - 1} growing numbers between 0 and {layers}"
        )
