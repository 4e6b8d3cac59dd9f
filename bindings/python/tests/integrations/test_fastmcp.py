from __future__ import annotations

import asyncio
from typing import Any

import polywire as pw
import pytest
from fastmcp import Client, FastMCP

from polywire.integrations.fastmcp import PolywireTransform

from conftest import DIALECT
from shapes import OWN, Pet, Registration, seen


def server(adapted: bool) -> FastMCP[Any]:
    made: FastMCP[Any] = FastMCP("clerk")

    @made.tool
    def register(labels: dict[str, int], pet: Pet, place: tuple[float, float], note: str | None = None) -> str:
        """Registers a pet."""
        return seen(labels, pet, place, note)

    if adapted:
        made.add_transform(PolywireTransform(DIALECT))
    return made


def test_a_tool_called_by_a_strict_model(adapted: bool) -> None:
    async def main() -> None:
        async with Client(server(adapted)) as client:
            listed = (await client.list_tools())[0]
            schema: Any = listed.model_dump(by_alias=True)["inputSchema"]
            assert pw.check(schema, DIALECT) == []
            arguments = pw.fit(Registration, DIALECT).encode(OWN)
            called = await client.call_tool(listed.name, arguments)
            assert called.data == "registered"

    if adapted:
        asyncio.run(main())
    else:
        with pytest.raises(AssertionError):
            asyncio.run(main())


def test_a_model_that_calls_it(polywire_emulator: pw.Emulator, adapted: bool) -> None:
    """The listed tool goes to an emulated provider as it is, and the call of the model to the server as it is."""
    import json

    import openai

    async def main() -> None:
        async with Client(server(adapted)) as client:
            listed = (await client.list_tools())[0]
            schema: Any = listed.model_dump(by_alias=True)["inputSchema"]
            plain = openai.AsyncOpenAI(base_url=polywire_emulator.base_url("openai"), api_key="any", max_retries=0)
            tool: Any = {"type": "function", "function": {"name": listed.name, "parameters": schema, "strict": True}}
            wire = json.dumps(pw.fit(Registration, DIALECT).encode(OWN))
            answer = await plain.chat.completions.create(
                model="gpt-4.1", tools=[tool], messages=[{"role": "user", "content": f"emulate: call register {wire}"}]
            )
            function: Any = (answer.choices[0].message.tool_calls or [])[0]
            called = await client.call_tool(function.function.name, json.loads(function.function.arguments))
            assert called.data == "registered"

    if adapted:
        asyncio.run(main())
    else:
        with pytest.raises(openai.BadRequestError):
            asyncio.run(main())
