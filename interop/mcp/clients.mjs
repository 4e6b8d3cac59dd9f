// The official TypeScript clients use the proxy as they use any server: the old SDK and the new client, in both eras, on standard input and
// output and over HTTP. The reference server stands behind it.
//
// Usage: node clients.mjs POLYWIRE, in a folder where the packages are installed.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import * as modern from '@modelcontextprotocol/client'
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as OldStdio } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as OldHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

const polywire = resolve(process.argv[2])
const server = [process.execPath, resolve('reference.mjs'), 'stdio']
const behind = ['mcp', '--for', 'openai-strict', '--', ...server]

const listening = spawn(polywire, ['mcp', '--for', 'openai-strict', '--listen', '127.0.0.1:0', '--', ...server], { stdio: ['ignore', 'ignore', 'pipe'] })
const url = await new Promise((done, failed) => {
  let said = ''
  listening.stderr.on('data', (data) => {
    said += data
    const found = /http:\/\/\S+\/mcp/.exec(said)?.[0]
    if (found) done(new URL(found))
  })
  listening.on('close', () => failed(new Error(said)))
})

const info = { name: 'interop', version: '1.0.0' }
const own = new OldClient(info, { capabilities: {} })
const clients = {
  'old SDK, stdio': () => own.connect(new OldStdio({ command: polywire, args: behind })).then(() => own),
  'old SDK, HTTP': async () => {
    const client = new OldClient(info, { capabilities: {} })
    await client.connect(new OldHttp(url))
    return client
  },
}
for (const mode of ['legacy', 'auto']) {
  const connect = async (transport) => {
    const client = new modern.Client(info, { versionNegotiation: { mode } })
    await client.connect(transport)
    return client
  }
  clients[`new client, ${mode}, stdio`] = () => connect(new ModernStdio({ command: polywire, args: behind }))
  clients[`new client, ${mode}, HTTP`] = () => connect(new modern.StreamableHTTPClientTransport(url))
}

const use = async (client) => {
  assert.equal(client.getServerVersion().name, 'reference')
  const { tools } = await client.listTools()
  const headers = tools.find(({ name }) => name === 'test_custom_headers')
  // Strict: every property is required, and what was optional may be null.
  assert.deepEqual(headers.inputSchema.required, ['region', 'note'])
  const called = await client.callTool({ name: 'test_custom_headers', arguments: { region: 'eu', note: null } })
  assert.deepEqual(JSON.parse(called.content[0].text), { region: 'eu' })
  const wrong = await client.callTool({ name: 'test_custom_headers', arguments: { note: null } })
  assert.equal(wrong.isError, true)
  const { resources } = await client.listResources()
  assert.equal(resources.length, 3)
  const { contents } = await client.readResource({ uri: 'test://static-text' })
  assert.match(contents[0].text, /static text resource/)
  const { messages } = await client.getPrompt({ name: 'test_prompt_with_arguments', arguments: { arg1: 'a', arg2: 'b' } })
  assert.match(messages[0].content.text, /arg1='a'/)
  const steps = []
  await client.callTool({ name: 'test_tool_with_progress', arguments: {} }, ...progressOptions(client, ({ progress }) => steps.push(progress)))
  assert.deepEqual(steps, [0, 50, 100])
  await client.close()
}
// The old SDK takes the schema of results before the options.
const progressOptions = (client, onprogress) => (client instanceof OldClient ? [undefined, { onprogress }] : [{ onprogress }])

const faults = []
for (const [name, connect] of Object.entries(clients)) {
  try {
    await use(await connect())
  } catch (error) {
    faults.push(`${name}: ${error.stack}`)
  }
}
listening.kill()
console.log([...faults, `mcp clients: TypeScript: ${Object.keys(clients).length} clients, ${faults.length} faults`].join('\n'))
process.exit(faults.length ? 1 : 0)
