// The functions without a network, from both module systems.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";

import * as esm from "polywire";

const cjs = createRequire(import.meta.url)("polywire");
const { check, dialects, fitTools, checkTools, models, parse, PartialParser, plan, PolywireError, Translation } = esm;

test("both module systems have the same names and classes", () => {
  const names = Object.keys(esm).filter((name) => !["default", "module.exports", "__esModule"].includes(name));
  assert.deepEqual(names.sort(), Object.keys(cjs).sort());
  assert.equal(esm.PolywireError, cjs.PolywireError);
});

test("check says what a provider refuses, in its words", () => {
  const [violation] = check({ type: "object", properties: { city: { type: "string" } } }, "openai-strict");
  assert.match(violation.says, /'additionalProperties' is required to be supplied and to be false/);
  assert.match(violation.code, /^OAI-STRICT-/);
});

test("errors have a class, a code and a place", () => {
  assert.throws(() => esm.fit({}, "no-such-dialect"), (error) => {
    assert.ok(error instanceof PolywireError && error instanceof esm.UnknownNameError && error instanceof Error);
    assert.equal(error.code, "unknown-dialect");
    assert.match(error.message, /no-such-dialect/);
    assert.match(error.stack, /api\.test\.mjs/);
    return true;
  });
  assert.throws(() => esm.fit({}, "openai", { strict: "sometimes" }), { name: "InputError", code: "unknown-option" });
  assert.throws(() => esm.fit({}, "openai", { noSuchOption: 1 }), { name: "InputError", code: "unknown-option" });
});

test("several dialects meet", () => {
  const schema = { type: "object", properties: { labels: { type: "object", additionalProperties: { type: "string" } } } };
  const fitted = esm.fit(schema, ["openai-strict", "gemini"]);
  assert.deepEqual(check(fitted.schema, ["openai-strict", "gemini"]), []);
});

test("tool lists keep their calls", () => {
  const schema = { type: "object", properties: { labels: { type: "object", additionalProperties: { type: "string" } } }, required: ["labels"] };
  const tools = [{ name: "tag.add", description: "Tags", inputSchema: schema }];
  const fitted = fitTools(tools, "openai-strict");
  const [entry] = fitted.entries;
  assert.equal(entry.originalName, "tag.add");
  assert.match(entry.name, /^[a-zA-Z0-9_-]+$/);
  assert.ok(entry.converts && entry.strict && fitted.strict && fitted.changes.length > 0);
  assert.deepEqual(checkTools(fitted.tools, "openai-strict"), []);
  const made = fitted.encode("tag.add", { labels: { a: "b" } });
  assert.equal(made.name, entry.name);
  assert.deepEqual(fitted.decode(made.name, made.arguments), { name: "tag.add", arguments: { labels: { a: "b" } } });
  assert.deepEqual(fitted.decode(made.name, JSON.stringify(made.arguments)).arguments, { labels: { a: "b" } });
  assert.throws(() => fitted.decode("none", {}), { name: "UnknownNameError", code: "unknown-tool" });
});

test("parse repairs, converts, validates and lists", () => {
  const schema = { type: "object", properties: { city: { type: "string" }, days: { type: "integer" } }, required: ["city", "days"] };
  const answer = parse("Sure! ```json\n{city: 'Bern', \"days\": \"3\",}\n```", schema);
  assert.deepEqual(answer.typed, { city: "Bern", days: 3 });
  assert.ok(answer.repairs.length > 0);
  const wrong = parse('{"city": 1}', schema);
  assert.equal(wrong.valid, false);
  assert.ok(wrong.errors.some(({ at, detail }) => at === "" && /days/.test(detail)), JSON.stringify(wrong.errors));
  const none = parse("]", schema);
  assert.deepEqual([none.value, none.valid], [undefined, false]);
});

test("a text that is JSON is its own value", () => {
  for (const text of ['{"a": [1, 2.5, "x", null, true]}', " [ ] ", "null", "3", '{"__proto__": {"x": 1}}', '"text"']) {
    const answer = parse(text);
    assert.deepEqual(answer.value, JSON.parse(text), text);
    assert.deepEqual(answer.repairs, [], text);
  }
});

