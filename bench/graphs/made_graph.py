#!/usr/bin/env python3
"""Graphs to measure placement on: made_graph.py KIND NODES [--seed N] [--change PERCENT].

Prints a graph in our own format (JSON) to stdout. The kinds:

  layered    layers of equal width; a node reads one to three nodes of the layer before, close to
             its own place, and sometimes one of an earlier layer
  branching  blocks that follow each other, each a fork into chains that join again, as networks of
             Inception's kind have; branches may fork once more
  random     a node reads one to four of the nodes before it, mostly late ones

Times, memory and outputs are log-uniform: 0.01 to 1 ms, 10 kB to 10 MB each.

With --change, the same graph after so many percent of its nodes have changed: a third of those
takes another time, a third is gone (who read them reads what they read), and as many are new, each
on an edge. Nodes that are in both have the same names in both.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from typing import Any, Callable, Dict, List

LAYER_WIDTH = 64
SKIPS = 0.05  # of the nodes of a layer, that read an earlier one too
WINDOW = 500  # how far back most inputs of a random graph lie


class MadeGraph:
    """Nodes with what each reads, in an order that is topological."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.nodes: List[Dict[str, Any]] = []
        self.inputs: List[List[int]] = []

    def log_uniform(self, low: float, high: float) -> float:
        return float(f"{low * (high / low) ** self.random.random():.6g}")

    def node(self, name: str) -> Dict[str, Any]:
        return {
            "name": name,
            "accelerator_ms": self.log_uniform(0.01, 1),
            "memory_bytes": self.log_uniform(1e4, 1e7),
            "output_bytes": self.log_uniform(1e4, 1e7),
        }

    def add(self, inputs: List[int]) -> int:
        self.nodes.append(self.node(f"n{len(self.nodes)}"))
        self.inputs.append(sorted(set(inputs)))
        return len(self.nodes) - 1

    def as_json(self) -> Dict[str, Any]:
        edges = [
            {"source": source, "target": target}
            for target, sources in enumerate(self.inputs)
            for source in sources
        ]
        return {"nodes": self.nodes, "edges": edges}


def layered(graph: MadeGraph, count: int) -> None:
    draw = graph.random
    for index in range(count):
        layer, place = divmod(index, LAYER_WIDTH)
        if layer == 0:
            graph.add([])
            continue
        first = (layer - 1) * LAYER_WIDTH
        inputs = [
            first + min(max(place + draw.randint(-2, 2), 0), LAYER_WIDTH - 1)
            for _ in range(draw.randint(1, 3))
        ]
        if draw.random() < SKIPS:
            inputs.append(draw.randrange(first + LAYER_WIDTH))
        graph.add(inputs)


def branching(graph: MadeGraph, count: int) -> None:
    draw = graph.random

    def fork(source: int, depth: int) -> int:
        ends = []
        for _ in range(draw.randint(2, 5)):
            at = source
            for _ in range(draw.randint(1, 6)):
                if len(graph.nodes) >= count - 1:
                    break
                at = fork(at, depth + 1) if depth < 2 and draw.random() < 0.1 else graph.add([at])
            ends.append(at)
        return graph.add(ends) if len(graph.nodes) < count else source

    at = graph.add([])
    while len(graph.nodes) < count:
        at = fork(at, 0)


def random_dag(graph: MadeGraph, count: int) -> None:
    draw = graph.random
    graph.add([])
    for index in range(1, count):
        inputs = []
        for _ in range(draw.randint(1, 4)):
            back = 1 + int(draw.expovariate(1 / WINDOW))
            inputs.append(max(0, index - back))
        graph.add(inputs)


KINDS: Dict[str, Callable[[MadeGraph, int], None]] = {
    "layered": layered,
    "branching": branching,
    "random": random_dag,
}


def changed(graph: MadeGraph, percent: float, seed: int) -> MadeGraph:
    """A copy with that many percent of the nodes slower or faster, gone, or new."""
    after = MadeGraph(seed)
    draw = after.random
    third = int(len(graph.nodes) * percent / 300)
    chosen = draw.sample(range(len(graph.nodes)), 3 * third)
    gone = set(chosen[third : 2 * third])
    behind = set(chosen[2 * third :])  # these get a new node in front of their first reader
    stands_for: List[List[int]] = []  # of each old node: those to read in its place
    for old, inputs in enumerate(graph.inputs):
        mine = sorted({new for source in inputs for new in stands_for[source]})
        if old in gone:
            stands_for.append(mine)
            continue
        after.nodes.append(dict(graph.nodes[old]))
        after.inputs.append(mine)
        stands_for.append([len(after.nodes) - 1])
        if old in behind:
            after.nodes.append(after.node(f"new{len(after.nodes)}"))
            after.inputs.append(stands_for[old])
            stands_for[old] = [len(after.nodes) - 1]
    slower = {graph.nodes[old]["name"] for old in chosen[:third]}
    for node in after.nodes:
        if node["name"] in slower:
            node["accelerator_ms"] *= draw.choice([0.5, 2])
    return after


def main() -> int:
    parser = argparse.ArgumentParser(description="graphs to measure placement on")
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("nodes", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--change", type=float, default=0, metavar="PERCENT")
    words = parser.parse_args()
    if not 1 <= words.nodes <= 2_000_000 or not 0 <= words.change <= 90:
        parser.error("1 to 2,000,000 nodes, of which 0 to 90 percent change")
    graph = MadeGraph(words.seed)
    KINDS[words.kind](graph, words.nodes)
    if words.change > 0:
        graph = changed(graph, words.change, words.seed + 1)
    json.dump(graph.as_json(), sys.stdout, separators=(",", ":"))
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
