"""What the adapters share: tools and output schemas fitted, and values brought back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from .. import _polywire as native
from .._answer import parse
from .._errors import AnswerError, InputError
from .._fit import Fitted, FittedTools, fit, fit_tools

__all__ = ["Target"]

Slot = Literal["tool", "output"]


class Target:
    """What schemas are fitted to: a dialect, or the dialects of a model."""

    def __init__(self, to: str) -> None:
        if "/" in to:
            slots = native.model_dialects(to)
            self._ids: dict[Slot, str | None] = {"tool": slots["tool"]["dialect"], "output": slots["output"]["dialect"]}
        else:
            self._ids = {"tool": to, "output": to}
        self.name = to

    def _id(self, slot: Slot) -> str:
        id = self._ids[slot]
        if id is None:
            raise InputError(f"{self.name} takes no schema for `{slot}`", "no-dialect", self.name)
        return id

    def tools(self, tools: Iterable[tuple[str, str | None, Mapping[str, Any]]]) -> FittedTools:
        """Fits tools: names, descriptions and schemas."""
        listed = [
            {"name": name, "description": description or "", "inputSchema": dict(schema)}
            for name, description, schema in tools
        ]
        return fit_tools(listed, self._id("tool"))

    def output(self, schema: Mapping[str, Any]) -> Fitted[Any]:
        """Fits an output schema."""
        return fit(schema, self._id("output"), options={"slot": "output"})


def decode_output(fitted: Fitted[Any], text: str) -> str:
    """The text of an output in the shape of the caller's schema. A text without JSON stays as it is: it is no value."""
    answer = parse(text)
    if not answer.has_value or answer.truncated:
        return text
    return native.to_json(fitted.decode(answer.value))


def decode_call(fitted: FittedTools, name: str, arguments: object) -> tuple[str, Any]:
    """The caller's name and arguments of a call. Arguments that cannot be converted stay, so that the caller can refuse them."""
    names = {sent: own for own, sent in fitted.names.items()}
    if name not in names:
        return name, arguments
    try:
        call = fitted.decode(name, arguments)
    except (AnswerError, ValueError):
        return names[name], arguments
    return call.name, call.arguments


def encode_call(fitted: FittedTools, name: str, arguments: Any) -> tuple[str, Any]:
    """A call of the history as the model made it."""
    if name not in fitted.names:
        return name, arguments
    value = arguments
    if isinstance(arguments, str):
        answer = parse(arguments)
        if not answer.has_value:
            return fitted.names[name], arguments
        value = answer.value
    try:
        call = fitted.encode(name, value)
    except ValueError:
        return fitted.names[name], arguments
    return call.name, call.arguments


def decode_text(fitted: FittedTools, name: str, arguments: str) -> tuple[str, str]:
    """As :func:`decode_call`, for arguments that are JSON text before and after."""
    name, value = decode_call(fitted, name, arguments)
    return name, value if isinstance(value, str) else native.to_json(value)


def encode_text(fitted: FittedTools, name: str, arguments: str) -> tuple[str, str]:
    """As :func:`encode_call`, for arguments that are JSON text before and after."""
    name, value = encode_call(fitted, name, arguments)
    return name, value if isinstance(value, str) else native.to_json(value)
