from __future__ import annotations

import asyncio
from typing import Any

import polywire as pw
import pytest
from pydantic_ai import Agent, NativeOutput, Tool
from pydantic_ai.exceptions import ModelHTTPError, UnexpectedModelBehavior
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from polywire.integrations.pydantic_ai import PolywireModel, transformer

from conftest import DIALECT, MODEL, PROMPT
from shapes import Pet, Registration, seen

results: list[str] = []


def register(labels: dict[str, int], pet: Pet, place: tuple[float, float], note: str | None = None) -> str:
    """Registers a pet."""
    results.append(seen(labels, pet, place, note))
    return results[-1]


def model(base_url: str, adapted: bool) -> Any:
    plain = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=base_url, api_key="any"))
    return PolywireModel(plain, DIALECT) if adapted else plain


def test_a_tool(base_url: str, adapted: bool) -> None:
    results.clear()
    agent = Agent(model(base_url, adapted), tools=[Tool(register, strict=True)], retries=0)
    if not adapted:
        with pytest.raises((ModelHTTPError, UnexpectedModelBehavior, AssertionError)):
            agent.run_sync(PROMPT)
        return
    ran = agent.run_sync(PROMPT)
    assert ran.output == "registered" and results == ["registered"]


def test_a_stream(base_url: str) -> None:
    async def main() -> str:
        results.clear()
        agent = Agent(model(base_url, True), tools=[Tool(register, strict=True)], retries=0)
        async with agent.run_stream(PROMPT) as stream:
            return await stream.get_output()

    assert asyncio.run(main()) == "registered" and results == ["registered"]


@pytest.mark.parametrize("kind", [Registration, NativeOutput(Registration)])
def test_an_output(base_url: str, kind: Any) -> None:
    ran = Agent(model(base_url, True), output_type=kind, retries=0).run_sync("A registration")
    assert isinstance(ran.output, Registration)


def test_the_transformer() -> None:
    made = transformer(DIALECT)(Registration.model_json_schema())
    assert made.walk() == pw.fit(Registration, DIALECT).schema and made.is_strict_compatible
