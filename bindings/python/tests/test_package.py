"""The package: its command, its fixture, its examples, and how it lives with threads, processes and the end of the interpreter."""

from __future__ import annotations

import doctest
import gc
import importlib
import json
import os
import pkgutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import polywire as pw
import pytest

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"labels": {"type": "object", "additionalProperties": {"type": "string"}}}}
REPEATS = int(os.environ.get("POLYWIRE_REPEATS", "20"))


def python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-X", "dev", "-c", code, *arguments], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("name", [module.name for module in pkgutil.iter_modules(pw.__path__, "polywire.") if not module.ispkg])
def test_examples_of_the_documentation(name: str) -> None:
    if name.endswith(("__main__", "_polywire", "pytest_plugin")):
        return
    results = doctest.testmod(importlib.import_module(name))
    assert results.failed == 0


def test_examples_of_the_package() -> None:
    results = doctest.testmod(pw)
    assert results.failed == 0 and results.attempted > 0


@pytest.mark.parametrize("command", [[sys.executable, "-m", "polywire"], [str(Path(sys.executable).with_name("polywire"))]])
def test_the_command(command: list[str], tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    file.write_text(json.dumps(SCHEMA))
    fitted = subprocess.run([*command, "fit", str(file), "--to", "openai-strict", "--json"], capture_output=True, text=True)
    assert json.loads(fitted.stdout)["schema"] == pw.fit(SCHEMA, "openai-strict").schema
    found = subprocess.run([*command, "check", str(file), "--for", "openai-strict"], capture_output=True, text=True)
    assert found.returncode == 1
    wrong = subprocess.run([*command, "nonsense"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "nonsense" in wrong.stderr
    version = subprocess.run([*command, "--version"], capture_output=True, text=True)
    assert version.returncode == 0 and pw.__version__ in version.stdout


def test_the_fixture(polywire_emulator: pw.Emulator) -> None:
    assert polywire_emulator.base_url("openai").startswith(polywire_emulator.url)
    with pw.Emulator() as other:
        pass
    with pytest.raises(pw.InputError):
        other.base_url("openai")
    with pytest.raises(pw.UnknownNameError):
        polywire_emulator.base_url("nobody")


def test_the_package_needs_no_pydantic() -> None:
    code = """
import sys
sys.modules["pydantic"] = sys.modules["pydantic_core"] = None
import polywire as pw
assert pw.fit({"type": "object"}, "openai").schema
try:
    pw.fit(int, "openai")
except pw.InputError as error:
    assert error.code == "no-pydantic"
else:
    raise SystemExit("no error")
"""
    done = python(code)
    assert done.returncode == 0, done.stderr


ENDS = {
    "right after asyncio.run": """
import asyncio, polywire as pw
print(asyncio.run(pw.AsyncClient().ask("A number", int, model="emulator/openai")).value)
""",
    "in the middle of a stream": """
import polywire as pw
stream = pw.Client().ask_stream("Hello", model="emulator/openai+slow")
print(next(stream).value)
""",
    "in the middle of an asynchronous stream": """
import asyncio, polywire as pw
stream = pw.AsyncClient().ask_stream("Hello", model="emulator/openai+slow")
print(asyncio.run(stream.__anext__()).value)
""",
    "with a task that waits": """
import asyncio, polywire as pw
async def main():
    asyncio.ensure_future(pw.AsyncClient().ask("Hello", model="emulator/openai+slow"))
    await asyncio.sleep(0.01)
    print("ended")
asyncio.run(main())
""",
    "with an emulator that runs": """
import polywire as pw
print(pw.Emulator().url)
""",
    "by an exception in a tool's thread": """
import polywire as pw, sys
def stop() -> str:
    sys.exit(3)
print(pw.Client().run("emulate: call stop {}\\nemulate: repeat", tools=[stop], model="emulator/openai").text)
""",
}


@pytest.mark.parametrize("how", ENDS)
def test_the_interpreter_ends_cleanly(how: str) -> None:
    for _ in range(REPEATS if how == "right after asyncio.run" else max(1, REPEATS // 10)):
        done = python(ENDS[how])
        assert done.returncode == 0 and done.stdout.strip(), (done.returncode, done.stderr)
        assert "Traceback" not in done.stderr and "Warning" not in done.stderr, done.stderr


def test_a_process_that_was_forked_has_its_own_runtime() -> None:
    code = """
import os, polywire as pw
client = pw.Client()
client.ask("A number", int, model="emulator/openai")
child = os.fork()
if child == 0:
    assert isinstance(pw.Client().ask("A number", int, model="emulator/openai").value, int)
    raise SystemExit(0)
assert os.waitpid(child, 0)[1] == 0
assert isinstance(client.ask("A number", int, model="emulator/openai").value, int)
"""
    done = python(code)
    assert done.returncode == 0, done.stderr


def test_a_thousand_threads() -> None:
    client = pw.Client()
    values: list[object] = []
    start = threading.Barrier(1000)

    def work() -> None:
        start.wait()
        fitted = pw.fit(SCHEMA, "openai-strict")
        fitted.decode(fitted.encode({"labels": {"a": "b"}}))
        values.append(client.ask("A number", {"type": "integer"}, model="emulator/openai").value)

    threads = [threading.Thread(target=work) for _ in range(1000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(values) == 1000 and all(isinstance(value, int) for value in values)


def resident() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell what memory is used")
def test_memory_does_not_grow() -> None:
    calls = REPEATS * 5000 // 10
    fitted = pw.fit(SCHEMA, "openai-strict")
    text = '{"labels": {"a": "b", "c": "d"}}'

    def work(times: int) -> None:
        for _ in range(times):
            pw.fit(SCHEMA, "openai-strict")
            fitted.decode(fitted.encode({"labels": {"a": "b"}}))
            _ = pw.parse(text, SCHEMA).value
            try:
                pw.check("{", "openai")
            except pw.SchemaError:
                pass

    work(max(2000, calls // 10))
    gc.collect()
    before = resident()
    work(calls)
    gc.collect()
    assert resident() - before < 8 << 20, (before, resident())


def test_the_lock_is_released_while_a_call_works() -> None:
    huge = "[" + ",".join(['{"a": [1, 2, 3], "b": "text"}'] * 200_000) + "]"
    schema = {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}}}}
    done = threading.Event()
    ticks = 0

    def work() -> None:
        pw.parse(huge, schema)
        done.set()

    interval = sys.getswitchinterval()
    # A call that kept the lock would not give it to this thread before it ends, and other threads give it away at once.
    sys.setswitchinterval(1e-6)
    thread = threading.Thread(target=work)
    try:
        thread.start()
        while not done.is_set():
            ticks += 1
    finally:
        sys.setswitchinterval(interval)
        thread.join()
    assert ticks > 1000
