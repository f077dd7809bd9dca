"""Which part of each layer a rank computes, what of a layer's output goes where for it, and what
that costs: the problem that `optile place strategy` solves, and its answers. Pure.

Source: OptCNN, equation 1: for every layer a choice of degrees, whose product is the number of
parts; the time of a step is the sum over layers and over the edges between them.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

BATCH = -1  # in the place of a layer: what the model is given, which every rank has whole
_NANOSECONDS = 1e9


class Split(NamedTuple):
    """Degrees of a layer's output: in so many parts of its rows, each in so many of its channels.
    Ranks beyond their product compute again what others do."""

    n: int
    c: int = 1

    @property
    def parts(self) -> int:
        return self.n * self.c

    def __str__(self) -> str:
        named = [f"{name}={degree}" for name, degree in zip("nc", self) if degree > 1]
        return ",".join(named) or "n=1"


class Range(NamedTuple):
    begin: int
    end: int

    @property
    def length(self) -> int:
        return self.end - self.begin

    def within(self, other: "Range") -> "Range":
        begin = max(self.begin, other.begin)
        return Range(begin, max(begin, min(self.end, other.end)))


class Box(NamedTuple):
    """Some rows of a tensor, and some of its channels, its first two dimensions."""

    rows: Range
    channels: Range

    @property
    def cells(self) -> int:
        return self.rows.length * self.channels.length

    def within(self, other: "Box") -> "Box":
        return Box(self.rows.within(other.rows), self.channels.within(other.channels))


def equal_ranges(extent: int, parts: int, scale: int = 1) -> List[Range]:
    """Of equal length, as far as whole numbers allow: the first ones have one more."""
    least, more = divmod(extent, parts)
    edges = [part * least + min(part, more) for part in range(parts + 1)]
    return [Range(begin * scale, end * scale) for begin, end in zip(edges, edges[1:])]


class ChannelUse(enum.Enum):
    """What a channel of a layer's output depends on, and so how it may be split."""

    ALL = "all"  # on all channels of what it reads; its weights can be divided
    OWN = "own"  # on the same channels of what it reads
    NORMALISED = "normalised"  # so too, and on all rows
    UNKNOWN = "unknown"  # by rows alone


@dataclass(frozen=True)
class Layer:
    """What is split alike: an operator with those behind it that read it element by element."""

    name: str
    kind: str  # as `optile place network` calls it
    use: ChannelUse
    reads: Tuple[int, ...]  # layers whose outputs it reads, or BATCH
    channels: int  # that are divided: of the output, or of what is read where use is OWN
    scale: int  # so many channels of the output come of each of them, as flattening makes them
    cell_bytes: int  # of one row and channel of the output
    gradient: bool  # its output asks for one
    elements: int  # parameters
    element_bytes: int


