"""What is known of providers: models, dialects, and how the emulator misbehaves."""

from __future__ import annotations

from typing import Any

from . import _polywire as native

__all__ = ["dialects", "misbehaviours", "models"]


def models(provider: str | None = None) -> list[dict[str, Any]]:
    """The rows of the models of the catalog, or of one provider.

    >>> import polywire as pw
    >>> "claude-sonnet-4-5" in [row["id"] for row in pw.models("anthropic")]
    True
    """
    return native.models(provider)


def dialects() -> list[dict[str, Any]]:
    """The dialects: what providers accept as a schema.

    >>> import polywire as pw
    >>> "openai-strict" in [row["id"] for row in pw.dialects()]
    True
    """
    return native.dialects()


def misbehaviours() -> list[dict[str, str]]:
    """What goes wrong on demand in the emulator: ``emulator/openai+fenced``.

    >>> import polywire as pw
    >>> "fenced" in [row["name"] for row in pw.misbehaviours()]
    True
    """
    return native.misbehaviours()
