"""Instructor: ``polywire.integrations.instructor.install(client, "openai-strict")``.

The hooks fit the tools and the output schema of every request in place, and bring the answer back before Instructor validates it.
They are for clients of OpenAI Chat Completions, synchronous and asynchronous, in the modes of tools and of JSON schemas.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, TypeVar

from ._core import Target
from ._openai import ChatContract

__all__ = ["PolywireHooks", "install"]

C = TypeVar("C")


class PolywireHooks:
    """The two hooks of a client. They share the request through the context of the task or thread."""

    def __init__(self, to: str) -> None:
        self._target = Target(to)
        self._open: ContextVar[ChatContract | None] = ContextVar("polywire_contract", default=None)

    def kwargs(self, *args: Any, **kwargs: Any) -> None:
        """Fits a request, in place: what a hook returns is not used."""
        before = self._open.get()
        if before is not None and _is_sent(before, kwargs):
            # A retry sends what was fitted before.
            return
        contract = ChatContract(self._target, kwargs)
        for name, value in contract.changed.items():
            _replace(kwargs[name], value)
        self._open.set(contract)

    def response(self, response: Any) -> None:
        """Brings an answer back, in place."""
        contract = self._open.get()
        if contract is not None:
            contract.receive(response)


def _is_sent(contract: ChatContract, kwargs: dict[str, Any]) -> bool:
    names = ("tools", "response_format")
    return all(kwargs.get(name) == contract.changed.get(name) for name in names)


def _replace(old: Any, new: Any) -> None:
    """Makes a list or a dict equal to another, in place."""
    if isinstance(old, list):
        old[:] = new
    elif isinstance(old, dict):
        old.clear()
        old.update(new)


def install(client: C, to: str) -> C:
    """Adds the hooks to a client of Instructor, and returns it."""
    hooks = PolywireHooks(to)
    made: Any = client
    made.on("completion:kwargs", hooks.kwargs)
    made.on("completion:response", hooks.response)
    return client
