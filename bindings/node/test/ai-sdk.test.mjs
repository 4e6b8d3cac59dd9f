// The middleware between the AI SDK and the emulator. `AI_SDK` is the version: 6, or 7 for Node 22 and newer.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Emulator } from "polywire";
import { polywire } from "polywire/ai-sdk";
import { z } from "zod";

const version = process.env.AI_SDK ?? "6";
const { generateText, isStepCount, jsonSchema, Output, stepCountIs, streamText, tool, wrapLanguageModel } = await import(`ai-${version}`);
const { createOpenAI } = await import(`@ai-sdk/openai-${version}`);
const { createAnthropic } = await import(`@ai-sdk/anthropic-${version}`);
const { createGoogleGenerativeAI } = await import(`@ai-sdk/google-${version}`);
const steps = stepCountIs ?? isStepCount;

globalThis.AI_SDK_LOG_WARNINGS = false;
const emulator = new Emulator();
test.after(() => emulator.stop());
const settings = (provider) => ({ baseURL: emulator.baseUrl(provider), apiKey: "any" });

const MODELS = {
  openai: () => createOpenAI(settings("openai")).responses("gpt-5"),
  "openai chat": () => createOpenAI(settings("openai")).chat("gpt-4o"),
  anthropic: () => createAnthropic(settings("anthropic"))("claude-sonnet-4-5"),
  google: () => createGoogleGenerativeAI(settings("google"))("gemini-2.5-flash"),
};

/** A map, an optional, a discriminated union and a tuple. */
const shipment = z.object({
  labels: z.record(z.string(), z.number().int()),
  note: z.string().optional(),
  method: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("air"), flight: z.string() }),
    z.object({ kind: z.literal("sea"), days: z.number().int() }),
  ]),
  position: z.tuple([z.string(), z.number()]),
});

// The AI SDK asks zod for draft 7, in which zod leaves out how long a tuple is: dialects with lists of any length get the newest draft.
const exact = jsonSchema(z.toJSONSchema(shipment, { io: "input" }), {
  validate: (value) => {
    const { success, data, error } = shipment.safeParse(value);
    return success ? { success, value: data } : { success, error };
  },
});
const schemaFor = (name) => (name.startsWith("openai") ? shipment : exact);

const wrap = (model, options = {}) =>
  wrapLanguageModel({ model, middleware: polywire({ to: "auto", ...options }) });

/** Asks with one tool and gives the arguments of its calls. */
async function callTool(model, schema, read = (options) => generateText(options)) {
  const seen = [];
  const ship = tool({
    description: "Ships an order",
    inputSchema: schema,
    strict: true,
    execute: async (input) => {
      seen.push(input);
      return "shipped";
    },
  });
  await read({ model, prompt: "Ship it", tools: { ship }, stopWhen: steps(3), maxRetries: 0 });
  return seen;
}

const streamed = async (options) => {
  const errors = [];
  const result = streamText({ ...options, onError: ({ error }) => errors.push(error) });
  await result.consumeStream();
  if (errors.length > 0) {
    throw errors[0];
  }
};

const expectShipments = (seen) => {
  assert.ok(seen.length >= 1, "the tool was called");
  for (const input of seen) {
    assert.deepEqual(shipment.parse(input), input);
    assert.ok(!Array.isArray(input.labels) && Array.isArray(input.position) && input.note !== null, JSON.stringify(input));
  }
};

for (const [name, model] of Object.entries(MODELS)) {
  test(`${name}: arguments of tools come back as the tool's own types`, async () => {
    expectShipments(await callTool(wrap(model()), schemaFor(name)));
  });
  test(`${name}: the same from a stream`, async () => {
    expectShipments(await callTool(wrap(model()), schemaFor(name), streamed));
  });
  test(`${name}: an object comes back in its schema, whole and streamed`, async () => {
    const request = { model: wrap(model()), prompt: "A shipment", output: Output.object({ schema: schemaFor(name) }), maxRetries: 0 };
    const result = await generateText(request);
    assert.deepEqual(shipment.parse(result.output), result.output);
    const stream = streamText(request);
    const partials = [];
    for await (const partial of stream.partialOutputStream) {
      partials.push(partial);
    }
    const output = await stream.output;
    assert.deepEqual(shipment.parse(output), output);
    assert.deepEqual(partials.at(-1), output);
  });
}

test("without the middleware the same fails", async () => {
  for (const model of [MODELS.openai, MODELS["openai chat"]]) {
    await assert.rejects(callTool(model(), shipment), /Invalid schema|invalid/i);
    await assert.rejects(callTool(model(), shipment, streamed), /Invalid schema|invalid/i);
    await assert.rejects(
      generateText({ model: model(), prompt: "A shipment", output: Output.object({ schema: shipment }), maxRetries: 0 }),
      /Invalid schema|invalid/i,
    );
  }
});

test("losses are warnings, and every change is told", async () => {
  const changes = [];
  const model = wrap(MODELS.openai(), { onChanges: (all) => changes.push(...all) });
  const lossy = tool({ inputSchema: z.object({ text: z.string().regex(/^(?=.*a)b+$/), any: z.unknown() }), strict: true });
  const { warnings } = await generateText({ model, prompt: "Go", tools: { lossy }, maxRetries: 0 });
  const lost = changes.filter(({ effect }) => effect === "wider" || effect === "narrower");
  const told = (warnings ?? []).filter(({ message }) => message?.startsWith("polywire"));
  assert.ok(changes.length > lost.length && lost.length > 0, JSON.stringify(changes));
  assert.equal(told.length, lost.length);
});

test("a named dialect, and a provider that nobody knows", async () => {
  const request = { prompt: "Go", tools: { ship: tool({ inputSchema: shipment }) }, maxRetries: 0 };
  const named = polywire({ to: "openai-strict" });
  await generateText({ ...request, model: wrapLanguageModel({ model: MODELS.openai(), middleware: named }) });
  const renaming = { specificationVersion: version === "6" ? "v3" : "v4", overrideProvider: () => "stranger" };
  const stranger = wrapLanguageModel({ model: MODELS.openai(), middleware: renaming });
  const { warnings } = await generateText({ ...request, model: wrap(stranger) });
  assert.match(JSON.stringify(warnings), /the provider stranger is not known/);
});
