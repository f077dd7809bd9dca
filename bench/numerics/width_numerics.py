"""Which of PyTorch's ops compute other bits at another width.

    /usr/bin/python3 bench/numerics/width_numerics.py measure --out debian.json
    /path/to/wheel/bin/python3 bench/numerics/width_numerics.py measure --out wheel.json
    bench/numerics/width_numerics.py table debian.json wheel.json --write docs/results/numerics.md

`measure` runs each op at several shapes with 1, 2, 3, … OpenMP threads, forward and backward, from
the same inputs, and compares everything that it computes bit for bit with what one thread computed.
More threads than cores are fine: only bits are looked at, no time. The number of threads is set
where optile sets it, in the OpenMP runtime that PyTorch uses, and not by torch.set_num_threads,
which sets other pools as well.

An op is known by the name under which optile sees it: the outermost operator of a call, and each
node of the backward pass. A node is judged only where it was given the same bits.
"""
import argparse
import ctypes
import hashlib
import json
import os
import pathlib
import platform
import re
import sys

WIDTHS = (1, 2, 3, 4, 5, 7, 8, 16)
TIMES_EACH = 2  # at the same width: an op that does not repeat itself is told apart
BEGIN = "<!-- measured: made by bench/numerics/width_numerics.py, do not edit -->"
END = "<!-- end of what was measured -->"


# ---- the cases ---------------------------------------------------------------------------------

def cases(torch):
    """Yields (group, label, function of its inputs, inputs). Inputs of floating point get gradients
    unless their name ends with an underscore."""
    from width_numerics_cases import all_cases
    return all_cases(torch)


# ---- measuring ---------------------------------------------------------------------------------

def runtime_of_torch():
    """The OpenMP runtime that PyTorch's own kernels use, once it is loaded."""
    loaded = {line.split()[-1] for line in open("/proc/self/maps", encoding="utf-8")
              if "/" in line}
    runtimes = sorted(path for path in loaded if re.search(r"lib(gomp|omp|iomp5)\b", path))
    if len(runtimes) != 1:
        raise SystemExit(f"exactly one OpenMP runtime has to be loaded, not {runtimes}")
    return ctypes.CDLL(runtimes[0]), runtimes[0]


def blas_of_process():
    loaded = {line.split()[-1] for line in open("/proc/self/maps", encoding="utf-8")
              if "/" in line}
    named = sorted({str(pathlib.Path(path).parent.name) for path in loaded
                    if re.search(r"lib(blas|openblas|blis|mkl_rt)\b", path)})
    return ", ".join(named) if named else "inside PyTorch"


def digest(value, torch):
    """Of every tensor in it, bit for bit."""
    hasher = hashlib.sha256()

    def add(part):
        if isinstance(part, torch.Tensor):
            hasher.update(str((part.dtype, tuple(part.shape))).encode())
            hasher.update(part.detach().numpy().tobytes())
        elif isinstance(part, (list, tuple)):
            for inner in part:
                add(inner)
        else:
            hasher.update(repr(part).encode())

    add(value)
    return hasher.hexdigest()


def tensors_in(value, torch):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for inner in value for tensor in tensors_in(inner, torch)]
    return []


def nodes_of(outputs):
    """Every node of the backward pass once, in an order that is the same in each run."""
    found, seen = [], set()
    waiting = [output.grad_fn for output in outputs if output.grad_fn is not None]
    while waiting:
        node = waiting.pop(0)
        if node is None or node in seen:
            continue
        seen.add(node)
        if type(node).__name__ != "AccumulateGrad":
            found.append(node)
        waiting.extend(edge for edge, _ in node.next_functions)
    return found


class Execution:
    """One run of a case: what its call computed, and what each backward node got and gave."""

    def __init__(self, torch, function, inputs):
        fresh = {}
        for name, value in inputs.items():
            if isinstance(value, torch.Tensor):
                value = value.detach().clone(memory_format=torch.preserve_format)
                if value.is_floating_point() and not name.endswith("_"):
                    value.requires_grad_(True)
            elif isinstance(value, list):
                value = [inner.detach().clone() for inner in value]
            fresh[name] = value
        torch.manual_seed(7)
        result = function(**fresh)
        # What was changed in place is a result as well.
        self.forward = digest([result, list(fresh.values())], torch)
        self.nodes = []
        outputs = [out for out in tensors_in(result, torch)
                   if out.requires_grad and out.is_floating_point()]
        if outputs:
            self.go_back(torch, outputs)

    def go_back(self, torch, outputs):
        nodes = nodes_of(outputs)
        seen = {}
        for index, node in enumerate(nodes):
            def note(given, got, index=index):
                seen[index] = (digest(list(got), torch), digest(list(given), torch))
            node.register_hook(note)
        torch.manual_seed(11)
        torch.autograd.backward(outputs, [torch.randn_like(out) for out in outputs])
        self.nodes = [(type(node).__name__, *seen[index])
                      for index, node in enumerate(nodes) if index in seen]


