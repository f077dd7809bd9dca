"""Exports models that are being trained, and says what that changed in them: nothing."""
import sys

import optile.fx
import torch


class Fails(torch.nn.Module):
    """Raises where the sizes of its input are known."""

    def forward(self, x):
        return x.reshape(3)


class Sometimes(torch.nn.Module):
    """Has a branch that torch.fx cannot trace."""

    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(4)

    def forward(self, x):
        return self.norm(x) if x.shape[0] > 1 and bool(len(x.shape)) else x


def model_of(last):
    norm = torch.nn.BatchNorm1d(4)
    return torch.nn.Sequential(torch.nn.Linear(4, 4), norm, torch.nn.Dropout(0.5), norm, last)


def changes(model, x, measure):
    """What an export changes, by name."""
    model.train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    objects = [id(value) for value in model.buffers()]
    random = torch.get_rng_state()
    try:
        optile.fx.graph_of(model, x, measure=measure)
        ended = "exported"
    except RuntimeError:
        ended = "failed"
    found = [name for name, value in model.state_dict().items()
             if not torch.equal(value, before[name])]
    if [id(value) for value in model.buffers()] != objects:
        found.append("the buffers themselves")
    if not torch.equal(torch.get_rng_state(), random):
        found.append("random numbers")
    if not model.training:
        found.append("its mode")
    return f"{ended}, changed: {', '.join(found) if found else 'nothing'}"


def main():
    x = torch.full((8, 4), 3.0)
    for measure in (True, False):
        print(changes(model_of(torch.nn.ReLU()), x, measure))
        print(changes(model_of(Fails()), x, measure))
    if hasattr(torch, "export"):
        print(changes(Sometimes(), x, True))
    model = model_of(torch.nn.ReLU()).train()
    model(x)
    moved = not torch.equal(model[1].running_mean, torch.zeros(4))
    print("a step still moves its statistics" if moved else "statistics stand still")
    return 0


if __name__ == "__main__":
    sys.exit(main())
