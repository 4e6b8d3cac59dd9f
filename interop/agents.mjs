// Coding agents talk to the emulator, and to the gateway with the emulator behind it, unmodified: Claude Code, Codex and Gemini CLI,
// each without a user at the keyboard. Every agent finishes a plain task, a task with one of its own tools, and a structured task.
// What the emulator does is in the prompt (`emulate: …`, see docs/emulator.md).
//
// Usage, in a folder where the packages are installed:
//   node agents.mjs URL, of a running `polywire emulate`
//   With POLYWIRE set to the program, each agent also uses an MCP server behind `polywire mcp`.
//   node agents.mjs PROVIDERS, a list of `{ provider, routed }` with the URL of a running `polywire serve` that sends every model name to
//     one model of the provider. Prints a table of what works and fails if anything does not.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const TIMEOUT_MS = 120_000
const folder = mkdtempSync(join(tmpdir(), 'polywire-agents-'))
const work = join(folder, 'work')
// An agent can only know this word by reading the file.
const word = `zebra-${randomBytes(6).toString('hex')}`
mkdirSync(work)
writeFileSync(join(work, 'note.txt'), `The word is ${word}\n`)
const town = {
  type: 'object',
  properties: { name: { type: 'string' }, size: { type: 'integer' } },
  required: ['name', 'size'],
  additionalProperties: false,
}
writeFileSync(join(folder, 'town.json'), JSON.stringify(town))

// An MCP server whose tool no provider takes as it stands: a dot in its name, a map and a tuple in its schema. It judges its arguments.
const words = join(folder, 'words.mjs')
writeFileSync(words, `import { createInterface } from 'node:readline'
const inputSchema = {
  type: 'object',
  properties: {
    by: { type: 'object', additionalProperties: { type: 'integer' } },
    at: { type: 'array', prefixItems: [{ type: 'number' }, { type: 'string' }], items: false, minItems: 2 },
  },
  required: ['by', 'at'],
  additionalProperties: false,
}
const isOwn = ({ by, at, ...rest }) =>
  Object.keys(rest).length === 0 && Object.values(by).every(Number.isInteger) && at.length === 2 && typeof at[0] === 'number' && typeof at[1] === 'string'
const answers = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'words', version: '1' } }),
  'tools/list': () => ({ tools: [{ name: 'lookup.word', description: 'Looks a word up', inputSchema }] }),
  'tools/call': ({ name, arguments: given }) => ({
    content: [{ type: 'text', text: name === 'lookup.word' && isOwn(given) ? 'The word is ${word}' : 'not my arguments: ' + JSON.stringify(given) }],
  }),
}
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) continue
  const outcome = answers[method] ? { result: answers[method](params ?? {}) } : { error: { code: -32601, message: 'no such method' } }
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...outcome }))
}
`)
const behindProxy = process.env.POLYWIRE && { command: process.env.POLYWIRE, args: ['mcp', '--for', 'auto', '--', process.execPath, words] }

const isTown = (value) => {
  assert.deepEqual(Object.keys(value).sort(), ['name', 'size'])
  assert.equal(typeof value.name, 'string')
  assert.ok(Number.isInteger(value.size))
}

// Whatever does not go to loopback goes to a proxy where nobody listens, so nothing leaves the machine.
const nowhere = 'http://127.0.0.1:9'
const base = {
  PATH: process.env.PATH,
  TMPDIR: folder,
  HTTP_PROXY: nowhere, HTTPS_PROXY: nowhere, http_proxy: nowhere, https_proxy: nowhere,
  NO_PROXY: '127.0.0.1,localhost', no_proxy: '127.0.0.1,localhost',
  ...(process.env.SYSTEMROOT ? { SYSTEMROOT: process.env.SYSTEMROOT } : {}),
}

// A folder that stands for the user's home, one for each agent and address so that agents can run side by side.
const home = (name, url) => {
  const path = join(folder, `${name}-${new URL(url).port}`)
  mkdirSync(path, { recursive: true })
  return { HOME: path, USERPROFILE: path }
}

// Runs a script of a package; gives what it prints.
const run = (script, args, env) =>
  new Promise((done, failed) => {
    const path = resolve('node_modules', script)
    const options = { cwd: work, env: { ...base, ...env }, stdio: ['ignore', 'pipe', 'pipe'], detached: process.platform !== 'win32' }
    const child = spawn(process.execPath, [path, ...args], options)
    let [out, err] = ['', '']
    child.stdout.on('data', (data) => (out += data))
    child.stderr.on('data', (data) => (err += data))
    const timer = setTimeout(() => {
      err += `\nstopped after ${TIMEOUT_MS} ms`
      // The agent has children of its own.
      options.detached ? process.kill(-child.pid, 'SIGKILL') : child.kill('SIGKILL')
    }, TIMEOUT_MS)
    child.on('error', failed)
    child.on('close', (code) => {
      clearTimeout(timer)
      code === 0 ? done(out) : failed(new Error(`exit code ${code}: ${(out + err).slice(-2000)}`))
    })
  })

