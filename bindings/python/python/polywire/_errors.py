"""The exceptions. Every one is a :class:`PolywireError` with a code, a place and details."""

from __future__ import annotations

from typing import Any

__all__ = [
    "AnswerError",
    "CancelledError",
    "ConversionError",
    "DecodeError",
    "InputError",
    "LossError",
    "PolywireError",
    "ProviderError",
    "RefusedError",
    "SchemaError",
    "SendError",
    "UnknownNameError",
]


class PolywireError(Exception):
    """The base class of all errors.

    >>> import polywire as pw
    >>> try:
    ...     pw.fit({"type": "object"}, "openai-strcit")
    ... except pw.PolywireError as error:
    ...     (type(error).__name__, error.code, error.at)
    ('UnknownNameError', 'unknown-dialect', 'openai-strcit')
    """

    code: str
    """A stable word for programs, such as ``missing-key``."""
    at: str
    """The JSON Pointer of the place in your document, or the name that is wrong; empty if there is none."""
    details: dict[str, Any]
    """More about it, such as ``{"status": 429, "retry_after_ms": 1000}``."""

    def __init__(
        self, message: str, code: str = "error", at: str = "", details: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.at = at
        self.details = {} if details is None else details

    def __reduce__(self) -> tuple[type[PolywireError], tuple[str, str, str, dict[str, Any]]]:
        return (type(self), (str(self), self.code, self.at, self.details))


class InputError(PolywireError, ValueError):
    """An argument is wrong."""


class UnknownNameError(PolywireError, LookupError):
    """A dialect, protocol, provider, model or tool is unknown."""


class SchemaError(PolywireError, ValueError):
    """A schema cannot be read."""


class ConversionError(PolywireError, ValueError):
    """A value cannot be converted to or from a fitted schema."""


class DecodeError(PolywireError, ValueError):
    """A body is not valid in its protocol."""


class LossError(PolywireError):
    """Something would be lost that the options forbid to lose. ``details["losses"]`` lists the losses."""


class SendError(PolywireError):
    """A request got no response."""


class ProviderError(PolywireError):
    """The provider returned an error. ``details["status"]`` is its HTTP status."""


class AnswerError(PolywireError):
    """No valid value was returned. ``details["errors"]`` and ``details["attempts"]`` say why."""


class RefusedError(PolywireError):
    """The model or a content filter refused."""


class CancelledError(PolywireError):
    """The operation was cancelled, or the interpreter ends."""
