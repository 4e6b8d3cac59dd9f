// The client against the emulator, over real sockets.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";

import { Client, Emulator, misbehaviours, tool } from "polywire";
import { z } from "zod";

const Order = z.object({
  customer: z.string(),
  labels: z.record(z.string(), z.string()),
  items: z.array(z.object({ sku: z.string(), count: z.number().int().min(1) })),
});
const client = new Client();

test("ask gives a value of the schema's type", async () => {
  for (const provider of ["openai", "anthropic", "google"]) {
    const asked = await client.ask("An order of three books", Order, { model: `emulator/${provider}` });
    assert.ok(Order.safeParse(asked.value).success, JSON.stringify(asked.value));
    assert.match(asked.model, new RegExp(`^${provider}/`));
    assert.ok(asked.usage.input_tokens > 0 && asked.attempts.length === 1);
  }
});

test("a model that misbehaves is asked again, and its text is repaired", async () => {
  assert.ok(misbehaviours().some(({ name }) => name === "fenced"));
  const asked = await client.ask("An order", Order, { model: "emulator/anthropic+fenced+wrong-1" });
  assert.ok(Order.safeParse(asked.value).success);
  assert.equal(asked.attempts.length, 2);
});

test("a list of models falls over to the next", async () => {
  const models = ["openai/gpt-5", "emulator/anthropic"];
  const lonely = new Client({ keys: {}, baseUrls: { openai: "http://127.0.0.1:9" }, retries: 0 });
  const asked = await lonely.ask("An order", Order, { model: models });
  assert.match(asked.model, /^anthropic\//);
});

test("askText gives text", async () => {
  const asked = await client.askText("Hello", { model: "emulator/openai" });
  assert.ok(asked.text.length > 0 && asked.usage.output_tokens > 0);
});

test("askStream shows partial values, and the valid one at the end", async () => {
  const schema = z.object({ words: z.array(z.string()).min(30) });
  const stream = client.askStream("Words", schema, { model: "emulator/openai" });
  const partials = [];
  for await (const { value, attempt } of stream) {
    assert.equal(attempt, 1);
    partials.push(value);
  }
  assert.ok(partials.length > 1, `${partials.length} partial values`);
  const { value } = await stream.result();
  assert.deepEqual(partials.at(-1), value);
  assert.equal((await stream.result()).value, value);
  const unread = client.askStream("An order", Order, { model: "emulator/openai" });
  assert.ok(Order.safeParse((await unread.result()).value).success);
});

test("askTextStream shows what is added", async () => {
  const stream = client.askTextStream("Tell me a story", { model: "emulator/anthropic" });
  let text = "";
  for await (const { value } of stream) {
    text += value;
  }
  assert.equal((await stream.result()).value, text);
});

test("run makes the calls of the model with typed arguments", async () => {
  const seen = [];
  const weather = tool({
    name: "weather",
    description: "The weather of a city",
    schema: z.object({ city: z.string(), labels: z.record(z.string(), z.number()), unit: z.enum(["C", "F"]).default("C") }),
    execute: async (args) => {
      seen.push(args);
      return { degrees: 21, city: args.city };
    },
  });
  const ended = await client.run("Is it warm in Bern?", { tools: [weather], model: "emulator/openai" });
  assert.equal(ended.stop, "answered");
  assert.equal(seen.length, 1);
  assert.ok(weather.schema.safeParse(seen[0]).success && !Array.isArray(seen[0].labels));
  assert.ok(ended.turns.length >= 2 && ended.history.length >= 3);
});

test("what a tool throws is told to the model", async () => {
  const broken = tool({
    name: "broken",
    schema: z.object({ n: z.number() }),
    execute: () => {
      throw new Error("the database is closed");
    },
  });
  const ended = await client.run("Count", { tools: [broken], model: "emulator/anthropic", maxTurns: 3 });
  assert.match(JSON.stringify(ended.history), /the database is closed/);
});

test("run with a schema ends with a value", async () => {
  const counter = tool({ name: "count", schema: z.object({}), execute: () => 3 });
  const schema = z.object({ total: z.number() });
  const ended = await client.run("Count", { tools: [counter], schema, model: "emulator/openai" });
  assert.equal(typeof ended.value.total, "number");
});

/** A server that accepts requests and never answers. Gives its address, and a promise for the end of the first connection. */
async function silentServer(start = "") {
  const server = createServer((request, response) => {
    request.on("data", () => {}).on("end", () => {
      arrived();
      if (start !== "") {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write(start);
      }
    });
    request.socket.once("close", closed);
  });
  let arrived, closed;
  const arrival = new Promise((resolve) => (arrived = resolve));
  const close = new Promise((resolve) => (closed = resolve));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, arrival, close, url: `http://127.0.0.1:${server.address().port}/v1` };
}

