// Schemas of every library: the same JSON Schema, and values of the library's own types.

import assert from "node:assert/strict";
import { test } from "node:test";

import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import { fit, parse, PolywireError } from "polywire";
import * as v from "valibot";
import { z } from "zod";
import { z as z3 } from "zod-3";

/** The same schema in every library: a map, an optional with a default, and a union. */
const libraries = {
  "zod 4": z.object({
    labels: z.record(z.string(), z.number()),
    unit: z.enum(["C", "F"]).default("C"),
    event: z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("rain"), mm: z.number() }),
      z.object({ kind: z.literal("sun") }),
    ]),
  }),
  "zod 3": z3.object({
    labels: z3.record(z3.number()),
    unit: z3.enum(["C", "F"]).default("C"),
    event: z3.discriminatedUnion("kind", [
      z3.object({ kind: z3.literal("rain"), mm: z3.number() }),
      z3.object({ kind: z3.literal("sun") }),
    ]),
  }),
  valibot: v.object({
    labels: v.record(v.string(), v.number()),
    unit: v.optional(v.picklist(["C", "F"]), "C"),
    event: v.variant("kind", [
      v.object({ kind: v.literal("rain"), mm: v.number() }),
      v.object({ kind: v.literal("sun") }),
    ]),
  }),
  arktype: type({
    labels: { "[string]": "number" },
    unit: "'C' | 'F' = 'C'",
    event: type({ kind: "'rain'", mm: "number" }).or({ kind: "'sun'" }),
  }),
};

for (const [name, schema] of Object.entries(libraries)) {
  test(`${name}: values go out legal and come back as its own type`, () => {
    const fitted = fit(schema, "openai-strict");
    assert.equal(fitted.strict, true);
    assert.deepEqual(fitted.schema.required, Object.keys(fitted.schema.properties));
    const value = { labels: { a: 1 }, event: { kind: "rain", mm: 3 } };
    const wire = fitted.encode(value);
    assert.ok(Array.isArray(wire.labels), JSON.stringify(wire));
    assert.deepEqual(fitted.load(wire), { ...value, unit: "C" });
    assert.throws(() => fitted.load({ ...wire, event: { kind: "snow" } }), PolywireError);
    const answer = parse(`Here: ${JSON.stringify(value)}`, schema);
    assert.deepEqual(answer.typed, { ...value, unit: "C" });
  });
}

test("valibot's own Standard JSON Schema is used where the schema has it", () => {
  const fitted = fit(toStandardJsonSchema(v.object({ a: v.string() })), "openai-strict");
  assert.deepEqual(fitted.load({ a: "x" }), { a: "x" });
});

test("transformations run when a value is loaded", () => {
  const schema = z.object({ day: z.string().transform((text) => new Date(text)) });
  const loaded = fit(schema, "openai-strict").load({ day: "2026-01-02" });
  assert.ok(loaded.day instanceof Date);
});

test("what a library refuses beyond its JSON Schema is an error with a place", () => {
  const schema = z.object({ user: z.object({ age: z.number().refine((age) => age % 2 === 0, "must be even") }) });
  assert.throws(
    () => fit(schema, "openai").load({ user: { age: 3 } }),
    (error) => error.name === "AnswerError" && error.code === "invalid" && error.at === "/user/age",
  );
  const answer = parse('{"user": {"age": 3}}', schema);
  assert.deepEqual([answer.valid, answer.typed, answer.errors], [false, undefined, [{ at: "/user/age", detail: "must be even" }]]);
});

test("schemas that validate asynchronously are loaded with loadAsync", async () => {
  const schema = z.object({ name: z.string().refine(async (name) => name !== "taken") });
  const fitted = fit(schema, "openai");
  assert.throws(() => fitted.load({ name: "free" }), { code: "async-schema" });
  assert.deepEqual(await fitted.loadAsync({ name: "free" }), { name: "free" });
  await assert.rejects(fitted.loadAsync({ name: "taken" }), { code: "invalid", at: "/name" });
});

test("a plain JSON Schema validates what it loads", () => {
  const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
  for (const form of [schema, JSON.stringify(schema)]) {
    assert.deepEqual(fit(form, "openai-strict").load({ n: 1 }), { n: 1 });
    assert.throws(() => fit(form, "openai-strict").load({ n: "x" }), { name: "AnswerError", at: "/n" });
  }
});

test("a schema that its owner changes is read again", () => {
  const schema = { type: "object", properties: { a: { type: "string" } } };
  assert.deepEqual(Object.keys(fit(schema, "openai").schema.properties), ["a"]);
  schema.properties.b = { type: "string" };
  assert.deepEqual(Object.keys(fit(schema, "openai").schema.properties), ["a", "b"]);
});

test("a result that its owner changes is not that of others", () => {
  const schema = { type: "object", properties: { a: { type: "string" } } };
  fit(schema, "openai").schema.properties = {};
  assert.deepEqual(Object.keys(fit(schema, "openai").schema.properties), ["a"]);
});

test("recursive schemas of zod 3, and of what is no schema, are errors", () => {
  const tree = z3.lazy(() => z3.object({ children: z3.array(tree) }));
  assert.throws(() => fit(tree, "openai"), { name: "SchemaError", code: "unusable-schema" });
  assert.throws(() => fit(3, "openai"), { name: "SchemaError", code: "unusable-schema" });
  assert.throws(() => fit("{", "openai"), { name: "SchemaError", code: "not-json" });
  assert.throws(() => fit(z.object({ when: z.date() }), "openai"), { name: "SchemaError", code: "unusable-schema" });
});
