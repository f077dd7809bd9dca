"""Draws a trace of `optile simulate --trace` as SVG: tracks below each other, ops along time.

    tools/step_picture.py TRACE.json PICTURE.svg [FROM_MS TO_MS]
"""

import html
import json
import sys
from typing import Any, Dict, List

WIDTH, LEFT, ROW = 1100, 120, 11
COLOURS = ("#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#edc948", "#b07aa1", "#9c755f")


def picture(trace: Dict[str, Any], start_us: float, end_us: float) -> str:
    events: List[Dict[str, Any]] = trace["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    row_of = {track: row for row, track in enumerate(sorted(names))}
    ops = [e for e in events if e["ph"] == "X" and e["ts"] < end_us]
    ops = [e for e in ops if e["ts"] + e["dur"] > start_us]
    known = sorted({e["name"] for e in ops})
    colour = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(known)}
    scale = (WIDTH - LEFT) / (end_us - start_us)
    height = ROW * len(names) + 30
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}"',
        ' font-family="sans-serif" font-size="8">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
    ]
    for track, row in row_of.items():
        out.append(f'<text x="2" y="{row * ROW + 9}">{html.escape(names[track])}</text>')
    for op in ops:
        left = LEFT + max(0.0, op["ts"] - start_us) * scale
        right = LEFT + (min(end_us, op["ts"] + op["dur"]) - start_us) * scale
        title = f'{op["name"]} {op["args"]["shape"]}, width {op["args"]["width"]}'
        out.append(
            f'<rect x="{left:.1f}" y="{row_of[op["tid"]] * ROW + 1}" height="{ROW - 1}"'
            f' width="{max(right - left, 0.1):.1f}" fill="{colour[op["name"]]}">'
            f"<title>{html.escape(title)}</title></rect>"
        )
    span = f"{start_us / 1000:.1f} ms to {end_us / 1000:.1f} ms"
    title = next(e["args"]["name"] for e in events if e["name"] == "process_name")
    out.append(f'<text x="{LEFT}" y="{height - 8}" font-size="11">')
    out.append(f"{html.escape(title)}, {span}; a colour for each kind of op</text></svg>")
    return "\n".join(out) + "\n"


def main() -> int:
    if len(sys.argv) not in (3, 5):
        print(__doc__, file=sys.stderr)
        return 2
    with open(sys.argv[1], encoding="utf-8") as file:
        trace = json.load(file)
    last = max(e["ts"] + e["dur"] for e in trace["traceEvents"] if e["ph"] == "X")
    window = [1000 * float(word) for word in sys.argv[3:]] or [0.0, last]
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(picture(trace, window[0], window[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
