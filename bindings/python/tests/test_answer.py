"""Values of texts, whole and still arriving."""

from __future__ import annotations

import json

import polywire as pw
import pytest
from pydantic import BaseModel


class Order(BaseModel):
    city: str
    days: int
    tags: list[str] = []


def test_a_broken_text_gives_a_typed_value() -> None:
    answer = pw.parse("Sure:\n```json\n{city: 'Bern', \"days\": \"3\",}\n```", Order)
    assert answer.valid and answer.value == {"city": "Bern", "days": 3}
    assert answer.typed == Order(city="Bern", days=3)
    assert {"fence", "comma"} <= {repair.kind for repair in answer.repairs}
    assert all(repair.meaning for repair in answer.repairs)


def test_an_invalid_value_has_errors() -> None:
    answer = pw.parse('{"city": "Bern", "days": "many"}', Order)
    assert not answer.valid and answer.errors[0].at == "/days" and answer.value["days"] == "many"
    with pytest.raises(pw.AnswerError) as caught:
        _ = answer.typed
    assert caught.value.at == "/days" and caught.value.details["errors"]


def test_a_text_without_a_value() -> None:
    answer = pw.parse("I cannot say.", Order, options={"bare_text": False})
    assert not answer.valid and not answer.has_value and answer.value is None
    with pytest.raises(pw.AnswerError) as caught:
        _ = answer.typed
    assert caught.value.code == "no-value"


def test_null_is_a_value() -> None:
    assert pw.parse("null").has_value


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_pieces_do_not_matter(size: int) -> None:
    text = json.dumps({"city": "Bärn 🐻", "days": 3, "tags": ["a", "b"] * 50}, ensure_ascii=False)
    parser = pw.PartialParser(Order)
    for start in range(0, len(text), size):
        parser.push(text[start : start + size])
    assert parser.value == json.loads(text) and parser.text == text
    assert parser.finish().typed == Order.model_validate_json(text)


def test_the_value_so_far() -> None:
    parser = pw.PartialParser()
    assert parser.push("{\"city\": \"Be") == {"city": "Be"}
    assert parser.complete_value == {} and not parser.is_complete("/city") and not parser.is_done
    assert parser.push("rn\", \"days\": 3, \"tags\": []}") == {"city": "Bern", "days": 3, "tags": []}
    assert parser.is_complete("/city") and parser.finish().valid


def test_a_value_like_json_is_the_same_as_by_json() -> None:
    text = json.dumps({"a": [1, -1, 2**63, 1.5, 1e300, True, None, "é\n\u0000", {}, []], "b": {"a": {"b": 0}}})
    assert pw.parse(text).value == json.loads(text) and pw.parse(text).repairs == []
