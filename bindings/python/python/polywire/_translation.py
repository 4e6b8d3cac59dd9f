"""Requests of one protocol to models of any other, and their answers back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

from . import _polywire as native
from ._errors import PolywireError
from ._polywire import Change

__all__ = [
    "PlanOptions",
    "RefusedResponse",
    "StreamEnd",
    "TranslatedRequest",
    "TranslatedResponse",
    "Translation",
    "TranslationOptions",
    "TranslationStream",
    "plan",
]

LossKind = Literal["all", "model", "tools", "output", "history", "parameters"]


class PlanOptions(TypedDict, total=False):
    """Options of planning."""

    strict: Literal["auto", "as-asked", "off"]
    """Which tools get the provider's strict flag."""
    prompt: Literal["when-needed", "always"]
    """When the output schema is in the prompt."""
    on_loss: Mapping[LossKind, Literal["record", "error"]]
    """What a loss of a kind means."""


class TranslationOptions(TypedDict, total=False):
    """Options of a translation."""

    stream: bool
    """Whether the answer is a stream; otherwise the request decides."""
    created: int
    """The Unix time in seconds for answers that need one and have none."""
    seed: str
    """The seed of ids for answers that need one and have none."""
    plan: PlanOptions
    """Options of planning."""


@dataclass(frozen=True)
class TranslatedRequest:
    """A request as it is sent. Secrets are named in the headers (``{env VAR}``), not held."""

    method: str
    """The HTTP method."""
    url: str
    """The URL."""
    headers: dict[str, str]
    """The headers."""
    body: bytes
    """The body, JSON."""


@dataclass(frozen=True)
class TranslatedResponse:
    """A response in the protocol of the caller."""

    body: bytes
    """The body, JSON."""
    changes: list[Change] = field(repr=False)
    """Every change and loss on the way back."""
    usage: dict[str, Any] | None
    """The tokens."""


@dataclass(frozen=True)
class RefusedResponse:
    """An error response in the protocol of the caller."""

    status: int
    """The HTTP status."""
    headers: dict[str, str]
    """The headers."""
    body: bytes
    """The body, JSON."""


@dataclass(frozen=True)
class StreamEnd:
    """The end of a stream."""

    body: bytes
    """The last bytes."""
    changes: list[Change] = field(repr=False)
    """Every change and loss on the way back."""
    usage: dict[str, Any] | None
    """The tokens."""
    error: PolywireError | None
    """The error that the stream ended with, if it did."""


class TranslationStream:
    """A streamed response on its way back."""

    def __init__(self, inner: native.NativeTranslationStream) -> None:
        self._inner = inner

    def push(self, data: bytes) -> bytes:
        """Takes bytes of the provider's stream and gives bytes of the caller's."""
        return self._inner.push(data)

    def finish(self) -> StreamEnd:
        """Ends the stream."""
        return StreamEnd(*self._inner.finish())


class Translation:
    """A request of one protocol on its way to a model of any protocol, and the way back of the answer. Sends nothing.

    >>> import polywire as pw
    >>> body = b'{"model": "any", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 50}'
    >>> translation = pw.Translation(body, source="openai-chat", model="anthropic/claude-sonnet-4-5")
    >>> translation.request.url
    'https://api.anthropic.com/v1/messages'
    """

    def __init__(
        self, body: bytes | str, *, source: str, model: str, options: TranslationOptions | None = None
    ) -> None:
        data = body.encode() if isinstance(body, str) else body
        self._inner = native.NativeTranslation(data, source, model, dict(options) if options else None)

    @property
    def request(self) -> TranslatedRequest:
        """What goes out: method, URL, headers and body. Send it with any HTTP client."""
        inner = self._inner
        return TranslatedRequest(inner.method, inner.url, dict(inner.headers), inner.body)

    @property
    def changes(self) -> list[Change]:
        """Every change and loss on the way there."""
        return self._inner.changes

    @property
    def plan(self) -> dict[str, Any]:
        """Everything that was decided about the request."""
        return self._inner.plan

    @property
    def is_stream(self) -> bool:
        """Whether the answer is a stream."""
        return self._inner.is_stream

    @property
    def stream_content_type(self) -> str:
        """The content type of the translated stream."""
        return self._inner.stream_content_type

    def response(self, data: bytes) -> TranslatedResponse:
        """Translates a whole response of the provider."""
        return TranslatedResponse(*self._inner.response(data))

    def stream(self) -> TranslationStream:
        """Translates a streamed response of the provider."""
        return TranslationStream(self._inner.stream())

    def error(
        self, status: int, data: bytes, headers: Mapping[str, str] | Iterable[tuple[str, str]] = ()
    ) -> RefusedResponse:
        """Translates an error response of the provider."""
        pairs = list(headers.items()) if isinstance(headers, Mapping) else list(headers)
        status, back, body = self._inner.error(status, pairs, data)
        return RefusedResponse(status, dict(back), body)


def plan(
    request: str | Mapping[str, Any] | list[Any],
    model: str,
    *,
    source: str | None = None,
    options: PlanOptions | None = None,
) -> dict[str, Any]:
    """Everything that is decided about a request before it is sent: tools, names, strategy, body, changes.

    The request is a prompt, messages, or a neutral request (``polywire schema request``); with ``source``, a body of that protocol.

    >>> import polywire as pw
    >>> pw.plan("Hello", "anthropic/claude-sonnet-4-5")["protocol"]
    'anthropic-messages'
    """
    return native.plan(request, model, source, dict(options) if options else None)
