"""How many times as fast some ranks are predicted to run one model as one rank does: SU of a
hybrid, by the same simulated steps by which those ranks would divide it.
"""

from __future__ import annotations

from typing import Dict, List, Optional

from ..job import Job
from ..layers import layers_of, warm_up
from ..links import measured_link
from ..place_command import place
from ..rank_cores import computing_clock, gather_cores
from ..replicas import Replicas
from ..shared_cores import SharedCores, rates_by_place
from ..stages import StageController, micro_batch_counts
from .training import agreed, divisors


def predicted_speedups(
    model_plan: str, job: Job, schedule: str, micro_batches: Optional[int]
) -> Dict[int, float]:
    """Collective. For each divisor of the ranks, from 2 on, by which the model can be divided.
    Raises ValueError where there is none."""
    if model_plan == "placement":
        found = _of_placements(job)
    else:
        found = _of_pipelines(job, schedule, micro_batches)
    if not found:
        raise ValueError(
            f"{job.ranks} ranks cannot run this model as a {model_plan}, by no divisor "
            'of theirs: take plan="data"'
        )
    return found


def _counts_of(rows: int, ranks: int, layers: int, micro_batches: Optional[int]) -> List[int]:
    """Numbers of micro-batches for so many ranks; none where they cannot be a pipeline."""
    if layers < ranks:
        return []
    if micro_batches is not None:
        return [micro_batches] if micro_batches >= ranks and rows % micro_batches == 0 else []
    try:
        return micro_batch_counts(rows, ranks)
    except ValueError:
        return []


def _alone_seconds(of_places: List[float], cores: Optional[SharedCores]) -> float:
    """Of the slowest rank that runs all of the model, while all other ranks do."""
    rates = [1.0] * len(of_places) if cores is None else rates_by_place(cores, len(of_places))
    return max(seconds / rate for seconds, rate in zip(of_places, rates))


def _of_pipelines(job: Job, schedule: str, micro_batches: Optional[int]) -> Dict[int, float]:
    from ..pipeline import profiles_of

    x, y = job.example
    cores = gather_cores(job.clock)
    clock = computing_clock(job.clock, cores)
    layers = layers_of(job.model)
    elements = [sum(one.numel() for one in layer.parameters()) for layer in layers]
    counts = {
        ranks: _counts_of(len(x), ranks, len(layers), micro_batches)
        for ranks in divisors(job.ranks)[1:]
    }
    warm_ups = {
        count: warm_up(job.model, job.loss_fn, x[: len(x) // count], y[: len(y) // count],
                       clock)
        for count in sorted({1, *(one for of_ranks in counts.values() for one in of_ranks)})
    }
    largest = max(one.bytes() for one in warm_ups[1].inputs)
    found = {}
    for ranks, its_counts in counts.items():
        if not its_counts:
            continue
        replicas = Replicas(ranks)
        link = measured_link(replicas, largest, clock)
        profiles = profiles_of(warm_ups, link, replicas)
        alone = _alone_seconds([sum(forward) + sum(backward) for forward, backward
                                in zip(profiles[1].forward, profiles[1].backward)], cores)
        controller = StageController(
            schedule, {one: profiles[one] for one in its_counts}, elements, cores=cores
        )
        found[ranks] = alone / max(controller.predicted_seconds, 1e-12)
    return found


def _of_placements(job: Job) -> Dict[int, float]:
    from ..placed import costs_of, graph_of
    from ..step_units import owners_of, place_file, simulate
    from ..traced import find_units
    from ..unit_runs import measure_units

    cores = gather_cores(job.clock)
    clock = computing_clock(job.clock, cores)
    units = find_units(job.model, job.example[0])
    graph = graph_of(units)
    profile = measure_units(job.model, units, job.loss_fn, *job.example,
                            clock)  # fmt: skip
    found = {}
    for ranks in divisors(job.ranks)[1:]:
        costs = costs_of(graph, profile, Replicas(ranks), clock, cores)
        names = [f"rank{rank}" for rank in range(ranks)]

        def speedup() -> float:
            owners = owners_of(place(place_file(graph, costs, names)), graph, ranks)
            alone = _alone_seconds([costs.whole_seconds(rank) for rank in range(ranks)], cores)
            return alone / max(simulate(graph, costs, owners).seconds, 1e-12)

        found[ranks] = agreed(speedup)
    return found
