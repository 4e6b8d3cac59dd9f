// The command that the package carries.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const cwd = fileURLToPath(new URL(".", import.meta.url));
const command = fileURLToPath(new URL("./node_modules/.bin/polywire", import.meta.url));
const run = (args, input = "") => spawnSync(command, args, { cwd, encoding: "utf8", input });

test("the command runs, reads its input and has its own exit codes", () => {
  assert.match(run(["--version"]).stdout, /^polywire \d+\.\d+\.\d+/);
  const parsed = run(["parse", "-"], "Sure: {a: 1,}");
  assert.deepEqual([parsed.status, JSON.parse(parsed.stdout).value ?? JSON.parse(parsed.stdout)], [0, { a: 1 }]);
  const schema = JSON.stringify({ type: "object", properties: { a: { type: "string" } } });
  assert.equal(run(["check", "-", "--for", "openai-strict"], schema).status, 1);
  assert.equal(run(["no-such-command"]).status, 2);
});

test("a server of the command ends on a signal", async () => {
  const server = spawn(command, ["emulate", "--json"], { cwd, stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(createInterface(server.stdout), "line");
  const response = await fetch(`${JSON.parse(line).url}/v1/models`, { headers: { authorization: "Bearer any" } });
  assert.equal(response.status, 200);
  await response.text();
  server.kill("SIGINT");
  await once(server, "exit");
});
