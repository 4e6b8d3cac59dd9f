// The cases of `corpus/` have the same results as in Rust. `POLYWIRE_CASES` is the dump of `bindings/shared/examples/cases.rs`.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { check, fit, parse } from "polywire";

const lines = readFileSync(process.env.POLYWIRE_CASES, "utf8").trim().split("\n");
const cases = lines.map((line) => JSON.parse(line));

/** The text of the value: order counts. */
const text = (value) => JSON.stringify(value ?? null);
const attempt = (run) => {
  try {
    return run();
  } catch (error) {
    assert.equal(error.name, "ConversionError");
    return null;
  }
};

test("schemas are checked and fitted as in Rust, and values converted", () => {
  const schemas = cases.filter(({ kind }) => kind === "schema");
  assert.ok(schemas.length > 800, `${schemas.length}`);
  for (const { dialect, slot, schema, violations, fitted, strict, changes, values } of schemas) {
    const place = `${dialect}: ${text(schema)}`;
    assert.equal(text(check(schema, dialect, { slot })), text(violations), place);
    const own = fit(schema, dialect, { slot });
    assert.equal(text(own.schema), text(fitted), place);
    assert.equal(own.strict, strict, place);
    assert.equal(text(own.changes), text(changes), place);
    for (const { value, encoded, decoded } of values) {
      const wire = attempt(() => own.encode(value));
      assert.equal(text(wire), text(encoded), place);
      assert.equal(text(wire === null ? null : attempt(() => own.decode(wire))), text(decoded), place);
    }
  }
});

test("texts are read as in Rust", () => {
  const answers = cases.filter(({ kind }) => kind === "answer");
  assert.ok(answers.length > 180, `${answers.length}`);
  for (const { text: source, schema, partial, valid, truncated, has_value, value, repairs, errors } of answers) {
    const read = parse(source, schema ?? undefined, { partial });
    assert.equal(read.value !== undefined, has_value, source);
    assert.equal(text(read.value), text(value), source);
    assert.deepEqual(
      { valid: read.valid, truncated: read.truncated, repairs: read.repairs, errors: read.errors },
      { valid, truncated, repairs, errors },
      source,
    );
  }
});
