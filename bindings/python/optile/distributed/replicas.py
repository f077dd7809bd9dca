"""Replicas of a model that is divided between ranks: the first ranks of the job run the first one,
the next as many the second one, and so on. Ranks with the same place in their replica have the same
weights, and average their gradients.
"""

from __future__ import annotations

import statistics
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple, TypeVar

import torch
import torch.distributed as dist
from torch import nn

from .batches import length_of, rows_of
from .layers import Clock
from .ranks import gather_numbers
from .stages import StageSeconds

_ROUNDS = 4  # of a measured exchange; the first one, which opens connections, does not count

_Told = TypeVar("_Told")


class Replicas:
    """As this rank sees them. `rank` and `ranks` are of its replica; the job's stand in PyTorch."""

    def __init__(self, ranks: Optional[int] = None) -> None:
        """Collective. `ranks`: of each replica, a divisor of the job's (None: there is one
        replica, of all)."""
        everyone = dist.get_world_size()
        self.ranks = everyone if ranks is None else ranks
        self.count = everyone // self.ranks
        self.number, self.rank = divmod(dist.get_rank(), self.ranks)
        self.first = self.number * self.ranks  # its rank 0, as the job counts
        self.inside: Optional[dist.ProcessGroup] = None  # None: all
        self._across: Optional[dist.ProcessGroup] = None
        if self.count == 1:
            return
        # All ranks make all groups, in the same order, as PyTorch asks for.
        every = range(everyone)
        inside = [dist.new_group(list(every[one : one + self.ranks]))
                  for one in range(0, everyone, self.ranks)]  # fmt: skip
        across = [dist.new_group(list(every[one :: self.ranks])) for one in range(self.ranks)]
        self.inside, self._across = inside[self.number], across[self.rank]

    def job_ranks(self, owners: Iterable[int]) -> List[int]:
        """Ranks of this replica, as the job counts them."""
        return [self.first + owner for owner in owners]

    def by_place(self, every: Sequence[_Told]) -> List[List[_Told]]:
        """What all ranks of the job told, for each place in a replica."""
        return [list(every[place :: self.ranks]) for place in range(self.ranks)]

    def slowest(self, every: Sequence[Sequence[float]]) -> List[List[float]]:
        """Of each place, number by number the most that any replica's rank told: replicas wait for
        each other."""
        return [[max(numbers) for numbers in zip(*one)] for one in self.by_place(every)]

    def slowest_stages(self, every: Sequence[StageSeconds]) -> List[StageSeconds]:
        return [StageSeconds(*one) for one in self.slowest(every)]

    def whole_seconds(
        self, every: Sequence[StageSeconds], of_places: Sequence[float]
    ) -> List[float]:
        """What each rank of the job would take for all that a replica does, where `of_places` are
        those of the slowest at each place."""
        slowest = [sum(one) for one in self.slowest_stages(every)]
        return [
            of_places[rank % self.ranks] * sum(stage) / max(slowest[rank % self.ranks], 1e-12)
            for rank, stage in enumerate(every)
        ]

    def rows_of(self, batch: Any) -> Any:
        """Of the whole batch, those of this replica: equal parts."""
        if self.count == 1:
            return batch
        rows = length_of(batch) // self.count
        return rows_of(batch, self.number * rows, (self.number + 1) * rows)

    def share_loss(self, loss: torch.Tensor, owner: int) -> Any:
        """Collective, without waiting for it: in place, the mean over replicas of what its rank
        `owner` has in each. Returns what is to be waited for."""
        if self.count == 1:
            return dist.broadcast(loss, owner, async_op=True)
        if self.rank == owner:
            loss.div_(self.count)
        else:
            loss.zero_()
        return dist.all_reduce(loss, async_op=True)

    def average_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Collective over the ranks with the same place; `parameters` are those that they train.
        What has a gradient in one replica has one in all behind it."""
        if self.count == 1:
            return
        trained = [one for one in parameters if one.requires_grad]
        for dtype in dict.fromkeys(one.dtype for one in trained):
            average_over([one for one in trained if one.dtype == dtype], self._across, self.count)

    def update(
        self, loss: torch.Tensor, owner: int, trained: Sequence[nn.Parameter],
        optimizer: torch.optim.Optimizer, clock: Clock,
    ) -> float:  # fmt: skip
        """Collective. After the passes of a step: the loss is shared from its rank `owner`, and
        gradients are averaged; seconds of the optimizer's step."""
        passed = self.share_loss(loss, owner)
        self.average_gradients(trained)
        begin = clock()
        optimizer.step()
        seconds = clock() - begin
        passed.wait()
        return seconds

    def measured_exchange(self, parameters: Iterable[nn.Parameter], clock: Clock) -> float:
        """Collective, over all ranks of the job: seconds of averaging gradients of these
        parameters, at the slowest place."""
        if self.count == 1:
            return 0.0
        trained = [one for one in parameters if one.requires_grad]
        before = [one.grad for one in trained]
        seconds = []
        for _ in range(_ROUNDS):
            for one in trained:
                one.grad = torch.zeros_like(one)
            dist.barrier()
            begin = clock()
            self.average_gradients(trained)
            seconds.append(clock() - begin)
        for one, gradient in zip(trained, before):
            one.grad = gradient
        return max(one for one, in gather_numbers([statistics.median(seconds[1:])]))

    def report(self) -> Dict[str, Any]:
        return {"replicas": self.count, "model_ranks": self.ranks}


def average_over(
    parameters: Sequence[nn.Parameter], group: Optional[dist.ProcessGroup], count: int
) -> None:
    """Collective over the group, of so many ranks: their gradients, of one dtype. A rank without
    some gradient counts as zeros; where no rank has it, it stays absent."""
    if not parameters:
        return
    pieces = [
        torch.zeros_like(one).flatten() if one.grad is None else one.grad.flatten()
        for one in parameters
    ]
    had = torch.tensor([float(one.grad is not None) for one in parameters])
    flat = torch.cat([*pieces, had.to(pieces[0].dtype)])
    dist.all_reduce(flat, group=group)
    had = flat[-len(parameters) :]
    flat = flat[: -len(parameters)].div_(count)
    for parameter, mean, any_had in zip(parameters, _split_like(flat, parameters), had.tolist()):
        if any_had:
            parameter.grad = mean


def _split_like(
    flat: torch.Tensor, parameters: Sequence[nn.Parameter]
) -> Tuple[torch.Tensor, ...]:
    pieces = flat.split([one.numel() for one in parameters])
    return tuple(piece.view_as(one) for piece, one in zip(pieces, parameters))
