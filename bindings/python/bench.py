"""Costs as ratios, measured in one run: `python bindings/python/bench.py`, with a wheel of a release build.

Every figure is the best of several rounds, so that what else runs on the machine counts little.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polywire as pw

ROOT = Path(__file__).parents[2]
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "items": {"type": "array", "items": {"type": "object", "properties": {"sku": {"type": "string"}, "count": {"type": "integer", "minimum": 1}}, "required": ["sku"]}},
        "note": {"type": "string"},
    },
    "required": ["id", "items"],
}


def best(call: Callable[[], object], rounds: int, times: int = 1) -> float:
    """Seconds of one call."""
    found = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(times):
            call()
        found = min(found, time.perf_counter() - start)
    return found / times


def megabyte() -> str:
    """A document of one megabyte, like what models write."""
    row = {"id": 17, "name": "A name of some length", "price": 12.5, "tags": ["red", "blue"], "active": True, "note": None, "text": "Words " * 12}
    return json.dumps([dict(row, id=number) for number in range(4800)])


def main() -> None:
    text = megabyte()
    print(f"document: {len(text) / 1e6:.2f} MB")
    ours, theirs = best(lambda: pw.parse(text).value, 15), best(lambda: json.loads(text), 15)
    print(f"parse of valid JSON: {ours * 1e3:.1f} ms, json.loads {theirs * 1e3:.1f} ms: {theirs / ours:.2f} of its speed (asked: 0.7)")
    try:
        import json_repair
    except ImportError:
        print("json_repair is not installed")
    else:
        broken = text[: len(text) // 10].replace('"name"', "name").replace("true", "True") + ",,"
        ours = best(lambda: pw.parse(broken).value, 10)
        theirs = best(lambda: json_repair.loads(broken), 2)
        print(f"parse of broken JSON: {ours * 1e3:.1f} ms, json_repair {theirs * 1e3:.1f} ms: {theirs / ours:.0f} times its speed (asked: 20)")
    ours = best(lambda: pw.fit(SCHEMA, "openai-strict"), 10, 2000)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "schema.json"
        file.write_text(json.dumps(SCHEMA))
        command = ["cargo", "run", "--quiet", "--profile", "bench", "-p", "polywire-bindings", "--example", "costs", "--"]
        rust = subprocess.run([*command, str(file), "openai-strict"], cwd=ROOT, capture_output=True, text=True)
    if rust.returncode != 0:
        print(rust.stderr, file=sys.stderr)
        return
    theirs = float(rust.stdout) / 1e9
    print(f"fit of a cached schema: {ours * 1e6:.2f} µs, Rust {theirs * 1e6:.2f} µs: {ours / theirs:.1f} times (asked: at most 3)")
    try:
        from pydantic import create_model
    except ImportError:
        return
    model: Any = create_model("Order", id=(int, ...), note=(str | None, None))
    ours = best(lambda: pw.fit(model, "openai-strict"), 10, 2000)
    print(f"fit of a cached model: {ours * 1e6:.2f} µs")


if __name__ == "__main__":
    main()
