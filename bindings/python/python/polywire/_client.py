"""The client: questions to any provider, answers as your types."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypedDict, TypeVar, cast, overload

from . import _polywire as native
from ._polywire import Change, Repair
from ._tool import Tool, native_tools
from ._types import Described, SchemaLike, describe

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Unpack

    from ._translation import PlanOptions

__all__ = [
    "AskOptions",
    "AskStream",
    "Asked",
    "AsyncAskStream",
    "AsyncClient",
    "Client",
    "ClientOptions",
    "Partial",
    "Ran",
    "RunOptions",
]

T = TypeVar("T")

Asking: TypeAlias = str | Sequence[Any] | Mapping[str, Any]
Models: TypeAlias = str | Sequence[str]
Plain: TypeAlias = Mapping[str, Any] | str


class ClientOptions(TypedDict, total=False):
    """Options of a client. Times are in seconds."""

    keys: Mapping[str, str]
    """Keys by provider, instead of those of the environment."""
    base_urls: Mapping[str, str]
    """Base URLs by provider."""
    headers: Mapping[str, str]
    """Headers of every request."""
    config: str
    """The text of a ``polywire.toml``, whose providers and models are known too."""
    attempts: int
    """How often a value is asked for until it is valid."""
    retries: int
    """How often a failed request is sent again."""
    timeout: float
    """The limit on waiting for a response, and between its parts."""
    deadline: float
    """The limit on everything together."""
    connect_timeout: float
    """The limit on the connection."""
    max_concurrency: int
    """The most requests at a time."""
    max_response_bytes: int
    """The most bytes of a response."""
    plain_http: bool
    """Allows unencrypted HTTP to other machines."""
    plan: PlanOptions
    """Options of planning."""


class AskOptions(TypedDict, total=False):
    """Options of one question."""

    system: str
    """Instructions for the model."""
    strategy: Literal["auto", "native", "tool", "prompted"]
    """How the value is requested."""
    name: str
    """The name of the schema for the model."""
    description: str
    """A description of the schema for the model."""
    max_tokens: int
    """The most tokens of the answer."""
    temperature: float
    """The temperature."""
    deadline: float
    """The limit on everything together, in seconds."""
    headers: Mapping[str, str]
    """Headers of the request."""
    trace_parent: str
    """The W3C trace parent of the request's span."""


class RunOptions(AskOptions, total=False):
    """Options of a tool loop."""

    max_turns: int
    """The most turns."""
    max_total_tokens: int
    """The most tokens of all turns together."""
    tool_timeout: float
    """The limit on one call of a tool, in seconds."""
    max_parallel: int
    """The most calls at a time."""


@dataclass(frozen=True)
class Asked(Generic[T]):
    """A valid value, and how it came."""

    value: T
    """The value."""
    model: str
    """The model that answered, as ``provider/model``."""
    strategy: str
    """How the value was requested."""
    changes: list[Change] = field(repr=False)
    """Every change and loss."""
    repairs: list[Repair] = field(repr=False)
    """Every repair of the value."""
    usage: dict[str, Any]
    """The tokens of all attempts."""
    cost_usd: float | None
    """The cost at list prices, if it is known."""
    attempts: list[dict[str, Any]] = field(repr=False)
    """Every attempt."""


@dataclass(frozen=True)
class Partial:
    """A part of an answer."""

    value: Any
    """The value so far; in an answer of text, the text that was added."""
    attempt: int
    """The number of the attempt, from 1. A later attempt starts a new value."""


@dataclass(frozen=True)
class Ran(Generic[T]):
    """The end of a tool loop."""

    value: T
    """The last answer: its text, or the value of your type."""
    text: str
    """The text of the last answer."""
    stop: Literal["answered", "turn-limit", "token-limit", "open-calls"]
    """Why the loop ended."""
    model: str
    """The model of the last answer."""
    history: list[dict[str, Any]] = field(repr=False)
    """The conversation, to go on with."""
    turns: list[dict[str, Any]] = field(repr=False)
    """Every turn: ``response``, ``results``, ``changes``."""
    changes: list[Change] = field(repr=False)
    """Every change and loss of all turns."""
    usage: dict[str, Any]
    """The tokens of all turns."""


_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_RUN_OPTIONS = ("max_turns", "max_total_tokens", "tool_timeout", "max_parallel")