@dataclass(frozen=True)
class SplitModel:
    """Layers in the order in which they run; the last one is the loss."""

    layers: Sequence[Layer]
    rows: int
    ranks: int
    batch_channels: int

    def candidates(self, layer: Layer) -> List[Split]:
        """Those that use all ranks, by rows before by channels."""
        every = [Split(self.ranks // c, c) for c in range(1, self.ranks + 1) if self.ranks % c == 0]
        return [one for one in every if self.refusal(layer, one) is None]

    def refusal(self, layer: Layer, split: Split) -> Optional[str]:
        """Why the layer cannot be split so. None: it can."""
        if min(split) < 1 or self.ranks % split.parts != 0:
            return f"{split} is no way to divide {self.ranks} ranks"
        if split.n > self.rows:
            return f"a batch has {self.rows} rows"
        if layer.use is ChannelUse.UNKNOWN and split != Split(self.ranks):
            return "it is divided by rows alone, over all ranks"
        if layer.use is ChannelUse.NORMALISED and split.n > 1:
            return "it normalises over all rows, so that only its channels are divided"
        if split.c > layer.channels:
            return f"it has {layer.channels} channels"
        return None

    def part(self, split: Split, rank: int) -> Tuple[int, int]:
        """Which rows and which channels, the channel varying faster."""
        return divmod(rank % split.parts, split.c)

    def channel_range(self, layer: Layer, split: Split, rank: int) -> Range:
        """Of those that are divided."""
        return equal_ranges(layer.channels, split.c)[self.part(split, rank)[1]]

    def output_box(self, layer: Layer, split: Split, rank: int) -> Box:
        """What the rank computes."""
        row, channel = self.part(split, rank)
        return Box(
            equal_ranges(self.rows, split.n)[row],
            equal_ranges(layer.channels, split.c, layer.scale)[channel],
        )

    def channels_of(self, number: int) -> int:
        """Of a layer's output, or of the batch."""
        if number == BATCH:
            return self.batch_channels
        return self.layers[number].channels * self.layers[number].scale

    def input_box(self, layer: Layer, split: Split, rank: int, read: int) -> Box:
        """What the rank needs for that of one of the layers that are read."""
        row, channel = self.part(split, rank)
        rows = equal_ranges(self.rows, split.n)[row]
        channels = self.channels_of(read)
        if layer.use in (ChannelUse.ALL, ChannelUse.UNKNOWN):
            return Box(rows, Range(0, channels))
        return Box(rows, equal_ranges(channels, split.c)[channel])

    def boxes(
        self, read: int, reader: int, of: Split, to: Split
    ) -> Tuple[List[Box], List[Box]]:
        """Of every rank: what it has of a layer's output, and what it needs for the reader."""
        ranks = range(self.ranks)
        have = [self.output_box(self.layers[read], of, rank) for rank in ranks]
        return have, [self.input_box(self.layers[reader], to, rank, read) for rank in ranks]


class Piece(NamedTuple):
    """Goes from one rank to another one, or stays where it is."""

    source: int
    to: int
    box: Box


def pieces(have: Sequence[Box], need: Sequence[Box]) -> List[Piece]:
    """So that every rank gets what it needs once, from itself where it has it. Boxes that ranks
    have are the same or do not overlap."""
    holders: Dict[Box, List[int]] = {}
    for rank, box in enumerate(have):
        holders.setdefault(box, []).append(rank)
    found = []
    for to, wanted in enumerate(need):
        for box, ranks in holders.items():
            shared = box.within(wanted)
            if shared.cells > 0:
                source = to if to in ranks else ranks[to % len(ranks)]
                found.append(Piece(source, to, shared))
    return found


@dataclass(frozen=True)
class Link:
    """Seconds of any transfer, and of each byte, between the slowest pair of ranks."""

    latency: float
    for_byte: float

    def seconds(self, sizes: Sequence[int]) -> float:
        return sum(self.latency + size * self.for_byte for size in sizes)


def transfer_seconds(model: SplitModel, read: int, reader: int, of: Split, to: Split,
                     link: Link) -> float:  # fmt: skip
    """Forward, and of the gradient backward: each as long as the rank takes that gets most."""
    layer = model.layers[read]
    moved = pieces(*model.boxes(read, reader, of, to))
    forward: List[List[int]] = [[] for _ in range(model.ranks)]
    backward: List[List[int]] = [[] for _ in range(model.ranks)]
    for piece in moved:
        if piece.source != piece.to:
            size = piece.box.cells * layer.cell_bytes
            forward[piece.to].append(size)
            backward[piece.source].append(size)
    seconds = max(link.seconds(one) for one in forward)
    return seconds + (max(link.seconds(one) for one in backward) if layer.gradient else 0.0)


def sharing_ranks(model: SplitModel, split: Split, rank: int) -> Tuple[int, ...]:
    """Those that hold the same weights, whose gradients are added."""
    channel = model.part(split, rank)[1]
    return tuple(one for one in range(model.ranks) if model.part(split, one)[1] == channel)


@dataclass(frozen=True)
class SplitCosts:
    """What all ranks measured, in seconds."""

    compute: Sequence[Sequence[float]]  # of each layer under each candidate, on the slowest rank
    sync: Dict[int, Link]  # adding gradients, by how many ranks
    update: float  # the optimizer's, of a parameter
    link: Link

    def sync_seconds(self, ranks: int, size: int) -> float:
        if ranks == 1 or size == 0:
            return 0.0
        return self.sync[ranks].seconds([size])


@dataclass(frozen=True)
class StepEstimate:
    """Equation 1, term by term, in seconds."""

    compute: float  # t_C, the optimizer's part among it
    sync: float  # t_S
    transfer: float  # t_X

    @property
    def seconds(self) -> float:
        return self.compute + self.sync + self.transfer


class SplitProblem:
    """Costs of all candidates, and what a choice of them amounts to."""

    def __init__(self, model: SplitModel, costs: SplitCosts) -> None:
        self.model = model
        self.candidates = [model.candidates(one) for one in model.layers]
        self._costs = costs
        self._edges = sorted({
            (read, reader) for reader, layer in enumerate(model.layers)
            for read in layer.reads if read != BATCH
        })  # fmt: skip

    def _node(self, number: int, split: Split) -> Tuple[float, float]:
        layer, costs = self.model.layers[number], self._costs
        measured = costs.compute[number][self.candidates[number].index(split)]
        held = layer.elements * self.model.channel_range(layer, split, 0).length
        held = held // layer.channels if split.c > 1 else layer.elements
        sharing = len(sharing_ranks(self.model, split, 0))
        sync = costs.sync_seconds(sharing, held * layer.element_bytes)
        return measured + held * costs.update, sync

    def _edge(self, read: int, reader: int, of: Split, to: Split) -> float:
        return transfer_seconds(self.model, read, reader, of, to, self._costs.link)

    def estimate(self, splits: Sequence[Split]) -> Optional[StepEstimate]:
        """None where some layer's split was not measured."""
        if any(one not in known for one, known in zip(splits, self.candidates)):
            return None
        nodes = [self._node(number, split) for number, split in enumerate(splits)]
        transfer = sum(self._edge(read, reader, splits[read], splits[reader])
                       for read, reader in self._edges)  # fmt: skip
        return StepEstimate(sum(one[0] for one in nodes), sum(one[1] for one in nodes), transfer)

    def file(self) -> Dict[str, Any]:
        """For `optile place strategy`: costs in nanoseconds, a layer's splits as strategies."""

        def cost(seconds: float) -> int:
            return max(0, round(seconds * _NANOSECONDS))

        count = len(self.model.layers)
        nodes = [[cost(sum(self._node(number, split))) for split in candidates]
                 for number, candidates in enumerate(self.candidates)]  # fmt: skip
        edges = [[cost(self._edge(read, reader, of, to))
                  for of in self.candidates[read] for to in self.candidates[reader]]
                 for read, reader in self._edges]  # fmt: skip
        return {"problem": {
            "name": "layers",
            "nodes": {"intervals": [[0, 0]] * count, "costs": nodes,
                      "usages": [[0] * len(one) for one in nodes]},
            "edges": {"nodes": [list(one) for one in self._edges], "costs": edges},
        }}  # fmt: skip


def parameter_parts(model: SplitModel, splits: Sequence[Split]) -> List[float]:
    """Of each rank: which part of the model's parameters it holds, 0 to 1."""
    held = [0.0] * model.ranks
    for layer, split in zip(model.layers, splits):
        for rank in range(model.ranks):
            part = model.channel_range(layer, split, rank).length / layer.channels
            held[rank] += layer.elements * (part if split.c > 1 else 1.0)
    whole = sum(layer.elements for layer in model.layers)
    return [one / whole if whole > 0 else 1.0 for one in held]
