from __future__ import annotations

import asyncio
from typing import Any

import openai
import pytest
from agents import Agent, AgentOutputSchema, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool

from polywire.integrations.openai_agents import PolywireModel

from conftest import DIALECT, MODEL, PROMPT
from shapes import Pet, Registration, seen

results: list[str] = []


@function_tool(strict_mode=False, failure_error_function=None)
def register(labels: dict[str, int], pet: Pet, place: tuple[float, float], note: str | None = None) -> str:
    """Registers a pet."""
    results.append(seen(labels, pet, place, note))
    return results[-1]


def model(base_url: str, adapted: bool, kind: Any = OpenAIResponsesModel) -> Any:
    plain = kind(model=MODEL, openai_client=openai.AsyncOpenAI(base_url=base_url, api_key="any", max_retries=0))
    return PolywireModel(plain, DIALECT) if adapted else plain


@pytest.mark.parametrize("kind", [OpenAIResponsesModel, OpenAIChatCompletionsModel])
@pytest.mark.parametrize("way", ["whole", "stream"])
def test_a_tool(base_url: str, adapted: bool, kind: Any, way: str) -> None:
    async def main() -> Any:
        results.clear()
        agent = Agent(name="clerk", model=model(base_url, adapted, kind), tools=[register])
        if way == "whole":
            return (await Runner.run(agent, PROMPT)).final_output
        ran = Runner.run_streamed(agent, PROMPT)
        async for _event in ran.stream_events():
            pass
        return ran.final_output

    if adapted:
        assert asyncio.run(main()) == "registered" and results == ["registered"]
    else:
        with pytest.raises(Exception):
            asyncio.run(main())
            assert results == ["registered"]


def test_an_output(base_url: str, adapted: bool) -> None:
    async def main() -> Any:
        output = AgentOutputSchema(Registration, strict_json_schema=not adapted)
        agent = Agent(name="clerk", model=model(base_url, adapted), output_type=output)
        return (await Runner.run(agent, "A registration")).final_output

    if adapted:
        assert isinstance(asyncio.run(main()), Registration)
    else:
        with pytest.raises(Exception):
            asyncio.run(main())
