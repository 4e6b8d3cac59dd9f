from __future__ import annotations

import asyncio
from typing import Any

import instructor
import openai
import pytest

from polywire.integrations.instructor import install

from conftest import DIALECT, MODEL, WIRE
from shapes import Registration

PROMPT = f"emulate: call Registration {WIRE}"


def check(value: Registration) -> None:
    assert value.labels == {"red": 1, "blue": 2} and value.pet.kind == "dog" and value.place == (46.9, 7.4)


def ask(client: Any, prompt: str) -> Any:
    messages = [{"role": "user", "content": prompt}]
    return client.chat.completions.create(model=MODEL, response_model=Registration, messages=messages, max_retries=0)


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_tool(base_url: str, adapted: bool, way: str) -> None:
    def run() -> Registration:
        if way == "sync":
            client: Any = instructor.from_openai(openai.OpenAI(base_url=base_url, api_key="any", max_retries=0), mode=instructor.Mode.TOOLS_STRICT)
            return ask(install(client, DIALECT) if adapted else client, PROMPT)

        async def main() -> Any:
            plain = openai.AsyncOpenAI(base_url=base_url, api_key="any", max_retries=0)
            client: Any = instructor.from_openai(plain, mode=instructor.Mode.TOOLS_STRICT)
            return await ask(install(client, DIALECT) if adapted else client, PROMPT)

        return asyncio.run(main())

    if adapted:
        check(run())
    else:
        with pytest.raises(Exception):
            check(run())


def test_a_schema(base_url: str) -> None:
    plain = openai.OpenAI(base_url=base_url, api_key="any", max_retries=0)
    client = install(instructor.from_openai(plain, mode=instructor.Mode.JSON_SCHEMA), DIALECT)
    assert isinstance(ask(client, "A registration"), Registration)


def test_two_requests_with_one_client(base_url: str) -> None:
    plain = openai.OpenAI(base_url=base_url, api_key="any", max_retries=0)
    client = install(instructor.from_openai(plain, mode=instructor.Mode.TOOLS), DIALECT)
    check(ask(client, PROMPT))
    check(ask(client, PROMPT))
