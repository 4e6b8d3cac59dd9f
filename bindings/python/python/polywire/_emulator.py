"""The emulator of providers, in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _polywire as native

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["Emulator"]


class Emulator:
    """Speaks the protocol of every provider on loopback, judges requests by its rules, and needs no key.

    Use it in a ``with`` statement, or as the pytest fixture ``polywire_emulator``.

    >>> import polywire as pw
    >>> with pw.Emulator() as emulator:
    ...     emulator.base_url("openai").startswith("http://127.0.0.1:")
    True
    """

    def __init__(self, port: int = 0) -> None:
        self._inner = native.NativeEmulator(port)

    @property
    def url(self) -> str:
        """The address, without a slash at its end."""
        return self._inner.url

    def base_url(self, provider: str) -> str:
        """The base URL that replaces a provider's own, as its SDKs take it."""
        return self._inner.base_url(provider)

    def stop(self) -> None:
        """Stops it."""
        self._inner.stop()

    def __enter__(self) -> Emulator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"Emulator({self.url!r})"
