// The programs in the documentation run as they are written. `POLYWIRE_READMES` has the paths.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("./readme/", import.meta.url));
mkdirSync(folder, { recursive: true });

for (const path of process.env.POLYWIRE_READMES.split(",")) {
  const programs = [...readFileSync(path, "utf8").matchAll(/^```ts\n(.*?)^```$/gms)].map(([, program]) => program);
  // The packages of the AI SDK have other names here: its own test runs that program.
  const own = programs.filter((program) => !program.includes('from "ai"'));
  test(`the programs of ${basename(dirname(path))}/${basename(path)} run`, () => {
    assert.ok(own.length > 0);
    for (const [number, program] of own.entries()) {
      const file = `${folder}${basename(dirname(path))}-${number}.mjs`;
      writeFileSync(file, program);
      execFileSync(process.execPath, [file], { stdio: "pipe" });
    }
  });
}
