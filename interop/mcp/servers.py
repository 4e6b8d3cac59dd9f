"""Real servers behind `polywire mcp`, in five dialects: every listed tool is legal, and calls made of values that the listed schema accepts
reach the server as values that the server's own schema accepts.

The tools of each server are recorded once. Then a spy with these tools stands behind the proxy, so that no call has an effect. Python's
`jsonschema` judges, which shares nothing with polywire.

Usage: python servers.py POLYWIRE, in a folder where the packages are installed.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from jsonschema import Draft202012Validator, validators

from covers import uncovered
from stdio import Client
from values import Values

FORMATS = Draft202012Validator.FORMAT_CHECKER


@FORMATS.checks("uri")
def is_uri(text):
    # The package leaves this one to a package of its own.
    return not isinstance(text, str) or re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*:[\x21\x23-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7a\x7e]*", text) is not None


POLYWIRE = sys.argv[1]
ONLY = sys.argv[2:]
DIALECTS = ["openai-strict", "anthropic-strict", "gemini-openapi", "cca", "portable"]
SAMPLES = 12
MIN_SERVERS = 12
FOLDER = tempfile.mkdtemp(prefix="polywire-mcp-")


def validator(schema, formats=None):
    # From 2019-09 on, formats are annotations; a server that names an older draft means them.
    is_old = re.search(r"draft-0[3-7]", str(schema.get("$schema"))) if isinstance(schema, dict) else None
    return validators.validator_for(schema, default=Draft202012Validator)(schema, format_checker=formats or (FORMATS if is_old else None))


def record(name, server):
    command = [sys.executable if word == "python" else word for word in server["command"]]
    with Client(command, server.get("env")) as client:
        tools = client.tools()
    path = os.path.join(FOLDER, f"{name}.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(tools, file)
    return path, tools


def check(name, dialect, listed):
    path = os.path.join(FOLDER, f"{name}-{dialect}.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"tools": listed}, file)
    run = subprocess.run([POLYWIRE, "check", "--for", dialect, path], capture_output=True, text=True, check=False)
    return [] if run.returncode == 0 else [f"`check` refuses: {run.stdout}{run.stderr}"]


def plain(schema, dialect):
    """OpenAPI types are in capitals; a validator of JSON Schema knows small letters."""
    if isinstance(schema, list):
        return [plain(item, dialect) for item in schema]
    if not isinstance(schema, dict):
        return schema
    copy = {key: plain(value, dialect) for key, value in schema.items()}
    if isinstance(copy.get("type"), str):
        copy["type"] = copy["type"].lower()
    if copy.pop("nullable", False) is True and isinstance(copy.get("type"), str):
        copy["type"] = [copy["type"], "null"]
        if "enum" in copy and None not in copy["enum"]:
            copy["enum"] = [*copy["enum"], None]
    return copy


def try_server(name, path, tools, dialect):
    """Counts of legal tools, calls and calls that arrived, and the faults."""
    faults, calls, arrived, refused = [], 0, 0, 0
    with Client([POLYWIRE, "mcp", "--for", dialect, "--", sys.executable, "spy.py", path]) as client:
        listed = client.tools()
        faults += check(name, dialect, listed)
        if len(listed) != len(tools):
            faults.append(f"{len(tools)} tools, {len(listed)} listed")
        for own, fitted in zip(tools, listed):
            accepts_own, schema = validator(own["inputSchema"]), plain(fitted["inputSchema"], dialect)
            accepts_fitted = validator(schema, FORMATS)
            samples, wrong = Values(schema, accepts_fitted.is_valid).samples(SAMPLES)
            if not samples:
                faults.append(f"{fitted['name']}: no value could be made up ({wrong} wrong) of {json.dumps(schema)[:500]}")
            for value in samples:
                calls += 1
                result = client.ask("tools/call", {"name": fitted["name"], "arguments": value})
                text = result["content"][0]["text"]
                where = f"{fitted['name']} with {json.dumps(value)[:400]}"
                if result.get("isError"):
                    refused += 1
                    changes = fitted.get("_meta", {}).get("polywire/changes", [])
                    missing = uncovered(text, own["inputSchema"], changes)
                    faults += [f"{where}: refused, and no change says that more is accepted: {fault}" for fault in missing]
                    continue
                received = json.loads(text)
                wrong = [error.message for error in accepts_own.iter_errors(received.get("arguments", {}))]
                if received["name"] != own["name"] or wrong:
                    faults.append(f"{where}: the server received {text[:400]}: {wrong[:3]}")
                else:
                    arrived += 1
    return len(listed), calls, arrived, refused, [f"{name}, {dialect}: {fault}" for fault in faults]


with open("servers.json", encoding="utf-8") as file:
    SERVERS = {name: server for name, server in json.load(file).items() if not ONLY or name in ONLY}
with ThreadPoolExecutor(os.cpu_count() + 1) as pool:
    recorded = dict(zip(SERVERS, pool.map(record, SERVERS, SERVERS.values())))
    jobs = [(dialect, pool.submit(try_server, name, path, tools, dialect)) for name, (path, tools) in recorded.items() for dialect in DIALECTS]
    rows = [(dialect, job.result()) for dialect, job in jobs]
all_faults = []
print(f"mcp servers: {len(recorded)} servers, {sum(len(tools) for _, tools in recorded.values())} tools")
for dialect in DIALECTS:
    own = [row for of, row in rows if of == dialect]
    listed, calls, arrived, refused = (sum(row[place] for row in own) for place in range(4))
    faults = [fault for row in own for fault in row[4]]
    all_faults += faults
    print(f"  {dialect}: {listed} tools listed, {arrived} of {calls} calls arrived valid, {refused} refused where a change says `wider`, {len(faults)} faults")
print("\n".join(all_faults))
sys.exit(1 if all_faults or not ONLY and len(recorded) < MIN_SERVERS else 0)