def _described(schema: SchemaLike[Any] | None) -> Described[Any] | None:
    return None if schema is None else describe(schema)


def _models(model: Models) -> list[str]:
    return [model] if isinstance(model, str) else list(model)


def _ask_options(options: Mapping[str, Any], described: Described[Any] | None) -> dict[str, Any] | None:
    made = dict(options)
    if described is not None and described.name and _NAME.fullmatch(described.name):
        made.setdefault("name", described.name)
    return made or None


def _run_options(options: Mapping[str, Any], described: Described[Any] | None) -> dict[str, Any]:
    run = {name: options[name] for name in _RUN_OPTIONS if name in options}
    ask = _ask_options({name: option for name, option in options.items() if name not in run}, described)
    return {**run, "ask": ask} if ask else run


def _typed(value: object, described: Described[Any] | None) -> Any:
    if described is None or described.adapter is None:
        return value
    return described.load_json(native.to_json(value).encode())


def _asked(made: dict[str, Any], described: Described[Any] | None) -> Asked[Any]:
    return Asked(**{**made, "value": _typed(made["value"], described)})


def _ran(made: dict[str, Any], described: Described[Any] | None) -> Ran[Any]:
    value = made["text"] if described is None else made["value"]
    if described is not None and value is not None:
        value = _typed(value, described)
    return Ran(**{**made, "value": value})


def _schema(described: Described[Any] | None) -> dict[str, Any] | None:
    return None if described is None else described.schema


class AskStream(Iterator[Partial], Generic[T]):
    """An answer while it arrives: an iterator of partial values, then :meth:`finish`."""

    def __init__(self, inner: native.NativeStream, described: Described[T] | None) -> None:
        self._inner = inner
        self._described = described

    def __iter__(self) -> AskStream[T]:
        return self

    def __next__(self) -> Partial:
        try:
            part = self._inner.next().wait()
        except BaseException:
            self.close()
            raise
        if part is None:
            raise StopIteration
        return Partial(*part)

    def finish(self) -> Asked[T]:
        """Waits for the end, and gives the whole answer."""
        return _asked(self._inner.finish().wait(), self._described)

    def close(self) -> None:
        """Ends the request."""
        self._inner.close()

    def __enter__(self) -> AskStream[T]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class Client:
    """Asks models of any provider. Keys come from the environment, as for the providers' own clients.

    ``emulator/openai`` stands for an emulated model, which needs no key.

    >>> import polywire as pw
    >>> schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    >>> asked = pw.Client().ask("A city", schema, model="emulator/openai")
    >>> sorted(asked.value), asked.model.split("/")[0]
    (['city'], 'openai')
    """

    def __init__(self, **options: Unpack[ClientOptions]) -> None:
        self._inner = native.NativeClient(dict(options) or None)

    @overload
    def ask(self, prompt: Asking, schema: type[T], *, model: Models, **options: Unpack[AskOptions]) -> Asked[T]: ...
    @overload
    def ask(self, prompt: Asking, schema: Plain, *, model: Models, **options: Unpack[AskOptions]) -> Asked[Any]: ...
    @overload
    def ask(
        self, prompt: Asking, schema: None = None, *, model: Models, **options: Unpack[AskOptions]
    ) -> Asked[str]: ...
    @overload
    def ask(
        self, prompt: Asking, schema: SchemaLike[T], *, model: Models, **options: Unpack[AskOptions]
    ) -> Asked[T]: ...
    def ask(self, prompt: Asking, schema: Any = None, *, model: Models, **options: Unpack[AskOptions]) -> Asked[Any]:
        """Asks for a value of a type or schema, or without one for text.

        The prompt is a text, messages, or a neutral request. With several models, the first that answers counts.
        """
        described = _described(schema)
        made = _ask_options(options, described)
        return _asked(self._inner.ask(prompt, _schema(described), _models(model), made).wait(), described)

    @overload
    def ask_stream(
        self, prompt: Asking, schema: type[T], *, model: Models, **options: Unpack[AskOptions]
    ) -> AskStream[T]: ...
    @overload
    def ask_stream(
        self, prompt: Asking, schema: Plain, *, model: Models, **options: Unpack[AskOptions]
    ) -> AskStream[Any]: ...
    @overload
    def ask_stream(
        self, prompt: Asking, schema: None = None, *, model: Models, **options: Unpack[AskOptions]
    ) -> AskStream[str]: ...
    @overload
    def ask_stream(
        self, prompt: Asking, schema: SchemaLike[T], *, model: Models, **options: Unpack[AskOptions]
    ) -> AskStream[T]: ...
    def ask_stream(
        self, prompt: Asking, schema: Any = None, *, model: Models, **options: Unpack[AskOptions]
    ) -> AskStream[Any]:
        """Asks, and shows the answer while it arrives.

        >>> import polywire as pw
        >>> stream = pw.Client().ask_stream("A city", {"type": "object"}, model="emulator/openai")
        >>> partials = [partial.value for partial in stream]
        >>> stream.finish().value == partials[-1]
        True
        """
        described = _described(schema)
        made = _ask_options(options, described)
        stream = self._inner.ask_stream(prompt, _schema(described), _models(model), made).wait()
        return AskStream(stream, described)

    @overload
    def run(
        self,
        prompt: Asking,
        schema: type[T],
        *,
        tools: Sequence[Tool | Callable[..., Any]],
        model: Models,
        **options: Unpack[RunOptions],
    ) -> Ran[T]: ...
    @overload
    def run(
        self,
        prompt: Asking,
        schema: Plain,
        *,
        tools: Sequence[Tool | Callable[..., Any]],
        model: Models,
        **options: Unpack[RunOptions],
    ) -> Ran[Any]: ...
    @overload
    def run(
        self,
        prompt: Asking,
        schema: None = None,
        *,
        tools: Sequence[Tool | Callable[..., Any]],
        model: Models,
        **options: Unpack[RunOptions],
    ) -> Ran[str]: ...
    @overload
    def run(
        self,
        prompt: Asking,
        schema: SchemaLike[T],
        *,
        tools: Sequence[Tool | Callable[..., Any]],
        model: Models,
        **options: Unpack[RunOptions],
    ) -> Ran[T]: ...
    def run(
        self,
        prompt: Asking,
        schema: Any = None,
        *,
        tools: Sequence[Tool | Callable[..., Any]],
        model: Models,
        **options: Unpack[RunOptions],
    ) -> Ran[Any]:
        """Makes the model's calls with your functions until it answers without calls.

        Exceptions of a function are told to the model. Functions run in threads of their own.
        """
        described = _described(schema)
        made = _run_options(options, described)
        native_list = native_tools(tools, None)
        return _ran(self._inner.run(prompt, native_list, _schema(described), _models(model), made).wait(), described)


