// What a program may do at any time: end, use threads, and go on for long.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";

/** Runs a program that has the package, and gives its output and how it ended. */
function run(script, options = []) {
  const args = [...options, "--input-type=module", "--eval", script];
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: fileURLToPath(new URL(".", import.meta.url)),
    encoding: "utf8",
    timeout: 60_000,
  });
  return { status, signal, stdout, stderr };
}

const STREAM = `
  import { Client } from "polywire";
  const schema = { type: "object", properties: { words: { type: "array", items: { type: "string" }, minItems: 30 } }, required: ["words"] };
  const stream = new Client().askStream("Words", schema, { model: "emulator/openai" });
`;

const ENDS = {
  "by process.exit in the middle of a stream": `${STREAM} for await (const _ of stream) process.exit(3);`,
  "by an error in the middle of a stream": `${STREAM} process.on("uncaughtException", () => process.exit(3)); for await (const _ of stream) throw new Error("no");`,
  "while a part is waited for": `${STREAM} stream[Symbol.asyncIterator]().next(); setImmediate(() => process.exit(3));`,
  "with many questions open": `${STREAM} for (let n = 0; n < 50; n++) new Client().ask("x", schema, { model: "emulator/openai" }).catch(() => {}); setTimeout(() => process.exit(3), 20);`,
  "on its own after a stream": `${STREAM} for await (const _ of stream); await stream.result(); process.exitCode = 3;`,
};
const RUNS = Number(process.env.POLYWIRE_EXIT_RUNS ?? 4);

for (const [how, script] of Object.entries(ENDS)) {
  test(`a program ends cleanly ${how}`, () => {
    for (let number = 0; number < RUNS; number++) {
      const ended = run(script);
      assert.deepEqual([ended.status, ended.signal, ended.stderr], [3, null, ""], `run ${number}`);
    }
  });
}

const WORKER = `
  const { parentPort, workerData } = require("node:worker_threads");
  const { Client, fit, parse } = require("polywire");
  const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
  fit(schema, "openai-strict");
  const client = new Client();
  client.ask("A number", schema, { model: "emulator/openai" }).then(({ value }) => parentPort.postMessage(value.n + workerData * 0));
  if (workerData % 2) client.ask("Another", schema, { model: "emulator/openai" }).catch(() => {});
`;

test("workers use it side by side, and may end at any time", async () => {
  const work = Array.from({ length: 8 }, (_, number) => {
    const worker = new Worker(WORKER, { eval: true, workerData: number });
    return new Promise((resolve, reject) => {
      worker.on("message", (value) => {
        worker.terminate().then(() => resolve(value), reject);
      });
      worker.on("error", reject);
    });
  });
  for (const value of await Promise.all(work)) {
    assert.equal(typeof value, "number");
  }
});

test("a million calls leak nothing", () => {
  const script = `
    import { check, fit, parse, PartialParser } from "polywire";
    const schema = { type: "object", properties: { city: { type: "string" }, days: { type: "integer" } }, required: ["city"] };
    const fitted = fit(schema, "openai-strict");
    const call = (n) => {
      fit(schema, "openai-strict").encode({ city: "Bern" });
      parse('{"city": "Bern", "days": ' + n + ', }', schema);
      fitted.load({ city: "Bern", days: null });
      if (n % 10 === 0) new PartialParser(schema).push('{"city": "Be');
      if (n % 100 === 0) { try { parse("x", "{"); } catch {} }
      if (n % 1000 === 0) fit({ ...schema, title: "number " + n }, "gemini");
    };
    const most = Number(process.argv.at(-1));
    const settle = async () => { for (let i = 0; i < 5; i++) { globalThis.gc(); await new Promise(setImmediate); } return process.memoryUsage.rss(); };
    for (let n = 0; n < most / 4; n++) call(n);
    const before = await settle();
    for (let n = 0; n < most; n++) call(n);
    const after = await settle();
    console.log(JSON.stringify({ before, after }));
  `;
  const calls = Number(process.env.POLYWIRE_CALLS ?? 250_000);
  const args = ["--expose-gc", "--input-type=module", "--eval", script, "--", String(calls)];
  const cwd = fileURLToPath(new URL(".", import.meta.url));
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd, encoding: "utf8" });
  assert.equal(stderr, "");
  const { before, after } = JSON.parse(stdout);
  // 4 calls each: one byte that leaks in every call would be a million.
  assert.ok(after - before < 16 << 20, `RSS grew from ${before >> 20} to ${after >> 20} MiB`);
});
