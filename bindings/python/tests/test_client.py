"""Questions to emulated models, by the client and the asynchronous client."""

from __future__ import annotations

import asyncio
import contextvars
import json
import signal
import socket
import threading
from typing import Any

import polywire as pw
import pytest

from shapes import OWN, Cat, Dog, Pet, Registration, seen

WIRE = f"emulate: call register {json.dumps(pw.fit(Registration, 'openai-strict').encode(OWN))}\nemulate: repeat"
"""Makes the model call the tool in the fitted shape, and then repeat its result."""


@pytest.mark.parametrize("provider", ["openai", "anthropic", "google", "openai+fenced", "anthropic+types"])
def test_a_value_of_a_type(provider: str) -> None:
    asked = pw.Client().ask("A registration", Registration, model=f"emulator/{provider}")
    assert isinstance(asked.value, Registration) and isinstance(asked.value.pet, Cat | Dog)
    assert asked.usage["input_tokens"] > 0 and asked.attempts and asked.strategy and asked.model


def test_text_and_plain_schemas() -> None:
    client = pw.Client()
    assert isinstance(client.ask("Hello", model="emulator/openai").value, str)
    schema = {"type": "array", "items": {"type": "integer"}}
    assert isinstance(client.ask("Numbers", schema, model="emulator/openai").value, list)
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}, {"role": "user", "content": "A number"}]
    assert isinstance(client.ask(messages, int, model=["emulator/openai", "emulator/anthropic"]).value, int)


def test_a_wrong_value_is_asked_for_again() -> None:
    asked = pw.Client().ask("A registration", Registration, model="emulator/openai+wrong-1")
    assert len(asked.attempts) == 2
    with pytest.raises(pw.AnswerError) as caught:
        pw.Client(attempts=2).ask("A registration", Registration, model="emulator/openai+wrong")
    assert caught.value.code == "invalid" and len(caught.value.details["attempts"]) == 2


def test_errors_of_providers_and_models() -> None:
    client = pw.Client(retries=0)
    with pytest.raises(pw.ProviderError) as key:
        client.ask("Hello", model="emulator/openai+401")
    assert key.value.details["status"] == 401
    with pytest.raises(pw.RefusedError):
        client.ask("Hello", Registration, model="emulator/openai+refusal")
    with pytest.raises(pw.UnknownNameError):
        client.ask("Hello", model="emulator/nobody")
    with pytest.raises(pw.InputError):
        client.ask("Hello", model=[])
    with pytest.raises(pw.InputError) as option:
        pw.Client(retires=0)  # type: ignore[call-arg]  # pyright: ignore
    assert option.value.code == "unknown-option"


def test_a_missing_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(pw.SendError) as caught:
        pw.Client().ask("Hello", model="openai/gpt-5")
    assert caught.value.code == "missing-key" and "OPENAI_API_KEY" in caught.value.details["variables"]


def test_a_stream_shows_parts_and_ends_with_the_value() -> None:
    with pw.Client().ask_stream("A registration", Registration, model="emulator/openai") as stream:
        parts = [partial.value for partial in stream]
        asked = stream.finish()
    assert parts and isinstance(asked.value, Registration)
    text = pw.Client().ask_stream("Hello", model="emulator/anthropic")
    said = "".join(partial.value for partial in text)
    assert said and text.finish().value == said
    with pytest.raises(pw.InputError):
        text.finish()


def test_functions_are_tools() -> None:
    def register(labels: dict[str, int], pet: Pet, place: tuple[float, float], note: str | None = None) -> str:
        """Registers a pet."""
        return seen(labels, pet, place, note)

    ran = pw.Client().run(WIRE, tools=[register], model="emulator/openai")
    assert ran.value == "registered" and ran.stop == "answered" and len(ran.turns) == 2 and ran.history


def test_exceptions_of_functions_are_told_to_the_model() -> None:
    def fail() -> str:
        raise LookupError("nothing is known")

    ran = pw.Client().run("emulate: call fail {}\nemulate: repeat", tools=[fail], model="emulator/anthropic")
    assert "LookupError: nothing is known" in ran.text


def test_tools_and_a_type_together() -> None:
    tool = pw.Tool(lambda **_: {"n": 1}, name="now", description="The time", schema={"type": "object"})
    ran = pw.Client().run("What time is it?", Registration, tools=[tool], model="emulator/openai", max_turns=5)
    assert isinstance(ran.value, Registration) and ran.turns[0]["results"]