async def _wait(start: Callable[[Callable[[], None]], native.Operation]) -> Any:
    """Waits for an operation in the running loop. Cancelling the task cancels the operation."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def settle() -> None:
        if not done.done():
            done.set_result(None)

    def wake() -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle)

    operation = start(wake)
    try:
        await done
    except BaseException:
        operation.cancel()
        raise
    return operation.result()


class AsyncAskStream(AsyncIterator[Partial], Generic[T]):
    """An answer while it arrives: an asynchronous iterator of partial values, then :meth:`finish`."""

    def __init__(
        self, start: Callable[[Callable[[], None]], native.Operation], described: Described[T] | None
    ) -> None:
        self._start = start
        self._inner: native.NativeStream | None = None
        self._described = described

    async def _opened(self) -> native.NativeStream:
        if self._inner is None:
            self._inner = cast("native.NativeStream", await _wait(self._start))
        return self._inner

    def __aiter__(self) -> AsyncAskStream[T]:
        return self

    async def __anext__(self) -> Partial:
        stream = await self._opened()
        try:
            part = await _wait(stream.next)
        except BaseException:
            stream.close()
            raise
        if part is None:
            raise StopAsyncIteration
        return Partial(*part)

    async def finish(self) -> Asked[T]:
        """Waits for the end, and gives the whole answer."""
        stream = await self._opened()
        return _asked(await _wait(stream.finish), self._described)

    async def aclose(self) -> None:
        """Ends the request."""
        if self._inner is not None:
            self._inner.close()

    async def __aenter__(self) -> AsyncAskStream[T]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()


class AsyncClient:
    """:class:`Client` for asyncio. Cancelling a task ends its request.

    >>> import asyncio
    >>> import polywire as pw
    >>> asked = asyncio.run(pw.AsyncClient().ask("Hello", model="emulator/anthropic"))
    >>> isinstance(asked.value, str)
    True
    """

    def __init__(self, **options: Unpack[ClientOptions]) -> None:
        self._inner = native.NativeClient(dict(options) or None)

    @overload
    async def ask(
        self, prompt: Asking, schema: type[T], *, model: Models, **options: Unpack[AskOptions]
    ) -> Asked[T]: ...
    @overload
    async def ask(
        self, prompt: Asking, schema: Plain, *, model: Models, **options: Unpack[AskOptions]
    ) -> Asked[Any]: ...
    @overload
    async def ask(
        self, prompt: Asking, schema: None = None, *, model: Models, **options: Unpack[AskOptions]
    ) -> Asked[str]: ...
    @overload
    async def ask(
        self, prompt: Asking, schema: SchemaLike[T], *, model: Models, **options: Unpack[AskOptions]
    ) -> Asked[T]: ...
    async def ask(
        self, prompt: Asking, schema: Any = None, *, model: Models, **options: Unpack[AskOptions]
    ) -> Asked[Any]:
        """Asks for a value of a type or schema, or without one for text. See :meth:`Client.ask`."""
        described = _described(schema)
        made = _ask_options(options, described)
        models = _models(model)
        asked = await _wait(lambda wake: self._inner.ask(prompt, _schema(described), models, made, wake))
        return _asked(asked, described)

    @overload
    def ask_stream(
        self, prompt: Asking, schema: type[T], *, model: Models, **options: Unpack[AskOptions]
    ) -> AsyncAskStream[T]: ...
    @overload
    def ask_stream(
        self, prompt: Asking, schema: Plain, *, model: Models, **options: Unpack[AskOptions]
    ) -> AsyncAskStream[Any]: ...
    @overload
    def ask_stream(
        self, prompt: Asking, schema: None = None, *, model: Models, **options: Unpack[AskOptions]
    ) -> AsyncAskStream[str]: ...
    @overload
    def ask_stream(
        self, prompt: Asking, schema: SchemaLike[T], *, model: Models, **options: Unpack[AskOptions]
    ) -> AsyncAskStream[T]: ...
    def ask_stream(
        self, prompt: Asking, schema: Any = None, *, model: Models, **options: Unpack[AskOptions]
    ) -> AsyncAskStream[Any]:
        """Asks, and shows the answer while it arrives. See :meth:`Client.ask_stream`. Nothing is sent before the first ``await``."""
        described = _described(schema)
        made = _ask_options(options, described)
        models = _models(model)
        return AsyncAskStream(
            lambda wake: self._inner.ask_stream(prompt, _schema(described), models, made, wake), described
        )

    @overload
    async def run(
        self,
        prompt: Asking,
        schema: type[T],
        *,
        tools: Sequence[Tool | Callable[..., Any]],
        model: Models,
        **options: Unpack[RunOptions],
    ) -> Ran[T]: ...
    @overload
    async def run(
        self,
        prompt: Asking,
        schema: Plain,
        *,
        tools: Sequence[Tool | Callable[..., Any]],
        model: Models,
        **options: Unpack[RunOptions],
    ) -> Ran[Any]: ...
    @overload
    async def run(
        self,
        prompt: Asking,
        schema: None = None,
        *,
        tools: Sequence[Tool | Callable[..., Any]],
        model: Models,
        **options: Unpack[RunOptions],
    ) -> Ran[str]: ...
    @overload
    async def run(
        self,
        prompt: Asking,
        schema: SchemaLike[T],
        *,
        tools: Sequence[Tool | Callable[..., Any]],
        model: Models,
        **options: Unpack[RunOptions],
    ) -> Ran[T]: ...
    async def run(
        self,
        prompt: Asking,
        schema: Any = None,
        *,
        tools: Sequence[Tool | Callable[..., Any]],
        model: Models,
        **options: Unpack[RunOptions],
    ) -> Ran[Any]:
        """Makes the model's calls with your functions until it answers without calls. See :meth:`Client.run`.

        Coroutine functions run in the loop; other functions in threads of their own.
        """
        described = _described(schema)
        made = _run_options(options, described)
        native_list = native_tools(tools, asyncio.get_running_loop())
        models = _models(model)
        ran = await _wait(
            lambda wake: self._inner.run(prompt, native_list, _schema(described), models, made, wake)
        )
        return _ran(ran, described)
