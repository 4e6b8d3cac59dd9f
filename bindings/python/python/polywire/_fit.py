"""Schemas and tool lists, fitted to what providers accept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypedDict, TypeVar, overload

from . import _polywire as native
from ._polywire import Change, Violation
from ._types import Described, SchemaLike, describe

__all__ = ["Call", "FitOptions", "Fitted", "FittedTools", "check", "check_tools", "fit", "fit_tools"]

T = TypeVar("T")


class FitOptions(TypedDict, total=False):
    """Options of a fit."""

    strict: Literal["auto", "require", "off"]
    """Strict where it can be met, strict or as near as possible, or never."""
    open: Literal["close", "carry"]
    """Objects that accept unknown keys are closed, or the unknown keys travel as a list of entries."""
    null: Literal["default", "absent", "null"]
    """What ``null`` means for a property that may be absent or null: as its default says, absence, or null."""
    slot: Literal["tool", "output"]
    """What the schema is for."""
    spill: bool
    """Whether descriptions say which constraints were dropped."""
    unresolved: Literal["any", "refuse"]
    """What a reference without a target means."""
    draft: Literal["03", "04", "06", "07", "2019-09", "2020-12", "openapi-3.0"]
    """The draft of a schema without ``$schema``."""


class Fitted(Generic[T]):
    """A schema fitted to a dialect, with every change and the way back of values.

    >>> import polywire as pw
    >>> schema = {"type": "object", "properties": {"labels": {"type": "object", "additionalProperties": {"type": "string"}}}}
    >>> fitted = pw.fit(schema, "openai-strict")
    >>> fitted.encode({"labels": {"color": "red"}})
    {'labels': [{'key': 'color', 'value': 'red'}]}
    >>> fitted.decode({"labels": None})
    {}
    """

    def __init__(self, inner: native.NativeFitted, described: Described[T]) -> None:
        self._inner = inner
        self._described = described

    @property
    def schema(self) -> dict[str, Any]:
        """The fitted schema."""
        return self._inner.schema

    @property
    def strict(self) -> bool:
        """Whether the schema meets the strict rules of the dialect, so that the strict flag may be sent."""
        return self._inner.strict

    @property
    def changes(self) -> list[Change]:
        """Every change of the schema."""
        return self._inner.changes

    @property
    def is_identity(self) -> bool:
        """Whether values need no conversion."""
        return self._inner.is_identity

    def schema_text(self) -> str:
        """The fitted schema as compact JSON text, with its keys in order."""
        return self._inner.schema_text()

    def encode(self, value: T | object) -> Any:
        """Converts a value of your schema, or an instance of your type, to the shape of the fitted schema."""
        return self._inner.encode(self._described.dump(value))

    def decode(self, value: object) -> Any:
        """Converts a value of the fitted schema to the shape of yours."""
        return self._inner.decode(value)

    def load(self, value: object) -> T:
        """Converts a value of the fitted schema to yours, validates it, and makes an instance of your type."""
        return self._described.load_json(self._inner.decode_json(value))

    def __repr__(self) -> str:
        return f"Fitted(strict={self.strict}, changes={len(self.changes)})"


def _ids(ids: tuple[str, ...]) -> list[str]:
    return [one for id in ids for one in id.split(",")]


@overload
def fit(schema: type[T], *ids: str, options: FitOptions | None = None) -> Fitted[T]: ...
@overload
def fit(schema: Mapping[str, Any] | str, *ids: str, options: FitOptions | None = None) -> Fitted[Any]: ...
@overload
def fit(schema: SchemaLike[T], *ids: str, options: FitOptions | None = None) -> Fitted[T]: ...
def fit(schema: Any, *ids: str, options: FitOptions | None = None) -> Fitted[Any]:
    """Fits a schema so that a provider accepts it, or all of several.

    The schema is a type that pydantic takes (a model, a dataclass, a ``TypedDict``, ``list[int]``, …), a ``TypeAdapter``, a JSON
    Schema, or its text. The ids are dialects, as :func:`dialects` lists them.

    >>> import polywire as pw
    >>> fitted = pw.fit({"type": "object", "properties": {"city": {"type": "string"}}}, "openai-strict")
    >>> fitted.strict, fitted.schema["required"], fitted.changes[0].effect
    (True, ['city'], 'same')
    """
    described = describe(schema)
    key = (ids, tuple(options.items()) if options else ())
    known = described.fits.get(key) if described.adapter is not None else None
    if known is None:
        known = native.fit(described.schema, _ids(ids), dict(options) if options else None)
        if described.adapter is not None:
            described.fits[key] = known
    return Fitted(known, described)


def check(
    schema: SchemaLike[Any] | Sequence[Any],
    *ids: str,
    ignored: bool = False,
    options: FitOptions | None = None,
) -> list[Violation]:
    """Lists what a provider refuses of a schema or may not follow; with ``ignored=True`` also what it ignores.

    >>> import polywire as pw
    >>> [(found.code, found.at) for found in pw.check({"type": "object", "properties": {"n": {"minimum": 1}}}, "openai-strict")][:1]
    [('OAI-STRICT-02', '')]
    """
    return native.check(describe(schema).schema, _ids(ids), dict(options) if options else None, ignored)


@dataclass
class Call:
    """A call of a tool: its name and its arguments."""

    name: str
    """The name of the tool."""
    arguments: Any
    """The arguments."""


class FittedTools:
    """A tool list in the shape of a provider, and the way back of calls."""

    def __init__(self, inner: native.NativeTools) -> None:
        self._inner = inner

    @property
    def tools(self) -> Any:
        """The list in the shape of the target, ready to be sent."""
        return self._inner.tools

    @property
    def strict(self) -> bool:
        """Whether every tool has the strict flag."""
        return self._inner.strict

    @property
    def changes(self) -> list[Change]:
        """The changes of the list and of every tool."""
        return self._inner.changes

    @property
    def names(self) -> dict[str, str]:
        """The name for the model of every tool of yours."""
        return dict(self._inner.names)

    def schema(self, name: str) -> tuple[dict[str, Any], bool] | None:
        """The fitted schema of one of your tools, and whether it is strict."""
        return self._inner.schema(name)

    def decode(self, name: str, arguments: object) -> Call:
        """A call by the model in your name and schema. Arguments may be JSON text; its mistakes are repaired."""
        return Call(*self._inner.decode(name, arguments))

    def encode(self, name: str, arguments: object) -> Call:
        """A call in your name and schema as the model would have made it."""
        return Call(*self._inner.encode(name, arguments))

    def __repr__(self) -> str:
        return f"FittedTools({list(self.names)}, strict={self.strict})"


def fit_tools(
    tools: Sequence[Mapping[str, Any]] | Mapping[str, Any], *ids: str, options: FitOptions | None = None
) -> FittedTools:
    """Fits a tool list of OpenAI, Anthropic, Gemini, Bedrock or MCP. The result has the shape of the target.

    >>> import polywire as pw
    >>> tools = [{"name": "files.read", "description": "Reads", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}}}]
    >>> fitted = pw.fit_tools(tools, "openai-strict")
    >>> fitted.names
    {'files.read': 'files_read'}
    >>> fitted.decode("files_read", '{"path": null}')
    Call(name='files.read', arguments={})
    """
    return FittedTools(native.fit_tools(tools, _ids(ids), dict(options) if options else None))


def check_tools(
    tools: Sequence[Mapping[str, Any]] | Mapping[str, Any], *ids: str, ignored: bool = False
) -> list[Violation]:
    """Lists what a provider refuses of a tool list or may not follow; with ``ignored=True`` also what it ignores."""
    return native.check_tools(tools, _ids(ids), ignored)