def test_coroutines_run_in_the_loop_and_see_the_context() -> None:
    tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant")
    loops: list[Any] = []

    async def who() -> str:
        loops.append(asyncio.get_running_loop())
        return tenant.get()

    def thread() -> str:
        return f"{tenant.get()} in {threading.current_thread() is threading.main_thread()}"

    async def main() -> None:
        tenant.set("acme")
        loop = asyncio.get_running_loop()
        client = pw.AsyncClient()
        ran = await client.run("emulate: call who {}\nemulate: repeat", tools=[who], model="emulator/openai")
        assert ran.text == "acme" and loops == [loop]
        ran = await client.run("emulate: call thread {}\nemulate: repeat", tools=[thread], model="emulator/openai")
        assert ran.text == "acme in False"

    asyncio.run(main())


def test_a_coroutine_without_a_loop_gets_one() -> None:
    async def now() -> int:
        await asyncio.sleep(0)
        return 7

    assert pw.Client().run("emulate: call now {}\nemulate: repeat", tools=[now], model="emulator/openai").text == "7"


def test_many_questions_at_once() -> None:
    async def main() -> None:
        client = pw.AsyncClient()
        asked = await asyncio.gather(*(client.ask("A number", int, model="emulator/openai") for _ in range(50)))
        assert all(isinstance(one.value, int) for one in asked)
        stream = client.ask_stream("A registration", Registration, model="emulator/anthropic")
        parts = [partial async for partial in stream]
        assert parts and isinstance((await stream.finish()).value, Registration)

    asyncio.run(main())


class Silent:
    """A server that takes a request, says nothing, and notices when the client goes."""

    async def __aenter__(self) -> Silent:
        self.asked = asyncio.Event()
        self.gone = asyncio.Event()
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.port: int = self.server.sockets[0].getsockname()[1]
        return self

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self.asked.set()
        while await reader.read(1000):
            pass
        self.gone.set()
        writer.close()

    async def __aexit__(self, *_: object) -> None:
        self.server.close()

    def client(self) -> pw.AsyncClient:
        return pw.AsyncClient(keys={"openai": "k"}, base_urls={"openai": f"http://127.0.0.1:{self.port}/v1"})


@pytest.mark.parametrize("way", ["ask", "stream", "run"])
def test_cancelling_a_task_ends_its_request(way: str) -> None:
    async def main() -> None:
        async with Silent() as silent:
            client = silent.client()
            if way == "ask":
                waiting: Any = client.ask("Hello", model="openai/gpt-5")
            elif way == "run":
                waiting = client.run("Hello", tools=[], model="openai/gpt-5")
            else:
                waiting = client.ask_stream("Hello", int, model="openai/gpt-5").__anext__()
            task = asyncio.ensure_future(waiting)
            await asyncio.wait_for(silent.asked.wait(), 20)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.wait_for(silent.gone.wait(), 20)

    asyncio.run(main())


def test_cancelling_a_run_cancels_its_tool() -> None:
    async def main() -> None:
        started, ended = asyncio.Event(), asyncio.Event()

        async def wait() -> str:
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
            return ""

        task = asyncio.ensure_future(pw.AsyncClient().run("emulate: call wait {}", tools=[wait], model="emulator/openai"))
        await asyncio.wait_for(started.wait(), 20)
        task.cancel()
        await asyncio.wait_for(ended.wait(), 20)

    asyncio.run(main())


def test_a_signal_ends_a_call() -> None:
    main = threading.main_thread().ident
    assert main is not None
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def interrupt() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(100)
                signal.pthread_kill(main, signal.SIGINT)
                # Until the client has gone.
                while connection.recv(1000):
                    pass

        thread = threading.Thread(target=interrupt)
        thread.start()
        client = pw.Client(keys={"openai": "k"}, base_urls={"openai": f"http://127.0.0.1:{server.getsockname()[1]}/v1"})
        try:
            with pytest.raises(KeyboardInterrupt):
                client.ask("Hello", model="openai/gpt-5")
            thread.join(20)
            assert not thread.is_alive()
        finally:
            signal.signal(signal.SIGINT, handler)
