"""Data parallelism: each rank computes the share of the rows that its speed says, and PyTorch's
DistributedDataParallel moves the gradients.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from .batches import length_of, rows_of
from .changes import WindowMedians
from .job import Job
from .kept_layers import resume_alone
from .kept_state import StateKeeper, say_begins_anew, was_started_before
from .layers import with_restored
from .moves import Broadcast
from .plan_asking import Verdict
from .plan_record import PlanInForce, RankTimes
from .plan_telling import PlanTeller, node_name
from .ranks import gather_numbers, gather_objects
from .shares import ShareController, Window, divide


class DataTraining:
    """One model of this process, on its rank: all of it, for a share of the rows."""

    def __init__(self, job: Job, layers: Sequence[torch.nn.Module] = ()) -> None:
        """`layers`: of a pipeline that has one rank now."""
        self._clock = job.clock
        self._stateful = job.stateful
        self._layers = layers
        self.optimizer = job.optimizer
        self.loss_fn = job.loss_fn
        self.model = self._plain_model = job.model
        self.ranks, self.rank = job.ranks, job.rank
        self.controller = ShareController(self.ranks)
        self.steps = 0
        self._began = 0.0
        self._forward_seconds = 0.0
        self._medians = WindowMedians()
        self._keeper = StateKeeper(job.clock) if job.keep else None
        self._resumed_from: Optional[int] = None
        self._last_seconds = 0.0
        self._resume()
        if self.ranks == 1:
            self._teller = PlanTeller([node_name()])
            self._teller.tell(0, PlanInForce([1.0]), [], [])
            return
        job.check_models_agree()
        self._teller = PlanTeller(gather_objects(node_name()), self.rank)
        self._tell()
        unused = self._has_unused(job)
        job.model.register_forward_pre_hook(self._on_forward)
        job.model.register_forward_hook(self._on_forwarded)
        self.model = DistributedDataParallel(job.model, find_unused_parameters=unused)

    def _has_unused(self, job: Job) -> bool:
        """Collective: whether a pass of the example leaves some parameter without a gradient, which
        DistributedDataParallel has to look for in each step then. The model is as before."""
        rows = max(1, length_of(job.example) // self.ranks)  # what a step may ask of any rank
        x, y = (rows_of(one, 0, rows) for one in job.example)
        trained = [one for one in job.model.parameters() if one.requires_grad]

        def run() -> bool:
            loss = job.loss_fn(job.model(x), y)
            gradients = torch.autograd.grad(loss, trained, allow_unused=True)
            return any(one is None for one in gradients)

        try:
            found = bool(with_restored(job.model.buffers(), run))
        except (RuntimeError, ValueError):  # as of checkpoints, or of so few rows
            found = False
        return any(gather_objects(found))

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
        end = first + rows[self.rank]
        loss = self.loss_fn(self.model(rows_of(x, first, end)), rows_of(y, first, end))
        weight = rows[self.rank] / sum(rows)
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
        self._teller.poll()
        medians = self._medians.add((self._forward_seconds / rows[self.rank], seconds))
        if medians is None:
            return
        every = gather_numbers([*medians, self._teller.verdict()])
        row_seconds = [max(one[0], 1e-9) for one in every]
        window = Window(rows, row_seconds, max(one[1] for one in every))
        if self.controller.add(window, self.steps, Verdict(int(every[0][-1]))):
            self._medians.begin_plan()
            self._teller.changed(self.steps)
        self._tell()

    def _tell(self) -> None:
        if self.rank == 0:
            self._teller.tell(self.steps, self.controller.in_force, self.controller.rank_times(),
                              self.controller.changes, self.controller.proposed)  # fmt: skip

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
        known = (mine, bool(kept), was_started_before())
        steps, any_kept, started_before = zip(
            *(gather_objects(known) if self.ranks > 1 else [known])
        )
        last = max(steps)
        if last == 0:
            if self.rank == 0:
                say_begins_anew(any(any_kept), any(started_before))
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
        self._teller.poll()
        medians = self._medians.add((seconds,))
        if medians is not None:
            self._teller.verdict()
            plan = PlanInForce([1.0], measured_seconds=medians[0])
            self._teller.tell(self.steps, plan, [RankTimes(medians[0], 1.0, medians[0])], [])

    def report(self) -> Dict[str, Any]:
        return {
            "rank": self.rank,
            "steps": self.steps,
            "shares": list(self.controller.shares),
            "changes": [vars(one) for one in self.controller.changes],
            "publication": self._teller.publication,
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
