from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

from polywire.integrations.langchain import PolywireMiddleware

from conftest import DIALECT, MODEL, PROMPT
from shapes import Pet, seen

results: list[str] = []


@tool
def register(labels: dict[str, int], pet: Pet, place: tuple[float, float], note: str | None = None) -> str:
    """Registers a pet."""
    results.append(seen(labels, pet, place, note))
    return results[-1]


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_tool(base_url: str, adapted: bool, way: str) -> None:
    results.clear()
    model = ChatOpenAI(model=MODEL, base_url=base_url, api_key="any", max_retries=0)  # pyright: ignore
    middleware: list[Any] = [PolywireMiddleware(DIALECT)] if adapted else []
    agent: Any = create_agent(model, [register], middleware=middleware)
    asked = {"messages": [{"role": "user", "content": PROMPT}]}

    def run() -> Any:
        return agent.invoke(asked) if way == "sync" else asyncio.run(agent.ainvoke(asked))

    if not adapted:
        with pytest.raises(Exception):
            ran = run()
            assert results == ["registered"], ran
        return
    ran = run()
    assert ran["messages"][-1].content == "registered" and results == ["registered"]
    assert ran["messages"][1].tool_calls[0]["args"]["labels"] == {"red": 1, "blue": 2}
