"""The pytest fixture ``polywire_emulator``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ._emulator import Emulator

__all__ = ["polywire_emulator"]


@pytest.fixture(scope="session")
def polywire_emulator() -> Iterator[Emulator]:
    """A running emulator of all providers, for the whole session: it keeps nothing between requests."""
    with Emulator() as emulator:
        yield emulator
