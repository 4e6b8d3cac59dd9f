"""Functions as tools: their schemas, and their calls from the runtime's threads."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, cast

from . import _polywire as native
from ._errors import InputError

__all__ = ["Tool"]

NativeTool = tuple[str, str, dict[str, Any], Callable[[Any, native.Reply], None]]


class Tool:
    """A function that a model may call.

    The schema of the arguments comes from the signature, and the description from the docstring, unless they are given. With a schema
    of your own the function is called with the arguments as keywords.

    >>> import polywire as pw
    >>> def population(city: str) -> int:
    ...     "How many people live in a city"
    ...     return 146_000
    >>> tool = pw.Tool(population)
    >>> tool.name, tool.description, tool.schema["required"]
    ('population', 'How many people live in a city', ['city'])
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> None:
        self.function = function
        """The function."""
        self.name: str = name or getattr(function, "__name__", "tool")
        """The name for the model."""
        self.description: str = description if description is not None else inspect.getdoc(function) or ""
        """The description for the model."""
        self._adapter: Any = None
        if schema is None:
            self._adapter = _adapter(function)
            schema = cast("dict[str, Any]", self._adapter.json_schema())
        self.schema: dict[str, Any] = dict(schema)
        """The JSON Schema of the arguments."""

    def call(self, arguments: dict[str, Any]) -> Any:
        """Calls the function with arguments as JSON data, converted to the types of its signature."""
        if self._adapter is None:
            return self.function(**arguments)
        return self._adapter.validate_json(native.to_json(arguments))

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"


def _adapter(function: Callable[..., Any]) -> Any:
    try:
        from pydantic import TypeAdapter
    except ImportError:
        message = "functions as tools need pydantic: `pip install polywire[pydantic]`; or give `Tool(…, schema=…)`"
        raise InputError(message, "no-pydantic") from None
    return TypeAdapter(function)


def native_tools(
    tools: Sequence[Tool | Callable[..., Any]], loop: asyncio.AbstractEventLoop | None
) -> list[NativeTool]:
    """The tools for the native client. Coroutines run in the loop, or without one in a loop of their own."""
    context = contextvars.copy_context()
    made: list[NativeTool] = []
    for given in tools:
        tool = given if isinstance(given, Tool) else Tool(given)
        made.append((tool.name, tool.description, tool.schema, _starter(tool, loop, context)))
    return made


def _starter(
    tool: Tool, loop: asyncio.AbstractEventLoop | None, context: contextvars.Context
) -> Callable[[Any, native.Reply], None]:
    def start(arguments: Any, reply: native.Reply) -> None:
        # A context can be entered by one thread at a time.
        own = context.copy()
        try:
            result = own.run(tool.call, arguments)
            if not inspect.iscoroutine(result):
                reply.resolve(_data(result))
            elif loop is None:
                reply.resolve(_data(own.run(asyncio.run, cast("Coroutine[Any, Any, Any]", result))))
            else:
                _schedule(loop, own, cast("Coroutine[Any, Any, Any]", result), reply)
        except BaseException as error:
            # It is an answer for the model, whatever it is: this thread is not the caller's.
            reply.reject(_message(error))

    return start


def _schedule(
    loop: asyncio.AbstractEventLoop,
    context: contextvars.Context,
    coroutine: Coroutine[Any, Any, Any],
    reply: native.Reply,
) -> None:
    def begin() -> None:
        task = context.run(loop.create_task, coroutine)

        def done(task: asyncio.Task[Any]) -> None:
            if task.cancelled():
                reply.reject("the call was cancelled")
                return
            error = task.exception()
            if error is not None:
                reply.reject(_message(error))
                return
            try:
                reply.resolve(_data(task.result()))
            except Exception as error:
                reply.reject(_message(error))

        task.add_done_callback(done)
        reply.on_cancel(lambda: _in_loop(loop, task.cancel))

    loop.call_soon_threadsafe(begin)


def _in_loop(loop: asyncio.AbstractEventLoop, call: Callable[[], object]) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(call)


def _message(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _data(result: object) -> object:
    """The result as JSON data."""
    if result is None or isinstance(result, str | int | float | bool):
        return result
    try:
        from pydantic_core import to_jsonable_python
    except ImportError:
        return result
    return to_jsonable_python(result)
