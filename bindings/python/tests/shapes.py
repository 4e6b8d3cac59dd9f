"""A tool with a map, an optional, a discriminated union and a tuple: legal for no strict dialect as it is."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    tricks: list[str]


Pet = Annotated[Cat | Dog, Field(discriminator="kind")]


class Registration(BaseModel):
    labels: dict[str, int]
    pet: Pet
    place: tuple[float, float]
    note: str | None = None


OWN = {"labels": {"red": 1, "blue": 2}, "pet": {"kind": "dog", "tricks": ["sit"]}, "place": [46.9, 7.4]}
"""Arguments in the tool's own shape."""


def seen(labels: dict[str, int], pet: Cat | Dog, place: tuple[float, float], note: str | None) -> str:
    """What a tool got, by the types of its arguments."""
    assert labels == {"red": 1, "blue": 2}, labels
    assert isinstance(pet, Dog) and pet.tricks == ["sit"], pet
    assert place == (46.9, 7.4) and isinstance(place, tuple), place
    assert note is None, note
    return "registered"
