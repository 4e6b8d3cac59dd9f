/** Writes the reference of the API, `docs/node-api.md`, from the comments in `ts/`. With `--check`, says whether it is up to date. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = dirname(dirname(fileURLToPath(import.meta.url)));
const target = join(folder, "../../docs/node-api.md");
const out = mkdtempSync(join(tmpdir(), "polywire-docs-"));

const require = createRequire(import.meta.url);
const typedoc = join(dirname(require.resolve("typedoc/package.json")), "bin/typedoc");
const options = {
  plugin: ["typedoc-plugin-markdown"],
  entryPoints: [join(folder, "ts/index.ts"), join(folder, "ts/ai-sdk.ts")],
  tsconfig: join(folder, "tsconfig.json"),
  out,
  router: "module",
  readme: "none",
  disableSources: true,
  excludeInternal: true,
  excludePrivate: true,
  excludeExternals: true,
  hideBreadcrumbs: true,
  hidePageHeader: true,
  useCodeBlocks: true,
  expandObjects: false,
  interfacePropertiesFormat: "table",
  propertiesFormat: "table",
  parametersFormat: "table",
  logLevel: "Error",
  validation: { notExported: false },
};
const config = join(out, "typedoc.json");
writeFileSync(config, JSON.stringify(options));
try {
  execFileSync(process.execPath, [typedoc, "--options", config], { cwd: folder, stdio: "inherit" });
  const pages = readdirSync(out).filter((name) => name.endsWith(".md") && name !== "README.md").sort();
  const text = ["index.md", ...pages.filter((name) => name !== "index.md")]
    .filter((name) => pages.includes(name))
    .map((name) => readFileSync(join(out, name), "utf8").trim())
    .join("\n\n");
  const page = `<!-- Written by \`npm run docs\` in bindings/node. -->\n\n${text.replaceAll(/\((?:index|ai-sdk)\.md#/g, "(#")}\n`;
  if (!process.argv.includes("--check")) {
    writeFileSync(target, page);
  } else if (readFileSync(target, "utf8") !== page) {
    console.error("docs/node-api.md is not what the comments say; run `npm run docs` in bindings/node");
    process.exitCode = 1;
  }
} finally {
  rmSync(out, { recursive: true });
}
