"""The table of docs/results/numerics.md, out of what bench/numerics/width_numerics.py measured."""
import pathlib


def merged(results):
    """By (PyTorch, BLAS): measurements of parts of the cases belong together."""
    found = {}
    for result in results:
        whole = found.setdefault((result["torch"], result["blas"]), {**result, "ops": {}})
        for name, op in result["ops"].items():
            there = whole["ops"].setdefault(name, {"labels": set(), "changes": set(),
                                                   "unsteady": set()})
            there["labels"] |= set(op["labels"])
            there["changes"] |= set(op["changes"])
            there["unsteady"] |= set(op["unsteady"])
    return found


def cell(op):
    if op is None:
        return "-"
    if op["unsteady"]:
        return "**not even at one width**"
    if op["changes"]:
        return f"**changes** at {len(op['changes'])} of {len(op['labels'])}"
    return f"same at {len(op['labels'])}"


def write_table(results, path, begin, end):
    found = merged(results)
    columns = sorted(found)
    lines = [begin, ""]
    for key in columns:
        one = found[key]
        lines.append(f"- PyTorch {one['torch']}, BLAS {one['blas']}, {one['runtime']}, "
                     f"{one['cpu']};\n  widths {', '.join(map(str, one['widths']))}.")
    lines += ["", "| op | " + " | ".join(f"{torch}, {blas}" for torch, blas in columns) + " |",
              "|---|" + "---|" * len(columns)]
    for name in sorted({name for one in found.values() for name in one["ops"]}):
        cells = " | ".join(cell(found[key]["ops"].get(name)) for key in columns)
        lines.append(f"| `{name}` | {cells} |")
    lines += ["", end]
    text = "\n".join(lines)
    if path is None:
        print(text)
        return
    document = pathlib.Path(path)
    old = document.read_text("utf-8")
    document.write_text(old[:old.index(begin)] + text + old[old.index(end) + len(end):],
                        encoding="utf-8")