const version = (name) => JSON.parse(readFileSync(resolve('node_modules', name, 'package.json'))).version

// --- Claude Code

const claude = async (url, prompt, ...args) => {
  const env = {
    ...home('claude', url),
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: 'any',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    DISABLE_ERROR_REPORTING: '1',
    DISABLE_TELEMETRY: '1',
    ENABLE_TOOL_SEARCH: 'false',
    MCP_TIMEOUT: '60000',
    MCP_CONNECTION_NONBLOCKING: '0',
  }
  const script = '@anthropic-ai/claude-code/cli-wrapper.cjs'
  const answer = JSON.parse(await run(script, ['-p', prompt, '--output-format', 'json', ...args], env))
  assert.equal(answer.subtype, 'success', JSON.stringify(answer))
  return answer
}

const claudeCode = {
  async plain(url) {
    assert.equal((await claude(url, 'Say hello.\nemulate: say Hello from the emulator')).result, 'Hello from the emulator')
  },
  async tool(url) {
    const call = JSON.stringify({ file_path: join(work, 'note.txt') })
    const answer = await claude(url, `What is the word?\nemulate: call Read ${call}\nemulate: repeat`, '--allowedTools', 'Read')
    assert.ok(answer.result.includes(word), answer.result)
    assert.equal(answer.num_turns, 2)
  },
  async mcp(url) {
    const servers = JSON.stringify({ mcpServers: { words: behindProxy } })
    const name = 'mcp__words__lookup_word'
    const answer = await claude(url, `What is the word?\nemulate: call ${name}\nemulate: repeat`, '--mcp-config', servers, '--allowedTools', name)
    assert.ok(answer.result.includes(word), answer.result)
  },
  // Claude Code asks for the value by a tool of its own.
  async structured(url) {
    const answer = await claude(url, 'A town.\nemulate: call StructuredOutput', '--json-schema', JSON.stringify(town))
    isTown(answer.structured_output)
  },
}

// --- Codex

const codex = async (url, config, prompt, ...args) => {
  const homes = home('codex', url)
  const folder = join(homes.HOME, '.codex')
  mkdirSync(folder, { recursive: true })
  const settings = ['model = "gpt-5"', 'check_for_update_on_startup = false', ...config, '[analytics]', 'enabled = false']
  const provider = ['[model_providers.emulator]', 'name = "emulator"', `base_url = "${url}/v1"`, 'env_key = "EMULATOR_KEY"', 'wire_api = "responses"']
  writeFileSync(join(folder, 'config.toml'), [...settings, ...provider].join('\n'))
  const env = { ...homes, CODEX_HOME: folder, EMULATOR_KEY: 'any', CODEX_API_KEY: 'any' }
  // The folder is no git repository, and a container may not allow the sandbox.
  const flags = ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', '--json', ...args]
  const lines = (await run('@openai/codex/bin/codex.js', [...flags, prompt], env)).split('\n').filter((line) => line.startsWith('{'))
  const events = lines.map((line) => JSON.parse(line))
  assert.ok(events.some((event) => event.type === 'turn.completed'), lines.join('\n'))
  const said = events.filter((event) => event.item?.type === 'agent_message').map((event) => event.item.text)
  return { said: said.at(-1), events }
}
const own = ['model_provider = "emulator"']

// No task with an MCP server: Codex lists its tools in a namespace, and the calls of the emulator do not name it.
const codexCli = {
  async plain(url) {
    assert.equal((await codex(url, own, 'Say hello.\nemulate: say Hello from the emulator')).said, 'Hello from the emulator')
  },
  async tool(url) {
    const call = JSON.stringify({ cmd: 'cat note.txt' })
    const { said, events } = await codex(url, own, `What is the word?\nemulate: call exec_command ${call}\nemulate: repeat`)
    assert.ok(said.includes(word), said)
    assert.ok(events.some((event) => event.item?.type === 'command_execution' && event.item.exit_code === 0))
  },
  async structured(url) {
    isTown(JSON.parse((await codex(url, own, 'A town.\nemulate: answer', '--output-schema', join(folder, 'town.json'))).said))
  },
  // The built-in provider tries a WebSocket first, and falls back to HTTP on a 426.
  async builtInProvider(url) {
    const { said } = await codex(url, [`openai_base_url = "${url}/v1"`], 'Say hello.\nemulate: say Hello from the emulator')
    assert.equal(said, 'Hello from the emulator')
  },
}

// --- Gemini CLI

