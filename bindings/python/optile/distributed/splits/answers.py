"""Answers of `optile place strategy` and `optile place network`, as splits of a model's layers.
Pure."""

from __future__ import annotations

from typing import Any, Dict, List, Sequence

from .splits import Split, SplitModel

_KINDS = ("convolution", "pooling", "dense")
_SPATIAL = ("l", "h", "w", "d")  # dimensions whose parts read beyond their borders


def splits_of(answer: Any, model: SplitModel) -> List[Split]:
    """Raises ValueError for an answer of another model, for another number of ranks, or with what
    cannot be run."""
    told = answer if isinstance(answer, dict) else {}
    if isinstance(told.get("layers"), list):
        splits = _of_network(told, model)
    elif isinstance(told.get("assignment"), list) and told.get("objective") == "strategy":
        splits = _of_strategy(told["assignment"], model)
    else:
        raise ValueError(
            "it is no answer of `optile place strategy --json` or `optile place network --json`"
        )
    for layer, split in zip(model.layers, splits):
        if reason := model.refusal(layer, split):
            raise ValueError(f"layer {layer.name} cannot be split by {split}: {reason}")
    return splits


def _of_strategy(assignment: Sequence[Any], model: SplitModel) -> List[Split]:
    candidates = [model.candidates(one) for one in model.layers]
    if len(assignment) != len(candidates):
        raise ValueError(
            f"it is of another model: of {len(assignment)} nodes, and here are {len(candidates)} "
            "layers, the loss among them"
        )
    splits = []
    for layer, known, chosen in zip(model.layers, candidates, assignment):
        if not isinstance(chosen, int) or not 0 <= chosen < len(known):
            raise ValueError(f"it is of another model: layer {layer.name} has {len(known)} splits")
        splits.append(known[chosen])
    return splits


def _of_network(told: Dict[str, Any], model: SplitModel) -> List[Split]:
    if told.get("devices") != model.ranks:
        devices = told.get("devices")
        raise ValueError(f"it is for {devices} devices, and here are {model.ranks} ranks")
    # Only layers that such a network has; its softmax is a part of the loss here.
    own = [number for number, one in enumerate(model.layers) if one.kind in _KINDS]
    named = [one for one in told["layers"]
             if isinstance(one, dict) and one.get("kind") != "softmax"]  # fmt: skip
    kinds = [model.layers[number].kind for number in own]
    if [one.get("kind") for one in named] != kinds:
        raise ValueError(
            f"it is of another model: it has the layers {_counted(named)}, and here are "
            f"{_counted([{'kind': one} for one in kinds])}"
        )
    splits = [Split(model.ranks)] * len(model.layers)
    for number, one in zip(own, named):
        splits[number] = _degrees(one)
    return splits


def _counted(layers: Sequence[Dict[str, Any]]) -> str:
    kinds = [str(one.get("kind")) for one in layers]
    return ", ".join(f"{kinds.count(one)} {one}" for one in sorted(set(kinds))) or "none"


def _degrees(layer: Dict[str, Any]) -> Split:
    name, degrees = layer.get("name"), layer.get("degrees")
    if not isinstance(degrees, dict) or not all(
        isinstance(one, int) and one >= 1 for one in degrees.values()
    ):
        raise ValueError(f"layer {name} has no degrees")
    for dimension in _SPATIAL:
        if degrees.get(dimension, 1) > 1:
            raise ValueError(
                f"layer {name} is split by {dimension}, whose parts would have to exchange their "
                "borders: that is not built; n and c are"
            )
    return Split(degrees.get("n", 1), degrees.get("c", 1))