test("an abort cancels the request upstream, and rejects with the signal's reason", async () => {
  const { server, arrival, close, url } = await silentServer();
  const waiting = new Client({ keys: { openai: "any" }, baseUrls: { openai: url } });
  const controller = new AbortController();
  const asked = waiting.ask("An order", Order, { model: "openai/gpt-5", signal: controller.signal });
  await arrival;
  const reason = new Error("changed my mind");
  controller.abort(reason);
  await assert.rejects(asked, (error) => error === reason);
  await close;
  server.close();
  await assert.rejects(
    client.ask("An order", Order, { model: "emulator/openai", signal: AbortSignal.abort() }),
    { name: "AbortError" },
  );
});

const CHUNK = `data: ${JSON.stringify({
  id: "1",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta: { role: "assistant", content: '{"customer": "Ada' }, finish_reason: null }],
})}\n\n`;

test("leaving a stream early cancels the request upstream", async () => {
  const { server, close, url } = await silentServer(CHUNK);
  const waiting = new Client({ keys: { openai: "any" }, baseUrls: { openai: url } });
  const stream = waiting.askStream("An order", Order, { model: "openai:chat/gpt-4o" });
  for await (const { value } of stream) {
    assert.match(value.customer, /^Ad/);
    break;
  }
  await close;
  server.close();
});

test("cancelling and aborting a stream that waits ends the request upstream", async () => {
  for (const end of ["cancel", "abort"]) {
    const { server, close, url } = await silentServer(CHUNK);
    const waiting = new Client({ keys: { openai: "any" }, baseUrls: { openai: url } });
    const controller = new AbortController();
    const options = { model: "openai:chat/gpt-4o", signal: controller.signal };
    const stream = waiting.askStream("An order", Order, options);
    const parts = stream[Symbol.asyncIterator]();
    await parts.next();
    const next = parts.next();
    if (end === "cancel") {
      stream.cancel();
      await assert.rejects(next, { name: "CancelledError" });
    } else {
      controller.abort();
      await assert.rejects(next, { name: "AbortError" });
    }
    await close;
    server.close();
  }
});

test("errors name what is wrong", async () => {
  const options = { model: "openai/gpt-5" };
  const refusing = createServer((request, response) => {
    request.resume().on("end", () => {
      response.writeHead(401, { "content-type": "application/json" });
      response.end('{"error": {"message": "Incorrect API key provided", "type": "invalid_request_error", "code": "invalid_api_key"}}');
    });
  });
  refusing.listen(0, "127.0.0.1");
  await once(refusing, "listening");
  const baseUrls = { openai: `http://127.0.0.1:${refusing.address().port}/v1` };
  const refused = new Client({ baseUrls, keys: { openai: "wrong-key" } });
  await assert.rejects(refused.ask("Hi", Order, options), (error) => {
    assert.equal(error.name, "ProviderError");
    assert.equal(error.status, 401);
    assert.match(error.message, /Incorrect API key/);
    assert.ok(!JSON.stringify(error.details).includes("wrong-key"));
    return true;
  });
  refusing.close();
  await assert.rejects(client.ask("Hi", Order, { model: "nobody/nothing" }), { name: "UnknownNameError", code: "unknown-provider" });
  await assert.rejects(client.ask("Hi", Order, { model: [] }), { name: "InputError", code: "no-model" });
  await assert.rejects(client.ask("Hi", Order, { model: "emulator/openai", temprature: 1 }), { code: "unknown-option" });
});

test("an emulator serves other clients", async () => {
  const emulator = new Emulator();
  const response = await fetch(`${emulator.baseUrl("openai")}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer any" },
    body: JSON.stringify({ model: "gpt-4o", messages: [{ role: "user", content: "Hello" }] }),
  });
  assert.equal(response.status, 200);
  assert.ok((await response.json()).choices[0].message.content.length > 0);
  emulator[Symbol.dispose]();
  await assert.rejects(fetch(emulator.url));
  assert.throws(() => emulator.baseUrl("openai"), { name: "InputError", code: "stopped" });
});

test("1,000 questions at a time are answered", async () => {
  const schema = z.object({ n: z.number() });
  const questions = Array.from({ length: 1000 }, (_, n) => client.ask(`Question ${n}`, schema, { model: "emulator/openai" }));
  const answers = await Promise.all(questions);
  assert.ok(answers.every(({ value }) => typeof value.n === "number"));
});