test("the partial parser gives what arrives, and the whole at the end", () => {
  const parser = new PartialParser({ type: "object", properties: { city: { type: "string" } }, required: ["city"] });
  assert.equal(parser.push("```json\n"), undefined);
  assert.deepEqual(parser.push('{"city": "Be'), { city: "Be" });
  assert.deepEqual(parser.completeValue, {});
  assert.equal(parser.isComplete("/city"), false);
  parser.push('rn"}');
  assert.deepEqual([parser.value, parser.done, parser.isComplete("/city")], [{ city: "Bern" }, true, true]);
  assert.deepEqual(parser.finish().typed, { city: "Bern" });
});

const chat = { model: "any", messages: [{ role: "user", content: "Hello" }], max_tokens: 50 };
const message = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude-sonnet-4-5",
  content: [{ type: "text", text: "Hi." }],
  stop_reason: "end_turn",
  usage: { input_tokens: 8, output_tokens: 3 },
};

test("a translation goes there and back", () => {
  for (const body of [JSON.stringify(chat), Buffer.from(JSON.stringify(chat))]) {
    const translation = new Translation(body, { source: "openai-chat", model: "anthropic/claude-sonnet-4-5" });
    const { method, url, headers, body: sent } = translation.request;
    assert.deepEqual([method, url], ["POST", "https://api.anthropic.com/v1/messages"]);
    assert.ok(Object.keys(headers).length > 0);
    assert.equal(JSON.parse(sent.toString()).max_tokens, 50);
    const back = translation.response(JSON.stringify(message));
    assert.equal(JSON.parse(back.body.toString()).choices[0].message.content, "Hi.");
    assert.equal(back.usage.output_tokens, 3);
  }
});

test("errors and streams are translated", () => {
  const body = JSON.stringify({ ...chat, stream: true });
  const translation = new Translation(body, { source: "openai-chat", model: "anthropic/claude-sonnet-4-5" });
  assert.equal(translation.isStream, true);
  const refused = translation.error(429, '{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}');
  assert.equal(refused.status, 429);
  assert.match(refused.body.toString(), /slow down/);
  const stream = translation.stream();
  const start = `event: message_start\ndata: ${JSON.stringify({ type: "message_start", message: { ...message, content: [], stop_reason: null } })}\n\n`;
  const delta =
    'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n' +
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi."}}\n\n';
  const out = stream.push(start).toString() + stream.push(Buffer.from(delta)).toString();
  assert.match(out, /"content":"Hi\."/);
  const end = stream.finish();
  assert.ok(end.error instanceof PolywireError, "a stream that breaks off is an error");
  assert.throws(() => stream.push("more"), { name: "InputError", code: "ended" });
});

test("bodies and losses that cannot be are errors", () => {
  const options = { source: "openai-chat", model: "anthropic/claude-sonnet-4-5" };
  assert.throws(() => new Translation("{", options), { name: "DecodeError", code: "not-json" });
  assert.throws(() => new Translation("{}", { ...options, source: "carrier-pigeon" }), { code: "unknown-protocol" });
  const lossy = JSON.stringify({ ...chat, seed: 7 });
  assert.ok(new Translation(lossy, options).changes.length > 0);
  const refuse = { ...options, plan: { onLoss: { all: "error" } } };
  assert.throws(
    () => new Translation(lossy, refuse),
    (error) => error.name === "LossError" && error.losses.length > 0,
  );
});

test("the catalog has dialects, models and plans", () => {
  assert.ok(dialects().some(({ id }) => id === "openai-strict"));
  const own = models({ provider: "anthropic" });
  assert.ok(own.length > 0 && models().length > own.length);
  const planned = plan("Hello", "openai/gpt-5");
  assert.match(JSON.stringify(planned), /Hello/);
  assert.throws(() => plan("Hello", "nobody/nothing"), { name: "UnknownNameError" });
});
