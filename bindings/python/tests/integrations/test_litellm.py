from __future__ import annotations

import asyncio
import json
from typing import Any

import litellm
import pytest

from polywire.integrations.litellm import PolywireCallback

from conftest import DIALECT, MODEL, PROMPT
from shapes import Registration, seen

SCHEMA = Registration.model_json_schema()
TOOL = {"type": "function", "function": {"name": "register", "description": "Registers", "parameters": SCHEMA, "strict": True}}


async def converse(base_url: str, adapted: bool, **more: Any) -> Any:
    litellm.callbacks = [PolywireCallback(DIALECT)] if adapted else []
    try:
        return await litellm.acompletion(
            model=f"openai/{MODEL}", api_base=base_url, api_key="any", num_retries=0, max_retries=0, **more
        )
    finally:
        litellm.callbacks = []


def test_a_tool(base_url: str, adapted: bool) -> None:
    async def main() -> str:
        messages: list[Any] = [{"role": "user", "content": PROMPT}]
        first = await converse(base_url, adapted, messages=messages, tools=[TOOL])
        call = first.choices[0].message.tool_calls[0]
        got = Registration.model_validate_json(call.function.arguments)
        result = seen(got.labels, got.pet, got.place, got.note)
        messages.append(first.choices[0].message.model_dump(exclude_none=True))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        return (await converse(base_url, adapted, messages=messages, tools=[TOOL])).choices[0].message.content

    if adapted:
        assert asyncio.run(main()) == "registered"
    else:
        with pytest.raises((litellm.exceptions.BadRequestError, ValueError)):
            asyncio.run(main())


def test_an_output(base_url: str, adapted: bool) -> None:
    output = {"type": "json_schema", "json_schema": {"name": "registration", "schema": SCHEMA, "strict": True}}
    messages = [{"role": "user", "content": "A registration"}]
    asking = converse(base_url, adapted, messages=messages, response_format=output)
    if not adapted:
        with pytest.raises(litellm.exceptions.BadRequestError):
            asyncio.run(asking)
        return
    Registration.model_validate_json(asyncio.run(asking).choices[0].message.content)


def test_a_stream_of_the_proxy() -> None:
    async def main() -> None:
        callback = PolywireCallback(DIALECT)
        data = {"litellm_call_id": "1", "messages": [], "tools": [TOOL]}
        sent = await callback.async_pre_call_hook(None, None, data, "acompletion")
        assert sent["tools"][0]["function"]["parameters"] != SCHEMA
        text = json.dumps({"labels": [{"key": "red", "value": 1}], "pet": {"kind": "cat", "lives": 9}, "place": {"0": 1.0, "1": 2.0}, "note": None})

        async def chunks() -> Any:
            for start in range(0, len(text), 20):
                function = {"name": "register" if start == 0 else None, "arguments": text[start : start + 20]}
                call = {"index": 0, "id": "c" if start == 0 else None, "type": "function", "function": function}
                delta = {"tool_calls": [call]}
                yield litellm.ModelResponseStream(choices=[litellm.types.utils.StreamingChoices(index=0, delta=litellm.types.utils.Delta(**delta))])
            end = litellm.types.utils.StreamingChoices(index=0, delta=litellm.types.utils.Delta(), finish_reason="tool_calls")
            yield litellm.ModelResponseStream(choices=[end])

        calls = [
            call
            async for chunk in callback.async_post_call_streaming_iterator_hook(None, chunks(), sent)
            for call in chunk.choices[0].delta.tool_calls or []
        ]
        assert len(calls) == 1
        assert Registration.model_validate_json(calls[0].function.arguments).labels == {"red": 1}

    asyncio.run(main())