const gemini = async (url, prompt, ...args) => {
  const more = typeof args.at(-1) === 'object' ? args.pop() : {}
  const homes = home('gemini', url)
  mkdirSync(join(homes.HOME, '.gemini'), { recursive: true })
  const settings = {
    security: { auth: { selectedType: 'gemini-api-key' } },
    privacy: { usageStatisticsEnabled: false },
    general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
    telemetry: { enabled: false },
    ...more,
  }
  writeFileSync(join(homes.HOME, '.gemini', 'settings.json'), JSON.stringify(settings))
  const env = { ...homes, GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: 'any', GEMINI_TELEMETRY_ENABLED: 'false', GEMINI_CLI_TRUST_WORKSPACE: 'true' }
  const out = await run('@google/gemini-cli/bundle/gemini.js', ['-p', prompt, '--output-format', 'json', ...args], env)
  const answer = JSON.parse(out.slice(out.indexOf('{')))
  const models = Object.entries(answer.stats.models)
  assert.ok(models.length > 0 && models.every(([, model]) => model.api.totalErrors === 0), JSON.stringify(answer.stats))
  return { ...answer, models }
}

const geminiCli = {
  async plain(url) {
    const answer = await gemini(url, 'Say hello.\nemulate: say Hello from the emulator', '-m', 'gemini-2.5-pro')
    assert.equal(answer.response, 'Hello from the emulator')
  },
  async tool(url) {
    const call = JSON.stringify({ file_path: 'note.txt' })
    const answer = await gemini(url, `What is the word?\nemulate: call read_file ${call}\nemulate: repeat`, '--yolo', '-m', 'gemini-2.5-pro')
    assert.ok(answer.response.includes(word), answer.response)
    assert.equal(answer.stats.tools.byName.read_file.success, 1)
  },
  async mcp(url) {
    const prompt = 'What is the word?\nemulate: call mcp_words_lookup.word\nemulate: repeat'
    const answer = await gemini(url, prompt, '--yolo', '-m', 'gemini-2.5-pro', { mcpServers: { words: { ...behindProxy, trust: true } } })
    assert.ok(answer.response.includes(word), answer.response)
  },
  // Gemini CLI has no flag for a schema. Without a model it first asks a small one, by a schema of its own, which model is to
  // answer; the schema of the answer is in the prompt.
  async structured(url) {
    const answer = await gemini(url, `A town by this JSON Schema:\n  ${JSON.stringify(town)}\nemulate: answer`)
    isTown(JSON.parse(answer.response))
    // The models may have one name: behind the gateway, one model answers to all of them.
    const requests = answer.models.reduce((sum, [, model]) => sum + model.api.totalRequests, 0)
    assert.ok(requests > 1, 'the router asked for structured output')
  },
}

const agents = {
  [`Claude Code ${version('@anthropic-ai/claude-code')}`]: claudeCode,
  [`Codex ${version('@openai/codex')}`]: codexCli,
  [`Gemini CLI ${version('@google/gemini-cli')}`]: geminiCli,
}
const faults = []
const attempt = async (agent, name, task, url) => {
  try {
    await task(url)
    return name
  } catch (error) {
    faults.push(`${agent}, ${name}: ${error.stack}`)
    return `**no ${name}**`
  }
}

// Every task against the emulator.
const runEmulated = async (url) => {
  let count = 0
  for (const [agent, tasks] of Object.entries(agents)) {
    for (const [name, task] of Object.entries(tasks)) {
      if (name === 'mcp' && !behindProxy) continue
      count += 1
      await attempt(agent, name, task, url)
    }
  }
  console.log([...faults, `agents, emulated: ${Object.keys(agents).join(', ')}: ${count} tasks, ${faults.length} faults`].join('\n'))
}

// Three tasks through the gateway to each provider. The cells are independent, so a few of them run side by side.
const runThroughGateway = async (providers) => {
  const rows = Object.keys(agents).map(() => [])
  const cells = Object.entries(agents).flatMap(([agent, tasks], row) => providers.map((at, column) => ({ agent, tasks, at, row, column })))
  const work = async () => {
    for (let cell = cells.shift(); cell; cell = cells.shift()) {
      const { agent, tasks, at, row, column } = cell
      const kinds = []
      for (const name of ['plain', 'tool', 'structured']) {
        kinds.push(await attempt(`${agent} to ${at.provider}`, name, tasks[name], at.routed))
      }
      rows[row][column] = kinds.join(', ')
    }
  }
  await Promise.all([work(), work(), work()])
  console.error(faults.join('\n'))
  console.log(`| client | ${providers.map(({ provider }) => provider).join(' | ')} |`)
  console.log(`|${'---|'.repeat(providers.length + 1)}`)
  Object.keys(agents).forEach((agent, row) => console.log(`| ${agent} | ${rows[row].join(' | ')} |`))
}

const place = process.argv[2]
await (place.startsWith('[') ? runThroughGateway(JSON.parse(place)) : runEmulated(place))
rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
process.exit(faults.length ? 1 : 0)
