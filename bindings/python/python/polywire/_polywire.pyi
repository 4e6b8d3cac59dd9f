"""The native module. Its names that start with `Native` are wrapped by the package."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, final

__all__ = [
    "VERSION",
    "Change",
    "Fault",
    "NativeAnswer",
    "NativeClient",
    "NativeEmulator",
    "NativeFitted",
    "NativeParser",
    "NativeSchema",
    "NativeStream",
    "NativeTools",
    "NativeTranslation",
    "NativeTranslationStream",
    "Operation",
    "Repair",
    "Reply",
    "Violation",
    "accept",
    "check",
    "check_tools",
    "dialects",
    "fit",
    "fit_tools",
    "misbehaviours",
    "model_dialects",
    "models",
    "parse",
    "plan",
    "read_schema",
    "run_command",
    "shutdown",
    "to_json",
]

VERSION: str

@final
class Change:
    """One change of a schema, a request or an answer, or one loss."""

    __match_args__: ClassVar[tuple[str, ...]]
    @property
    def code(self) -> str:
        """The rule or the reason, such as `OAI-STRICT-07`."""
    @property
    def at(self) -> str:
        """The JSON Pointer of the place."""
    @property
    def keyword(self) -> str:
        """The keyword or field, or an empty text."""
    @property
    def action(self) -> str:
        """What was done, such as `made-nullable`."""
    @property
    def effect(self) -> str:
        """`same`, `wider`, `narrower` or `note`."""
    @property
    def detail(self) -> str:
        """What happened, in words."""
    @property
    def kind(self) -> str | None:
        """The part of a request: `model`, `tools`, `output`, `history`, `parameters`, or `None`."""
    @property
    def is_loss(self) -> bool:
        """Whether something is lost: the effect is `wider` or `narrower`."""
    def to_dict(self) -> dict[str, Any]:
        """The record as a `dict`, for JSON."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...

@final
class Violation:
    """What a provider refuses of a schema, ignores, or may not follow."""

    __match_args__: ClassVar[tuple[str, ...]]
    @property
    def code(self) -> str:
        """The code of the rule."""
    @property
    def at(self) -> str:
        """The JSON Pointer of the place."""
    @property
    def keyword(self) -> str:
        """The keyword."""
    @property
    def says(self) -> str:
        """The error in the provider's words."""
    @property
    def severity(self) -> str:
        """`rejected`, `risk` or `ignored`."""
    @property
    def confidence(self) -> str:
        """How sure the rule is: `measured`, `observed`, `documented` or `inferred`."""
    @property
    def source(self) -> str:
        """Where the rule comes from."""
    def to_dict(self) -> dict[str, Any]:
        """The record as a `dict`, for JSON."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...

@final
class Repair:
    """One liberty that was taken to get from a text to its value."""

    __match_args__: ClassVar[tuple[str, ...]]
    @property
    def kind(self) -> str:
        """What was done, such as `fence`."""
    @property
    def at(self) -> str:
        """The JSON Pointer of the place in the value."""
    @property
    def span(self) -> tuple[int, int] | None:
        """The byte range in the text, for repairs of the text."""
    @property
    def meaning(self) -> str:
        """What it means, in words."""
    def to_dict(self) -> dict[str, Any]:
        """The record as a `dict`, for JSON."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...

