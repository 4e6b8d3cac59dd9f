/**
 * Builds the package into `dist/`: the native part for this platform, and the TypeScript side. `POLYWIRE_PROFILE` names another profile of
 * cargo than `release`; `POLYWIRE_ADDON` a library that is built already.
 */

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { platform } from "./platform.mjs";

const folder = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(folder, "dist");

/** Builds the library and returns its path. */
function buildAddon() {
  const profile = process.env.POLYWIRE_PROFILE ?? "release";
  const options = ["--package", "polywire-node", "--lib", "--profile", profile];
  const messages = execFileSync("cargo", ["build", ...options, "--message-format=json-render-diagnostics"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
    maxBuffer: 1 << 28,
  });
  const lines = messages.toString().split("\n").filter((line) => line.startsWith("{"));
  const made = lines.map((line) => JSON.parse(line)).filter((message) => message.target?.name === "polywire_node");
  const library = made.flatMap((message) => message.filenames ?? []).find((file) => /\.(so|dylib|dll)$/.test(file));
  if (library === undefined) {
    throw new Error("cargo named no library");
  }
  return library;
}

/** The modules of the package: each is CommonJS, and a module of that name re-exports it. */
const MODULES = ["index", "ai-sdk"];

function buildScripts() {
  const compiler = createRequire(import.meta.url).resolve("typescript/bin/tsc");
  execFileSync(process.execPath, [compiler, "--project", "."], { cwd: folder, stdio: "inherit" });
  for (const name of MODULES) {
    // One copy of every class, however the package is loaded: `instanceof` holds across both.
    const text = `export * from "./${name}.js";\n`;
    writeFileSync(join(dist, `${name}.mjs`), text);
    writeFileSync(join(dist, `${name}.d.mts`), text);
  }
}

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist);
buildScripts();
copyFileSync(process.env.POLYWIRE_ADDON ?? buildAddon(), join(dist, `polywire.${platform()}.node`));
for (const licence of ["LICENSE-APACHE", "LICENSE-MIT"]) {
  copyFileSync(join(folder, "../..", licence), join(folder, licence));
}
