"""Requests of one protocol sent to a provider of another with Python's own HTTP client, and the answers back."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import polywire as pw
import pytest

from shapes import OWN, Registration

MODEL = "anthropic/claude-sonnet-4-5"


def body(**more: Any) -> bytes:
    return json.dumps({"model": "x", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 200, **more}).encode()


def send(emulator: pw.Emulator, request: pw.TranslatedRequest) -> urllib.request.Request:
    path = request.url.removeprefix("https://api.anthropic.com")
    headers = {name: value.replace("{env ANTHROPIC_API_KEY}", "any") for name, value in request.headers.items()}
    return urllib.request.Request(emulator.url + path, request.body, headers, method=request.method)


def test_a_request_and_its_answer(polywire_emulator: pw.Emulator) -> None:
    tool = {"type": "function", "function": {"name": "register", "parameters": Registration.model_json_schema()}}
    translation = pw.Translation(body(tools=[tool], tool_choice="required"), source="openai-chat", model=MODEL)
    assert translation.request.method == "POST" and not translation.is_stream
    assert translation.changes and translation.plan["provider"] == "anthropic"
    with urllib.request.urlopen(send(polywire_emulator, translation.request)) as reply:
        back = translation.response(reply.read())
    call = json.loads(back.body)["choices"][0]["message"]["tool_calls"][0]["function"]
    assert isinstance(json.loads(call["arguments"])["labels"], dict)
    assert call["name"] == "register" and back.usage is not None and back.usage["input_tokens"] > 0


def test_a_stream(polywire_emulator: pw.Emulator) -> None:
    translation = pw.Translation(body(stream=True), source="openai-chat", model=MODEL)
    assert translation.is_stream and translation.stream_content_type.startswith("text/event-stream")
    stream = translation.stream()
    with urllib.request.urlopen(send(polywire_emulator, translation.request)) as reply:
        sent = b"".join(stream.push(chunk) for chunk in iter(lambda: reply.read(100), b""))
    end = stream.finish()
    text = (sent + end.body).decode()
    assert end.error is None and text.rstrip().endswith("data: [DONE]") and '"object":"chat.completion.chunk"' in text
    with pytest.raises(pw.InputError):
        stream.push(b"")


def test_an_error(polywire_emulator: pw.Emulator) -> None:
    translation = pw.Translation(body(), source="openai-chat", model=MODEL)
    request = send(polywire_emulator, translation.request)
    request.add_header("x-polywire-emulate", "429")
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request)
    back = translation.error(caught.value.code, caught.value.read(), dict(caught.value.headers))
    assert back.status == 429 and json.loads(back.body)["error"]["message"]


def test_losses_can_be_forbidden() -> None:
    with pytest.raises(pw.LossError) as caught:
        pw.Translation(body(logit_bias={"1": 1}), source="openai-chat", model=MODEL, options={"plan": {"on_loss": {"all": "error"}}})
    assert caught.value.details["losses"]


def test_bad_input() -> None:
    with pytest.raises(pw.DecodeError) as text:
        pw.Translation(b"{", source="openai-chat", model=MODEL)
    assert text.value.code == "not-json"
    with pytest.raises(pw.UnknownNameError) as protocol:
        pw.Translation(body(), source="openai", model=MODEL)
    assert protocol.value.code == "unknown-protocol"
    with pytest.raises(pw.UnknownNameError):
        pw.Translation(body(), source="openai-chat", model="nobody/none")


def test_a_plan() -> None:
    made = pw.plan([{"role": "user", "content": "Hello"}], "openai/gpt-5")
    assert made["provider"] == "openai"
    assert pw.plan({"messages": [{"role": "user", "content": "Hello"}]}, MODEL)["protocol"] == "anthropic-messages"
    from_chat = pw.plan(json.loads(body()), MODEL, source="openai-chat")
    assert from_chat["body"]["max_tokens"] == 200
    assert OWN and pw.models() and pw.dialects() and pw.misbehaviours()
