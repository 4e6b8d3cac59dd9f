/**
 * What the package costs, as ratios in one run: `node bench.mjs` after `npm run build`. Figures need a build with the profile `release`.
 * `jsonrepair` is compared where it is installed (`npm ci` in `test/`).
 */

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const { fit, parse } = createRequire(import.meta.url)("./dist/index.js");
const folder = dirname(fileURLToPath(import.meta.url));

/** The fastest of several rounds, in nanoseconds a call. */
function time(calls, run, rounds = 7) {
  let best = Infinity;
  for (let round = 0; round < rounds; round++) {
    const start = process.hrtime.bigint();
    for (let call = 0; call < calls; call++) {
      run();
    }
    best = Math.min(best, Number(process.hrtime.bigint() - start) / calls);
  }
  return best;
}

const rows = [];
const row = (what, asked, ratio, detail) => rows.push({ what, asked, measured: ratio.toFixed(2), detail });
const us = (nanoseconds) => `${(nanoseconds / 1000).toFixed(2)} µs`;
const ms = (nanoseconds) => `${(nanoseconds / 1e6).toFixed(2)} ms`;

const schema = {
  type: "object",
  properties: {
    customer: { type: "string", minLength: 1 },
    labels: { type: "object", additionalProperties: { type: "string" } },
    items: {
      type: "array",
      items: {
        type: "object",
        properties: { sku: { type: "string", pattern: "^[A-Z]{3}$" }, count: { type: "integer", minimum: 1 }, note: { type: "string" } },
        required: ["sku", "count"],
      },
    },
    method: {
      oneOf: [
        { type: "object", properties: { kind: { const: "air" }, flight: { type: "string" } }, required: ["kind", "flight"] },
        { type: "object", properties: { kind: { const: "sea" }, days: { type: "integer" } }, required: ["kind", "days"] },
      ],
    },
    position: { type: "array", prefixItems: [{ type: "number" }, { type: "number" }], items: false },
  },
  required: ["customer", "items"],
};

function fitCosts() {
  const place = mkdtempSync(join(tmpdir(), "polywire-bench-"));
  const file = join(place, "schema.json");
  writeFileSync(file, JSON.stringify(schema));
  const example = ["run", "--quiet", "--profile", process.env.POLYWIRE_PROFILE ?? "release", "-p", "polywire-bindings", "--example", "costs"];
  const rust = Number(execFileSync("cargo", [...example, "--", file, "openai-strict"], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] }));
  rmSync(place, { recursive: true });
  const alone = time(20_000, () => fit(schema, "openai-strict"));
  const read = time(20_000, () => fit(schema, "openai-strict").schema);
  row("fit of a cached schema / Rust", "≤ 3", alone / rust, `${us(alone)} and ${us(rust)}`);
  row("the same, and reading .schema / Rust", "", read / rust, us(read));
}

/** About one megabyte of what models return. */
const value = {
  items: Array.from({ length: 6_200 }, (_, n) => ({ id: n, name: `Item number ${n}`, price: n * 1.25, tags: ["red", "green"], note: "A text with a few more words in it, as people write them.", ok: n % 2 === 0 })),
};
const valid = JSON.stringify(value);
const itemsSchema = {
  type: "object",
  properties: {
    items: {
      type: "array",
      items: {
        type: "object",
        properties: { id: { type: "integer" }, name: { type: "string" }, price: { type: "number" }, tags: { type: "array", items: { type: "string" } }, note: { type: "string" }, ok: { type: "boolean" } },
        required: ["id", "name"],
      },
    },
  },
  required: ["items"],
};

function parseCosts() {
  const json = time(5, () => JSON.parse(valid));
  const ours = time(5, () => parse(valid));
  const judged = time(5, () => parse(valid, itemsSchema));
  const size = `${(valid.length / 1e6).toFixed(2)} MB`;
  row("JSON.parse / parse, valid JSON", "≥ 0.5", json / ours, `${size}: ${ms(json)} and ${ms(ours)}`);
  row("JSON.parse / parse with a schema", "", json / judged, ms(judged));
  const broken = `\`\`\`json\n${valid.replaceAll('"ok":true', "ok: True,").slice(0, -1)}\n\`\`\``;
  const repaired = time(3, () => parse(broken), 3);
  const repair = jsonrepair();
  if (repair === undefined) {
    return;
  }
  const theirs = time(3, () => JSON.parse(repair(broken)), 3);
  row("jsonrepair / parse, broken JSON", "≥ 1", theirs / repaired, `${ms(theirs)} and ${ms(repaired)}`);
}

function jsonrepair() {
  for (const from of [import.meta.url, join(folder, "test/package.json"), join(process.cwd(), "package.json")]) {
    try {
      return createRequire(from)("jsonrepair").jsonrepair;
    } catch {
      // Not installed there.
    }
  }
  return undefined;
}

fitCosts();
parseCosts();
console.table(rows);
console.log(`Node ${process.version}, polywire ${JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).version}`);
