/**
 * Splits a build for a release: the binary of this platform into `npm/PLATFORM`, a package of its own, and the rest without binaries into
 * `npm/polywire`, which names every platform as an optional dependency. A package without the binary takes that of the optional one.
 */

import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { platform } from "./platform.mjs";

/** The platforms that a release has binaries for. */
const PLATFORMS = [
  "darwin-arm64",
  "darwin-x64",
  "linux-arm64-gnu",
  "linux-arm64-musl",
  "linux-x64-gnu",
  "linux-x64-musl",
  "win32-x64-msvc",
];

const folder = dirname(dirname(fileURLToPath(import.meta.url)));
const name = platform();
const [os, cpu, libc] = name.split("-");
const binary = `polywire.${name}.node`;
const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
const { version, license, repository, engines, description } = manifest;

rmSync(join(folder, "npm"), { recursive: true, force: true });

const carrier = join(folder, "npm", name);
mkdirSync(carrier, { recursive: true });
cpSync(join(folder, "dist", binary), join(carrier, binary));
const own = {
  name: `@polywire/${name}`,
  version,
  description: `The binary of polywire for ${name}`,
  license,
  repository,
  engines,
  os: [os],
  cpu: [cpu],
  ...(os === "linux" ? { libc: [libc === "gnu" ? "glibc" : libc] } : {}),
  main: binary,
  files: [binary],
};
writeFileSync(join(carrier, "package.json"), `${JSON.stringify(own, null, 2)}\n`);

const main = join(folder, "npm", "polywire");
mkdirSync(main);
for (const part of [...manifest.files, "README.md"]) {
  cpSync(join(folder, part), join(main, part), { recursive: true });
}
rmSync(join(main, "dist", binary));
const optionalDependencies = Object.fromEntries(PLATFORMS.map((platform) => [`@polywire/${platform}`, version]));
const { scripts: _scripts, devDependencies: _devDependencies, ...published } = manifest;
writeFileSync(join(main, "package.json"), `${JSON.stringify({ ...published, optionalDependencies }, null, 2)}\n`);
