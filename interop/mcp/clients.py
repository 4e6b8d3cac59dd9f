"""The official Python client uses the proxy as it uses any server: on standard input and output and over HTTP, in both eras. The reference
server stands behind it.

Usage: python clients.py POLYWIRE, in a folder where the packages are installed.
"""
import asyncio
import json
import re
import subprocess
import sys
import traceback

POLYWIRE = sys.argv[1]
SERVER = ["node", "reference.mjs", "stdio"]
BEHIND = ["mcp", "--for", "openai-strict", "--", *SERVER]


async def use(session):
    tools = {tool.name: tool for tool in (await session.list_tools()).tools}
    schema = tools["test_custom_headers"].input_schema
    assert schema["required"] == ["region", "note"], schema
    called = await session.call_tool("test_custom_headers", {"region": "eu", "note": None})
    assert json.loads(called.content[0].text) == {"region": "eu"}, called
    wrong = await session.call_tool("test_custom_headers", {"note": None})
    assert wrong.is_error, wrong
    assert len((await session.list_resources()).resources) == 3
    read = await session.read_resource("test://static-text")
    assert "static text resource" in read.contents[0].text, read
    prompt = await session.get_prompt("test_prompt_with_arguments", {"arg1": "a", "arg2": "b"})
    assert "arg1='a'" in prompt.messages[0].content.text, prompt
    steps = []

    async def on_progress(progress, total, message):
        steps.append(progress)

    await session.call_tool("test_tool_with_progress", {}, progress_callback=on_progress)
    assert steps == [0, 50, 100], steps


async def run(name, target, mode, faults):
    from mcp import Client
    try:
        async with Client(target, mode=mode) as client:
            await use(client)
    except BaseException:
        faults.append(f"{name}: {traceback.format_exc()}")


async def main(url):
    from mcp import StdioServerParameters
    faults = []
    for mode in ("legacy", "auto"):
        await run(f"HTTP, {mode}", url, mode, faults)
        await run(f"stdio, {mode}", StdioServerParameters(command=POLYWIRE, args=BEHIND), mode, faults)
    print("\n".join([*faults, f"mcp clients: Python: 4 clients, {len(faults)} faults"]))
    return 1 if faults else 0


with subprocess.Popen([POLYWIRE, "mcp", "--for", "openai-strict", "--listen", "127.0.0.1:0", "--", *SERVER], stderr=subprocess.PIPE, text=True) as listening:
    try:
        sys.exit(asyncio.run(main(re.search(r"http://\S+", listening.stderr.readline())[0])))
    finally:
        listening.kill()
