// The page in Chromium: every tab works against a running gateway, on a wide and on a narrow screen, and asks no other host for anything.
// Usage: node test/page.mjs POLYWIRE [FOLDER FOR SCREENSHOTS]

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const [program, folder = mkdtempSync(join(tmpdir(), "polywire-page-"))] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });

const environment = { PATH: process.env.PATH, HOME: mkdtempSync(join(tmpdir(), "polywire-home-")) };
const gateway = spawn(program, ["serve", "--port", "0", "--store", "memory"], { env: environment, stdio: ["ignore", "pipe", "ignore"] });
const [line] = await Promise.race([
  new Promise((resolve) => createInterface(gateway.stdout).once("line", (text) => resolve([text]))),
  new Promise((_, reject) => gateway.once("exit", (code) => reject(new Error(`the gateway ended with ${code}`)))),
]);
const url = line.replace("listening on ", "");

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

try {
  for (const [name, options] of [
    ["wide", { viewport: { width: 1280, height: 900 } }],
    ["narrow", { viewport: { width: 360, height: 740 }, colorScheme: "dark" }],
  ]) {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    const foreign = [];
    const errors = [];
    page.on("request", (request) => {
      if (!request.url().startsWith(url) && !request.url().startsWith("data:")) foreign.push(request.url());
    });
    page.on("pageerror", (error) => errors.push(String(error)));
    const shot = (tab) => page.screenshot({ path: join(folder, `${name}-${tab}.png`), fullPage: true });

    await page.goto(url);
    await page.getByRole("button", { name: "Fit", exact: true }).click();
    const results = page.locator("[data-results] article");
    await results.nth(1).waitFor();
    assert.match(await results.nth(0).innerText(), /openai-strict/);
    assert.match(await results.nth(0).innerText(), /the value comes back unchanged/);
    await results.nth(0).locator("button.place").first().click();
    await shot("playground");

    await page.goto(`${url}/#try`);
    await page.getByRole("button", { name: "Send" }).click();
    await page.locator("[data-report]").waitFor();
    assert.match(await page.locator("main").innerText(), /\[DONE\]/);
    await shot("try");

    await page.goto(`${url}/#requests`);
    await page.locator("tbody tr").first().waitFor();
    await page.locator("tbody tr button").first().click();
    await page.getByText("Report", { exact: true }).waitFor();
    await shot("requests");

    await page.goto(`${url}/#usage`);
    await page.locator(".bar").first().waitFor();
    await shot("usage");

    // The keyboard reaches every part of the page.
    await page.goto(`${url}/#keys`);
    await page.getByRole("link", { name: "Keys" }).focus();
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement?.tagName), "INPUT");
    await shot("keys");

    const width = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(width[0] <= width[1], `the page is wider than the screen: ${width}`);
    assert.deepEqual(foreign, [], "no other host is asked");
    assert.deepEqual(errors, []);
    await context.close();
  }

  // With keys the page needs one, and an admin key shows everything.
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${url}/#keys`);
  await page.getByLabel("Name").fill("admin");
  await page.getByLabel("Role").selectOption("admin");
  await page.getByRole("button", { name: "Create" }).click();
  const key = await page.locator("figure pre").innerText();
  await page.goto(`${url}/#requests`);
  await page.getByText("a gateway key is required").waitFor();
  await page.getByLabel("Gateway key").fill(key);
  await page.locator("tbody tr").first().waitFor();
  console.log(`the page works; screenshots in ${folder}`);
} finally {
  await browser.close();
  gateway.kill();
}
