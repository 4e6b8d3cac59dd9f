"""Types and schemas: what a caller may give where a schema is expected."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, Union, cast

from . import _polywire as native
from ._errors import AnswerError, InputError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["Described", "SchemaLike", "describe"]

T = TypeVar("T")

SchemaLike: TypeAlias = Union["type[T]", "TypeAdapter[T]", Mapping[str, Any], str]
"""A type that pydantic takes, a ``TypeAdapter``, a JSON Schema as a ``dict``, or as JSON text."""


class Described(Generic[T]):
    """A schema, and what makes values of the caller's type from values of the schema."""

    def __init__(self, schema: dict[str, Any], adapter: TypeAdapter[T] | None) -> None:
        self.schema = schema
        self.adapter = adapter
        self.name: str | None = None
        self.fits: dict[Any, Any] = {}
        self._compiled: native.NativeSchema | None = None

    @property
    def compiled(self) -> native.NativeSchema:
        """The schema, compiled for reading values."""
        if self._compiled is None:
            self._compiled = native.NativeSchema(self.schema)
        return self._compiled

    def load_json(self, text: bytes) -> T:
        """Makes a value of the type from JSON text of a value of the schema."""
        if self.adapter is None:
            import json

            value = json.loads(text)
            native.accept(value, self.schema)
            return cast("T", value)
        from pydantic import ValidationError

        try:
            return self.adapter.validate_json(text)
        except ValidationError as error:
            errors = error.errors(include_url=False, include_context=False, include_input=False)
            at = "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in errors[0]["loc"])
            raise AnswerError(str(error), "invalid", at, {"errors": [dict(one) for one in errors]}) from error

    def dump(self, value: object) -> object:
        """The value as JSON data. Instances of the type become ``dict`` and ``list``."""
        if self.adapter is None:
            return value
        return self.adapter.dump_python(cast("T", value), mode="json", by_alias=True, warnings="none")


def invalid(faults: list[native.Fault]) -> AnswerError:
    """The error of a value that a schema does not accept."""
    first = faults[0]
    message = f"the value is not valid: {first.detail}" + (f" (at `{first.at}`)" if first.at else "")
    return AnswerError(message, "invalid", first.at, {"errors": [fault.to_dict() for fault in faults]})


_classes: weakref.WeakKeyDictionary[Any, Described[Any]] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def describe(given: SchemaLike[T]) -> Described[T]:
    """The schema of what a caller gave."""
    if isinstance(given, Mapping):
        return Described(dict(given) if not isinstance(given, dict) else given, None)
    if isinstance(given, str):
        schema = native.read_schema(given)
        if not isinstance(schema, dict):
            raise InputError("a schema as JSON text must be an object", "not-a-schema")
        return Described(cast("dict[str, Any]", schema), None)
    try:
        with _lock:
            known = _classes.get(given)
    except TypeError:
        # It has no weak references, as `list[int]` in some versions.
        return _described(given)
    if known is None:
        known = _described(given)
        with _lock:
            _classes[given] = known
    return cast("Described[T]", known)


def _described(given: object) -> Described[Any]:
    adapter = _adapter(given)
    described: Described[Any] = Described(adapter.json_schema(by_alias=True), adapter)
    described.name = getattr(given, "__name__", None)
    return described


def _adapter(given: object) -> TypeAdapter[Any]:
    try:
        from pydantic import TypeAdapter
    except ImportError:
        message = "types need pydantic: `pip install polywire[pydantic]`; or give a JSON Schema"
        raise InputError(message, "no-pydantic") from None
    if isinstance(given, TypeAdapter):
        return cast("TypeAdapter[Any]", given)
    from pydantic import PydanticSchemaGenerationError, PydanticUserError

    try:
        make = cast("Callable[[object], TypeAdapter[Any]]", TypeAdapter)
        return make(given)
    except (PydanticSchemaGenerationError, PydanticUserError) as error:
        raise InputError(f"pydantic does not take {given!r}: {error}", "not-a-type") from error
