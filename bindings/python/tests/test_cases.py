"""The cases of `corpus/`, with results equal to Rust's: schemas, changes, values, repairs, faults, byte for byte as JSON text.

`POLYWIRE_CASES` names the file that `cargo run -p polywire-bindings --example cases -- corpus` writes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import polywire as pw
import pytest
from polywire import _polywire as native

CASES = os.environ.get("POLYWIRE_CASES")
pytestmark = pytest.mark.skipif(CASES is None, reason="POLYWIRE_CASES names no file")


def cases(kind: str) -> list[dict[str, Any]]:
    with open(CASES or os.devnull, encoding="utf-8") as file:
        read = [json.loads(line) for line in file]
    return [case for case in read if case["kind"] == kind]


def text(value: object) -> str:
    return native.to_json(value)


def records(listed: Sequence[Any]) -> str:
    return text([record.to_dict() for record in listed])


def or_none(convert: Any, value: object) -> Any:
    try:
        return convert(value)
    except pw.ConversionError:
        return None


def test_schemas() -> None:
    listed = cases("schema")
    assert len(listed) > 100
    for case in listed:
        options: Any = {"slot": case["slot"]}
        fitted = pw.fit(case["schema"], case["dialect"], options=options)
        assert fitted.schema_text() == text(case["fitted"]), case
        assert text(fitted.schema) == text(case["fitted"]), case
        assert fitted.strict == case["strict"] and records(fitted.changes) == text(case["changes"]), case
        assert records(pw.check(case["schema"], case["dialect"], options=options)) == text(case["violations"]), case
        for value in case["values"]:
            encoded = or_none(fitted.encode, value["value"])
            assert text(encoded) == text(value["encoded"]), (case, value)
            if encoded is not None:
                assert text(or_none(fitted.decode, encoded)) == text(value["decoded"]), (case, value)


def test_answers() -> None:
    listed = cases("answer")
    assert len(listed) > 100
    for case in listed:
        answer = pw.parse(case["text"], case["schema"], options={"partial": case["partial"]})
        assert (answer.valid, answer.truncated, answer.has_value) == (case["valid"], case["truncated"], case["has_value"]), case
        assert text(answer.value) == text(case["value"]), case
        assert records(answer.repairs) == text(case["repairs"]) and records(answer.errors) == text(case["errors"]), case
