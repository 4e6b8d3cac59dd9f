// A client for the client side of the conformance suites, on the official SDK. What it does is the same with the proxy and without.
//
// Usage: node client.mjs direct|POLYWIRE URL. With the proxy, it speaks to `polywire mcp --url URL` on standard input and output.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

const [, , way, url] = process.argv
const scenario = process.env.MCP_CONFORMANCE_SCENARIO
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}')
const version = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION ?? '2025-11-25'
const mode = version >= '2026-07-28' ? 'auto' : 'legacy'

const proxy = { command: way, args: ['mcp', '--for', 'mcp', '--url', url], stderr: 'inherit' }
const transport = way === 'direct' ? new StreamableHTTPClientTransport(new URL(url)) : new StdioClientTransport(proxy)
const capabilities = { elicitation: { form: { applyDefaults: true } }, sampling: {}, roots: {} }
const client = new Client({ name: 'conformance', version: '1.0.0' }, { capabilities, versionNegotiation: { mode } })
client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: {} }))
client.setRequestHandler('sampling/createMessage', () => ({ role: 'assistant', model: 'none', content: { type: 'text', text: 'sampled' } }))
client.setRequestHandler('roots/list', () => ({ roots: [] }))

const value = ({ type, enum: names }) => {
  if (names) return names[0]
  const kind = Array.isArray(type) ? type[0] : type
  return { string: 'text', integer: 1, number: 1.5, boolean: true, array: [], object: {} }[kind] ?? null
}
const values = ({ properties = {} }) => Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, value(schema)]))
const quietly = async (work) => {
  try {
    return await work()
  } catch (error) {
    console.error(`${scenario}: ${error.message}`)
  }
}

await client.connect(transport)
const offers = client.getServerCapabilities() ?? {}
const { tools = [] } = (offers.tools && (await quietly(() => client.listTools()))) || {}
const focal = tools.find(({ name }) => name === 'json_schema_2020_12_tool')
const calls = context.toolCalls ?? tools.map(({ name, inputSchema }) => ({ name, arguments: values(inputSchema) }))
for (const call of calls) {
  if (focal && call.arguments.schema) call.arguments.schema = focal.inputSchema
}
// Together: some scenarios look at requests that run side by side.
await Promise.all(calls.map((call) => quietly(() => client.callTool(call))))
if (offers.resources) {
  const { resources = [] } = (await quietly(() => client.listResources())) ?? {}
  for (const { uri } of resources) await quietly(() => client.readResource({ uri }))
}
if (offers.prompts) {
  const { prompts = [] } = (await quietly(() => client.listPrompts())) ?? {}
  for (const { name } of prompts) await quietly(() => client.getPrompt({ name, arguments: {} }))
}
await client.close()