@final
class Fault:
    """Why a schema does not accept a value, at one place."""

    __match_args__: ClassVar[tuple[str, ...]]
    @property
    def at(self) -> str:
        """The JSON Pointer of the place in the value."""
    @property
    def keyword(self) -> str:
        """The keyword of the schema."""
    @property
    def expected(self) -> Any:
        """What the schema expects."""
    @property
    def got(self) -> str:
        """What the value has."""
    @property
    def detail(self) -> str:
        """The reason, in words."""
    def to_dict(self) -> dict[str, Any]:
        """The record as a `dict`, for JSON."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...

@final
class NativeFitted:
    """A schema fitted to a dialect, and its conversions."""

    @property
    def schema(self) -> dict[str, Any]: ...
    @property
    def strict(self) -> bool: ...
    @property
    def changes(self) -> list[Change]: ...
    @property
    def is_identity(self) -> bool: ...
    def schema_text(self) -> str: ...
    def encode(self, value: object) -> Any: ...
    def decode(self, value: object) -> Any: ...
    def decode_json(self, value: object) -> bytes: ...

@final
class NativeTools:
    """A fitted tool list, and the way back of calls."""

    @property
    def tools(self) -> Any: ...
    @property
    def strict(self) -> bool: ...
    @property
    def changes(self) -> list[Change]: ...
    @property
    def names(self) -> list[tuple[str, str]]: ...
    def schema(self, name: str) -> tuple[dict[str, Any], bool] | None: ...
    def decode(self, name: str, arguments: object) -> tuple[str, Any]: ...
    def encode(self, name: str, arguments: object) -> tuple[str, Any]: ...

@final
class NativeSchema:
    """A compiled schema of values."""

    def __new__(cls, schema: Mapping[str, Any]) -> NativeSchema: ...

@final
class NativeAnswer:
    """The value of a text, converted when it is asked for."""

    @property
    def value(self) -> Any: ...
    @property
    def has_value(self) -> bool: ...
    @property
    def valid(self) -> bool: ...
    @property
    def truncated(self) -> bool: ...
    @property
    def repairs(self) -> list[Repair]: ...
    @property
    def errors(self) -> list[Fault]: ...
    @property
    def code(self) -> str: ...
    @property
    def message(self) -> str: ...
    def to_json(self) -> bytes | None: ...

@final
class NativeParser:
    """Reads a text as it arrives."""

    def __new__(cls, schema: NativeSchema | None = None) -> NativeParser: ...
    @property
    def value(self) -> Any: ...
    @property
    def complete_value(self) -> Any: ...
    @property
    def is_done(self) -> bool: ...
    @property
    def text(self) -> str: ...
    def push(self, chunk: str) -> Any: ...
    def is_complete(self, at: str) -> bool: ...
    def finish(self, options: dict[str, Any] | None = None) -> NativeAnswer: ...

@final
class NativeTranslation:
    """A request of one protocol to a model of any other."""

    def __new__(
        cls, body: bytes, source: str, model: str, options: dict[str, Any] | None = None
    ) -> NativeTranslation: ...
    @property
    def method(self) -> str: ...
    @property
    def url(self) -> str: ...
    @property
    def headers(self) -> list[tuple[str, str]]: ...
    @property
    def body(self) -> bytes: ...
    @property
    def changes(self) -> list[Change]: ...
    @property
    def plan(self) -> dict[str, Any]: ...
    @property
    def is_stream(self) -> bool: ...
    @property
    def stream_content_type(self) -> str: ...
    def response(self, body: bytes) -> tuple[bytes, list[Change], dict[str, Any] | None]: ...
    def error(
        self, status: int, headers: list[tuple[str, str]], body: bytes
    ) -> tuple[int, list[tuple[str, str]], bytes]: ...
    def stream(self) -> NativeTranslationStream: ...

@final
class NativeTranslationStream:
    """A streamed answer on its way back."""

    def push(self, data: bytes) -> bytes: ...
    def finish(self) -> tuple[bytes, list[Change], dict[str, Any] | None, Any]: ...

@final
class NativeEmulator:
    """A running emulator."""

    def __new__(cls, port: int) -> NativeEmulator: ...
    @property
    def url(self) -> str: ...
    def base_url(self, provider: str) -> str: ...
    def stop(self) -> None: ...

@final
class Operation:
    """Work that waits for a provider."""

    def cancel(self) -> None: ...
    def result(self) -> Any:
        """The outcome; `wake` was called before."""
    def wait(self) -> Any:
        """Waits for the outcome. An exception of a signal handler cancels the work."""

@final
class NativeClient:
    """The client."""

    def __new__(cls, options: dict[str, Any] | None = None) -> NativeClient: ...
    def ask(
        self,
        asked: object,
        schema: dict[str, Any] | None,
        models: Sequence[str],
        options: dict[str, Any] | None = None,
        wake: Callable[[], None] | None = None,
    ) -> Operation: ...
    def ask_stream(
        self,
        asked: object,
        schema: dict[str, Any] | None,
        models: Sequence[str],
        options: dict[str, Any] | None = None,
        wake: Callable[[], None] | None = None,
    ) -> Operation: ...
    def run(
        self,
        asked: object,
        tools: Sequence[tuple[str, str, dict[str, Any], Callable[[Any, Reply], None]]],
        schema: dict[str, Any] | None,
        models: Sequence[str],
        options: dict[str, Any] | None = None,
        wake: Callable[[], None] | None = None,
    ) -> Operation: ...

@final
class NativeStream:
    """An answer while it arrives. Operations share it; closing it ends the request."""

    def next(self, wake: Callable[[], None] | None = None) -> Operation:
        """The next part, as the value and the number of the attempt, or `None` at the end."""
    def finish(self, wake: Callable[[], None] | None = None) -> Operation: ...
    def close(self) -> None: ...

@final
class Reply:
    """The place for the result of a call."""

    def resolve(self, value: object) -> None: ...
    def reject(self, message: str) -> None: ...
    def on_cancel(self, call: Callable[[], object]) -> None: ...

def fit(schema: Mapping[str, Any], ids: Sequence[str], options: dict[str, Any] | None = None) -> NativeFitted: ...
def check(
    schema: Mapping[str, Any], ids: Sequence[str], options: dict[str, Any] | None = None, ignored: bool = False
) -> list[Violation]: ...
def read_schema(text: str) -> Any:
    """Reads JSON text."""

def to_json(value: object) -> str:
    """The JSON text of a value."""

def accept(value: object, schema: Mapping[str, Any]) -> None:
    """Raises the error of a value that a schema does not accept."""

def fit_tools(
    tools: object, ids: Sequence[str], options: dict[str, Any] | None = None
) -> NativeTools: ...
def check_tools(tools: object, ids: Sequence[str], ignored: bool = False) -> list[Violation]: ...
def parse(text: str, schema: NativeSchema | None = None, options: dict[str, Any] | None = None) -> NativeAnswer: ...
def plan(
    request: object, model: str, source: str | None = None, options: dict[str, Any] | None = None
) -> dict[str, Any]: ...
def models(provider: str | None = None) -> list[dict[str, Any]]: ...
def dialects() -> list[dict[str, Any]]: ...
def model_dialects(model: str) -> dict[str, Any]: ...
def misbehaviours() -> list[dict[str, str]]: ...
def run_command(arguments: Sequence[str]) -> int:
    """Runs the command; the first argument is the name of the program."""

def shutdown() -> None:
    """Ends the runtime; called when the interpreter ends."""
