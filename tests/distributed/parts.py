"""The parts of optile.distributed without the package's own __init__, which wants PyTorch; all but
kept_state and ranks do without it."""
import importlib
import pathlib
import sys
import types

_PACKAGE = types.ModuleType("distributed_parts")
_PACKAGE.__path__ = [str(pathlib.Path(__file__).resolve().parents[2] / "bindings" / "python" /
                         "optile" / "distributed")]
sys.modules[_PACKAGE.__name__] = _PACKAGE



def __getattr__(name):
    if name in ("kept_state", "ranks"):
        return importlib.import_module(f"distributed_parts.{name}")
    raise AttributeError(name)


assistants = importlib.import_module("distributed_parts.assistants")
changes = importlib.import_module("distributed_parts.changes")
corrections = importlib.import_module("distributed_parts.corrections")
placements = importlib.import_module("distributed_parts.placements")
plan_asking = importlib.import_module("distributed_parts.plan_asking")
plan_record = importlib.import_module("distributed_parts.plan_record")
plan_telling = importlib.import_module("distributed_parts.plan_telling")
shared_cores = importlib.import_module("distributed_parts.shared_cores")
shares = importlib.import_module("distributed_parts.shares")
speeds = importlib.import_module("distributed_parts.speeds")
split_answers = importlib.import_module("distributed_parts.splits.answers")
splits = importlib.import_module("distributed_parts.splits.splits")
stages = importlib.import_module("distributed_parts.stages")
step_units = importlib.import_module("distributed_parts.step_units")