def outermost_names(torch, function, inputs):
    """As the bridge sees them: operators that no other operator called."""
    from torch.profiler import ProfilerActivity, profile
    looked_through = {"aten::lstm", "aten::gru", "aten::rnn_tanh", "aten::rnn_relu"}
    plain = {name: [inner.clone() for inner in value] if isinstance(value, list)
             else value.clone() if isinstance(value, torch.Tensor) else value
             for name, value in inputs.items()}
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        function(**plain)
    names = set()
    for event in profiled.events():
        parent = event.cpu_parent
        while parent is not None and (parent.name in looked_through
                                      or not parent.name.startswith("aten::")):
            parent = parent.cpu_parent
        if event.name.startswith("aten::") and event.name not in looked_through and parent is None:
            names.add(event.name)
    return sorted(names)


class Verdicts:
    """By name of an op: at how many shapes it was seen, and which widths gave other bits."""

    def __init__(self):
        self.ops = {}

    def of(self, name, backward):
        return self.ops.setdefault(name, {"backward": backward, "same": 0, "changes": {},
                                          "unsteady": [], "labels": []})

    def add(self, name, backward, label, outcome):
        op = self.of(name, backward)
        if label not in op["labels"]:
            op["labels"].append(label)
        if outcome == "same":
            op["same"] += 1
        elif outcome == "unsteady":
            op["unsteady"].append(label)
        else:
            op["changes"].setdefault(label, []).append(outcome)


def measure_case(torch, set_width, verdicts, label, function, inputs):
    names = outermost_names(torch, function, inputs)
    runs = {}
    for width in WIDTHS:
        set_width(width)
        runs[width] = [Execution(torch, function, inputs) for _ in range(TIMES_EACH)]
    base = runs[1][0]
    differing = [width for width in WIDTHS
                 if any(run.forward != runs[width][0].forward for run in runs[width])]
    for name in names:
        if differing:
            verdicts.add(name, False, label, "unsteady")
            continue
        other = [width for width in WIDTHS if runs[width][0].forward != base.forward]
        for width in other:
            verdicts.add(name, False, label, width)
        if not other:
            verdicts.add(name, False, label, "same")
    for index, (name, got, gave) in enumerate(base.nodes):
        outcomes = []
        for width in WIDTHS:
            for run in runs[width]:
                same_place = index < len(run.nodes) and run.nodes[index][0] == name
                if not same_place or run.nodes[index][1] != got:
                    continue  # what it was given differed already
                if run.nodes[index][2] != gave:
                    outcomes.append("unsteady" if width == 1 else width)
        for outcome in sorted(set(outcomes), key=str):
            verdicts.add(name, True, label, outcome)
        judged = all(index < len(run.nodes) and run.nodes[index][1] == got
                     for width in WIDTHS for run in runs[width])
        if not outcomes and judged:
            verdicts.add(name, True, label, "same")


def measure(out, only):
    import torch
    runtime, path = runtime_of_torch()
    torch.get_num_threads()  # PyTorch has set its own number by now, and sets it no more
    verdicts = Verdicts()
    failed = {}
    for group, label, function, inputs in cases(torch):
        name = f"{group} {label}"
        if only and group not in only.split(",") and name not in only.split(","):
            continue
        try:
            measure_case(torch, runtime.omp_set_num_threads, verdicts, name, function, inputs)
            print(name, file=sys.stderr, flush=True)
        except (RuntimeError, TypeError, AttributeError, NotImplementedError) as error:
            failed[name] = str(error).splitlines()[0]
            print(name, "not in this PyTorch:", failed[name], file=sys.stderr, flush=True)
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text("utf-8"))
    result = {"torch": torch.__version__, "python": platform.python_version(),
              "runtime": pathlib.Path(path).name, "blas": blas_of_process(),
              "capability": getattr(torch.backends.cpu, "get_cpu_capability", lambda: "unknown")()
              if hasattr(torch.backends, "cpu") else "unknown",
              "cpu": cpu.group(1) if cpu else platform.processor(), "widths": list(WIDTHS),
              "ops": verdicts.ops, "failed": failed}
    pathlib.Path(out).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    measuring = verbs.add_parser("measure", help="run every case with this Python's PyTorch")
    measuring.add_argument("--out", required=True)
    measuring.add_argument("--only", default="",
                           help="only groups or cases of these names, comma-separated")  # fmt: skip
    tabling = verbs.add_parser("table", help="what several measurements say together")
    tabling.add_argument("results", nargs="+")
    tabling.add_argument("--write", help="the file whose measured part is replaced")
    asked = parser.parse_args()
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    if asked.verb == "table":
        from width_numerics_table import write_table
        write_table([json.loads(pathlib.Path(path).read_text("utf-8")) for path in asked.results],
                    asked.write, BEGIN, END)
        return
    # More threads than cores that spin would take minutes for nothing.
    if os.environ.get("OMP_WAIT_POLICY") != "passive":
        os.environ["OMP_WAIT_POLICY"] = "passive"
        os.execv(sys.executable, [sys.executable, *sys.argv])
    measure(asked.out, asked.only)


if __name__ == "__main__":
    main()
