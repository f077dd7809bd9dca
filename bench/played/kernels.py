"""What the kernels of a step compute: floating-point operations and bytes, from the shapes of their
tensors, as the networks of perfmodel/networks count them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

Shape = Sequence[int]

ELEMENT_BYTES = 4
# Less is passed on, or computed in no time that could be played.
LEAST_BYTES = 16384

# Names of the paper's framework, where they differ.
OLD_NAMES = {
    "AddV2": "Add", "AssignAddVariableOp": "AssignSub", "AssignSubVariableOp": "AssignSub",
    "MaxPool": "MaxPooling", "Pack": "ConcatV2", "ResourceApplyAdam": "ApplyAdam",
    "ResourceApplyGradientDescent": "ApplyGradientDescent",
    "ResourceApplyMomentum": "ApplyMomentum", "ResourceApplyRMSProp": "ApplyRMSProp",
    "SelectV2": "Select", "SparseSoftmaxCrossEntropyWithLogits": "SparseSoftmaxCross",
    "Square": "Mul", "StridedSlice": "Slice", "LeakyRelu": "Maximum", "LeakyReluGrad": "Select",
}  # fmt: skip
# They hand tensors on, or make them once.
PASSES = {
    "Arg", "AssignVariableOp", "Cast", "Const", "ExpandDims", "Identity", "IdentityN", "NoOp",
    "Placeholder", "PreventGradient", "ReadVariableOp", "Reshape", "Shape", "ShapeN", "Squeeze",
    "StopGradient", "VarHandleOp", "BroadcastGradientArgs",
}  # fmt: skip
SLOTS = {"ResourceApplyAdam": 2, "ResourceApplyMomentum": 1, "ResourceApplyRMSProp": 2}


@dataclass(frozen=True)
class Batch:
    """Batches run small and are played large: dimensions that stand for it."""

    first: Mapping[int, int]  # of a first dimension
    anywhere: bool = False  # of every dimension

    def grown(self, shape: Shape) -> List[int]:
        if self.anywhere:
            return [self.first.get(size, size) for size in shape]
        return [self.first.get(size, size) for size in shape[:1]] + list(shape[1:])


def elements(shape: Shape) -> int:
    return math.prod(shape)


def known(shapes: Sequence[Optional[Shape]], batch: Batch) -> List[List[int]]:
    return [batch.grown(shape) for shape in shapes if shape is not None and None not in shape]


def matmul_flops(takes: Sequence[Shape], gives: Sequence[Shape]) -> float:
    # Rows of one times rows of the other times what both share: the root of their product.
    both = elements(takes[0]) * elements(takes[1]) * elements(gives[0])
    return 2 * math.sqrt(both)


def flops_of(op: str, takes: Sequence[Shape], gives: Sequence[Shape]) -> float:
    if op == "Conv2D":
        return 2 * elements(gives[0]) * elements(takes[1]) / takes[1][-1]
    if op == "Conv2DBackpropInput":  # sizes, filter, gradient
        return 2 * elements(takes[2]) * elements(takes[1]) / takes[1][-1]
    if op == "Conv2DBackpropFilter":  # input, sizes, gradient
        return 2 * elements(takes[2]) * elements(gives[0]) / gives[0][-1]
    if op == "MatMul":
        return matmul_flops(takes, gives)
    return float(sum(elements(shape) for shape in gives))


def bytes_of(op: str, takes: Sequence[Shape], gives: Sequence[Shape]) -> float:
    if op.startswith("ResourceApply"):  # the variable and what is kept with it: read and written
        largest = max((elements(shape) for shape in takes), default=0)
        return ELEMENT_BYTES * largest * (3 + 2 * SLOTS.get(op, 0))
    if op in ("AssignAddVariableOp", "AssignSubVariableOp"):
        return ELEMENT_BYTES * 3 * max((elements(shape) for shape in takes), default=0)
    if op == "GatherV2":  # only the rows that are looked up
        return ELEMENT_BYTES * 2 * elements(gives[0])
    if op in ("Conv2DBackpropInput", "Conv2DBackpropFilter", "MatMul", "Conv2D"):
        return ELEMENT_BYTES * sum(elements(shape) for shape in [*takes, *gives])
    return ELEMENT_BYTES * float(sum(elements(shape) for shape in [*takes, *gives]))


@dataclass(frozen=True)
class Played:
    """A node that is played."""

    kernel: str
    op: str
    flops: float
    bytes: float
    inputs: Tuple[int, ...]

    def line(self) -> str:
        numbers = [f"{self.flops:.17g}", f"{self.bytes:.17g}", *map(str, self.inputs)]
        return "\t".join((self.kernel, self.op, " ".join(numbers)))


def work_of(node: Mapping[str, Any], batch: Batch) -> Optional[Tuple[float, float]]:
    """Its flops and bytes; None: too little, or nothing that is computed."""
    op = node["op"]
    if op in PASSES:
        return None
    takes, gives = known(node["takes"], batch), known(node["gives"], batch)
    if op in ("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter", "MatMul") and not (
        len(takes) == len(node["takes"]) and gives
    ):
        raise ValueError(f"{node['name']}: a shape is not known")
    size = bytes_of(op, takes, gives)
    return None if size < LEAST_BYTES else (flops_of(op, takes, gives), size)


def in_order(nodes: Sequence[Mapping[str, Any]]) -> List[Mapping[str, Any]]:
    """Every node behind those that it waits for."""
    by_name = {node["name"]: node for node in nodes}
    done: Set[str] = set()
    ordered: List[Mapping[str, Any]] = []
    for node in nodes:
        stack = [(node, False)]
        while stack:
            one, is_last = stack.pop()
            if one["name"] in done:
                continue
            if is_last:
                done.add(one["name"])
                ordered.append(one)
                continue
            stack.append((one, True))
            stack += [(by_name[name], False) for name in one["inputs"] if name not in done]
    return ordered


def played_nodes(
    nodes: Sequence[Mapping[str, Any]], kernels: Mapping[str, str], batch: Batch
) -> List[Played]:
    """`kernels`: by node, what its kernel is called. Nodes that are not played stand between those
    that are as if they took no time."""
    waits: Dict[str, Tuple[int, ...]] = {}  # by node: the played ones behind which it is done
    played: List[Played] = []
    for node in in_order(nodes):
        before = tuple(sorted({index for name in node["inputs"] for index in waits[name]}))
        kernel = kernels.get(node["name"])
        work = None if kernel is None else work_of(node, batch)
        if work is None:
            waits[node["name"]] = before
            continue
        waits[node["name"]] = (len(played),)
        op = OLD_NAMES.get(node["op"], node["op"])
        played.append(Played(str(kernel), op, *work, before))
    return played


def read_kernels(text: str) -> Dict[str, str]:
    """Of a file that played_kernels recorded."""
    fields = [line.split("\t") for line in text.splitlines()]
    return {node: kernel for node, kernel, _ in fields}
