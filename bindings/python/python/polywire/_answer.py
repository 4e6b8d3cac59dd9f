"""Values of model output, whole or still arriving."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, Literal, TypedDict, TypeVar, overload

from . import _polywire as native
from ._errors import AnswerError, InputError
from ._polywire import Fault, Repair
from ._types import Described, SchemaLike, describe, invalid

__all__ = ["Answer", "ParseOptions", "PartialParser", "parse"]

T = TypeVar("T")


class ParseOptions(TypedDict, total=False):
    """Options of reading a text."""

    partial: bool
    """Reads the text as one that is still arriving."""
    defaults: bool
    """Fills absent properties with the defaults of the schema."""
    several: Literal["first", "last", "all"]
    """Which of several values counts."""
    bare_text: bool
    """Text without JSON is a string."""
    max_depth: int
    """The most nested lists and objects."""
    max_steps: int
    """The most steps of reading and validation together."""


class Answer(Generic[T]):
    """The value of a text, and how it was found."""

    def __init__(self, inner: native.NativeAnswer, described: Described[T] | None) -> None:
        self._inner = inner
        self._described = described

    @property
    def value(self) -> Any:
        """The value as JSON data, valid or not; ``None`` if there is none."""
        return self._inner.value

    @property
    def has_value(self) -> bool:
        """Whether the text has a value; it may be ``null``."""
        return self._inner.has_value

    @property
    def valid(self) -> bool:
        """Whether the schema accepts the value; without a schema, whether there is one."""
        return self._inner.valid

    @property
    def truncated(self) -> bool:
        """Whether the text ends before the value does. Do not act on such a value."""
        return self._inner.truncated

    @property
    def repairs(self) -> list[Repair]:
        """Every liberty that was taken; empty for valid JSON."""
        return self._inner.repairs

    @property
    def errors(self) -> list[Fault]:
        """Why the value is not valid."""
        return self._inner.errors

    @property
    def typed(self) -> T:
        """The value as an instance of your type.

        Raises :class:`AnswerError` if it is not valid.
        """
        if not self.valid:
            if self.errors:
                raise invalid(self.errors)
            raise AnswerError(self._inner.message, self._inner.code)
        if self._described is None:
            raise InputError("`typed` needs the schema or type that `parse` takes", "no-schema")
        return self._described.load_json(self._inner.to_json() or b"null")

    def __repr__(self) -> str:
        return f"Answer(valid={self.valid}, repairs={[repair.kind for repair in self.repairs]}, errors={self.errors})"


def _options(options: ParseOptions | None) -> dict[str, Any] | None:
    return dict(options) if options else None


@overload
def parse(text: str, schema: type[T], *, options: ParseOptions | None = None) -> Answer[T]: ...
@overload
def parse(
    text: str, schema: Mapping[str, Any] | str | None = None, *, options: ParseOptions | None = None
) -> Answer[Any]: ...
@overload
def parse(text: str, schema: SchemaLike[T], *, options: ParseOptions | None = None) -> Answer[T]: ...
def parse(text: str, schema: Any = None, *, options: ParseOptions | None = None) -> Answer[Any]:
    """Extracts the JSON value of model output, repairs it, coerces it to a schema and validates it.

    >>> import polywire as pw
    >>> schema = {"type": "object", "properties": {"days": {"type": "integer"}}, "required": ["days"]}
    >>> answer = pw.parse('Sure! {days: "3",}', schema)
    >>> answer.value, answer.valid
    ({'days': 3}, True)
    """
    if schema is None:
        return Answer(native.parse(text, None, _options(options)), None)
    described = describe(schema)
    return Answer(native.parse(text, described.compiled, _options(options)), described)


class PartialParser(Generic[T]):
    """Reads a text as it arrives. Every byte is read once, and all partial values together cost what the text costs.

    >>> import polywire as pw
    >>> parser = pw.PartialParser()
    >>> parser.push('{"city": "Be')
    {'city': 'Be'}
    >>> parser.push('rn"}')
    {'city': 'Bern'}
    """

    @overload
    def __init__(self: PartialParser[Any], schema: Mapping[str, Any] | str | None = None) -> None: ...
    @overload
    def __init__(self, schema: SchemaLike[T]) -> None: ...
    def __init__(self, schema: Any = None) -> None:
        self._described: Described[Any] | None = None if schema is None else describe(schema)
        self._inner = native.NativeParser(None if self._described is None else self._described.compiled)

    def push(self, chunk: str) -> Any:
        """Takes the next piece, and gives the value so far.

        In a long text the value is renewed when the text has grown by 1/64; :attr:`value` is always current.
        """
        return self._inner.push(chunk)

    @property
    def value(self) -> Any:
        """The value so far. Each access copies it."""
        return self._inner.value

    @property
    def complete_value(self) -> Any:
        """The value so far, without texts that are not complete. Each access copies it."""
        return self._inner.complete_value

    @property
    def is_done(self) -> bool:
        """Whether the whole value has arrived."""
        return self._inner.is_done

    @property
    def text(self) -> str:
        """The text so far."""
        return self._inner.text

    def is_complete(self, at: str) -> bool:
        """Whether the value at a JSON Pointer is complete."""
        return self._inner.is_complete(at)

    def finish(self, *, options: ParseOptions | None = None) -> Answer[T]:
        """Reads the whole text: repaired, coerced and validated by the schema."""
        return Answer(self._inner.finish(_options(options)), self._described)
