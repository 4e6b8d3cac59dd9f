"""Schemas fitted and checked, and values on their way there and back."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import polywire as pw
import pytest
from pydantic import BaseModel, TypeAdapter
from typing_extensions import TypedDict

from shapes import OWN, Dog, Registration

SCHEMA: dict[str, Any] = Registration.model_json_schema()


@dataclasses.dataclass
class Point:
    x: float
    labels: dict[str, int] = dataclasses.field(default_factory=dict)


class Named(TypedDict):
    name: str


class Tree(BaseModel):
    value: int
    children: list[Tree] = []


def test_a_model_goes_there_and_comes_back() -> None:
    fitted = pw.fit(Registration, "openai-strict")
    value = Registration.model_validate(OWN)
    assert fitted.strict and pw.check(fitted.schema, "openai-strict") == []
    encoded = fitted.encode(value)
    assert isinstance(encoded["labels"], list)
    loaded = fitted.load(encoded)
    assert loaded == value and isinstance(loaded.pet, Dog) and isinstance(loaded.place, tuple)


@pytest.mark.parametrize("given", [SCHEMA, json.dumps(SCHEMA), TypeAdapter(Registration), Registration])
def test_every_way_to_give_a_schema_gives_the_same(given: Any) -> None:
    assert pw.fit(given, "openai-strict").schema == pw.fit(SCHEMA, "openai-strict").schema


def test_dataclasses_typed_dicts_and_other_types() -> None:
    point = pw.fit(Point, "gemini")
    assert point.load(point.encode(Point(1.5, {"a": 1}))) == Point(1.5, {"a": 1})
    named = pw.fit(Named, "openai-strict")
    assert named.load(named.encode({"name": "Ada"})) == {"name": "Ada"}
    numbers = pw.fit(list[int], "openai-strict")
    assert numbers.load(numbers.encode([1, 2])) == [1, 2]
    tree = pw.fit(Tree, "openai-strict")
    deep = Tree(value=1, children=[Tree(value=2)])
    assert tree.load(tree.encode(deep)) == deep


def test_a_meet_is_accepted_by_every_member() -> None:
    fitted = pw.fit(SCHEMA, "openai", "gemini-openapi")
    assert fitted.schema == pw.fit(SCHEMA, "openai,gemini-openapi").schema
    assert pw.check(fitted.schema, "openai") == [] == pw.check(fitted.schema, "gemini-openapi")


def test_changes_are_records() -> None:
    changes = pw.fit(SCHEMA, "openai-strict").changes
    change = next(change for change in changes if change.at == "/properties/labels")
    assert change.effect in ("same", "wider", "narrower", "note") and change.code and change.detail and change.action
    assert change.to_dict()["at"] == "/properties/labels" and not change.is_loss
    assert change == next(one for one in pw.fit(SCHEMA, "openai-strict").changes if one == change)
    assert "code=" in repr(change) and hash(change) == hash(change)


def test_check_omits_what_is_only_ignored_unless_asked() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}}
    every = pw.check(schema, "gemini-openapi", ignored=True) + pw.check(schema, "anthropic", ignored=True)
    fewer = pw.check(schema, "gemini-openapi") + pw.check(schema, "anthropic")
    assert {found.severity for found in fewer} <= {"rejected", "risk"} and len(every) >= len(fewer)
    found = pw.check(SCHEMA, "openai-strict")
    assert found and all(one.says and one.source and one.confidence for one in found)


def test_options_are_checked() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    assert not pw.fit(schema, "openai-strict", options={"strict": "off"}).strict
    with pytest.raises(pw.InputError, match="stric") as caught:
        pw.fit(schema, "openai-strict", options={"stric": "off"})  # type: ignore[typeddict-unknown-key]  # pyright: ignore
    assert caught.value.code == "unknown-option"


def test_errors_have_a_code_and_a_place() -> None:
    with pytest.raises(pw.UnknownNameError) as unknown:
        pw.fit(SCHEMA, "opneai")
    assert (unknown.value.code, unknown.value.at) == ("unknown-dialect", "opneai")
    assert isinstance(unknown.value, LookupError)
    with pytest.raises(pw.InputError) as nan:
        pw.fit({"type": "object", "default": {"x/y": [1, float("nan")]}}, "openai")
    assert (nan.value.code, nan.value.at) == ("number", "/default/x~1y/1")
    with pytest.raises(pw.InputError) as large:
        pw.parse("1").value and pw.fit({"const": 2**64}, "openai")
    assert large.value.at == "/const"
    with pytest.raises(pw.SchemaError) as text:
        pw.fit("{", "openai")
    assert text.value.code == "not-json"
    with pytest.raises(pw.ConversionError) as lens:
        pw.fit(SCHEMA, "openai-strict").decode({"labels": 3})
    assert lens.value.at == "/labels"
    with pytest.raises(pw.AnswerError) as invalid:
        pw.fit(Registration, "openai-strict").load({"labels": [], "pet": {"kind": "cow"}, "place": [1, 2], "note": None})
    assert invalid.value.code == "invalid" and invalid.value.at.startswith("/pet")


def test_deep_objects_are_an_error_and_no_crash() -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = {"a": deep}
    with pytest.raises(pw.PolywireError) as caught:
        pw.fit(deep, "openai")
    assert caught.value.code == "too-deep"
    while deep:
        deep = deep.pop("a")


def test_errors_survive_pickling() -> None:
    import pickle

    with pytest.raises(pw.PolywireError) as caught:
        pw.fit(SCHEMA, "opneai")
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is type(caught.value) and again.code == caught.value.code and str(again) == str(caught.value)


def test_tool_lists_of_every_shape() -> None:
    function = {"name": "register", "description": "Registers", "parameters": SCHEMA}
    shapes: list[Any] = [
        [{"type": "function", "function": function}],
        [{"type": "function", **function}],
        [{"name": "register", "description": "Registers", "input_schema": SCHEMA}],
        [{"functionDeclarations": [function]}],
        {"tools": [{"name": "register", "description": "Registers", "inputSchema": SCHEMA}]},
    ]
    for tools in shapes:
        fitted = pw.fit_tools(tools, "anthropic-strict")
        assert fitted.tools[0]["strict"] is True and fitted.tools[0]["input_schema"]["additionalProperties"] is False
        call = fitted.encode("register", OWN)
        assert fitted.decode(call.name, call.arguments).arguments == OWN
        assert fitted.decode(call.name, json.dumps(call.arguments)[:-1] + ",}").arguments == OWN
    with pytest.raises(pw.InputError):
        pw.fit_tools({"no": "tools"}, "openai")
    with pytest.raises(pw.UnknownNameError):
        pw.fit_tools(shapes[0], "openai").decode("other", {})
