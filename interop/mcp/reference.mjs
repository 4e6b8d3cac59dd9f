// A server with what the conformance suites ask of servers (the `test_…` tools), on the official SDK. It speaks every revision, so that a
// run against it alone shows what a run through the proxy has to reach.
//
// Usage: node reference.mjs [stdio]. Over HTTP it prints its address as the first line.

import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { Readable } from 'node:stream'
import {
  MissingRequiredClientCapabilityError, ProtocolError, ProtocolErrorCode, Server, WebStandardStreamableHTTPServerTransport, createMcpHandler,
  hostHeaderValidationResponse, inputRequired, isLegacyRequest, localhostAllowedHostnames, localhostAllowedOrigins, originValidationResponse,
} from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA='
const pause = () => new Promise((done) => setTimeout(done, 50))
const text = (value) => ({ content: [{ type: 'text', text: value }] })
const image = { type: 'image', data: PNG, mimeType: 'image/png' }
const resource = (uri, mimeType, value) => ({ type: 'resource', resource: { uri, mimeType, text: value } })
const object = (properties = {}, required = Object.keys(properties)) => ({ type: 'object', properties, required })
const string = { type: 'string' }

const elicitation = (message, properties) => inputRequired.elicit({ message, requestedSchema: object(properties) })
const nameQuestion = (message) => elicitation(message, { name: string })
const sampling = (prompt, maxTokens) =>
  inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text: prompt } }], maxTokens })
const titled = [{ const: 'value1', title: 'First Option' }, { const: 'value2', title: 'Second Option' }, { const: 'value3', title: 'Third Option' }]

// Asks the client, in the way of its revision: a request of its own, or a result that asks for another round.
const ask = async (ctx, method, params) => ctx.mcpReq.send({ method, params })
const asked = (ctx, key) => ctx.mcpReq.inputResponses?.[key]
const accepted = (ctx, key) => (asked(ctx, key)?.action === 'accept' ? asked(ctx, key).content : undefined)
const state = (ctx) => (typeof ctx.mcpReq.requestState === 'function' ? ctx.mcpReq.requestState() : ctx.mcpReq.requestState)
const capabilities = (ctx) => ctx.mcpReq.envelope?.['io.modelcontextprotocol/clientCapabilities'] ?? {}
const log = (ctx, data) => ctx.mcpReq.notify({ method: 'notifications/message', params: { level: 'info', data } })

const tools = {
  test_simple_text: [object(), () => text('This is a simple text response for testing.')],
  test_image_content: [object(), () => ({ content: [image] })],
  test_audio_content: [object(), () => ({ content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] })],
  test_embedded_resource: [object(), () => ({ content: [resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')] })],
  test_multiple_content_types: [object(), () => ({
    content: [
      { type: 'text', text: 'Multiple content types test:' }, image,
      resource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ],
  })],
  test_tool_with_logging: [object(), async (_, ctx) => {
    for (const line of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await log(ctx, line)
      await pause()
    }
    return text('Logged three times')
  }],
  test_error_handling: [object(), () => ({ ...text('This tool intentionally returns an error for testing'), isError: true })],
  test_tool_with_progress: [object(), async (_, ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined) {
        await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } })
      }
      await pause()
    }
    return text('Progressed')
  }],
  test_sampling: [object({ prompt: string }), async ({ prompt }, ctx) => {
    const answer = await ask(ctx, 'sampling/createMessage', { messages: [{ role: 'user', content: { type: 'text', text: prompt } }], maxTokens: 100 })
    return text(`LLM response: ${answer.content.text}`)
  }],
  test_elicitation: [object({ message: string }), async ({ message }, ctx) => {
    const requestedSchema = object({ username: { ...string, description: "User's response" }, email: { ...string, description: "User's email address" } })
    const answer = await ask(ctx, 'elicitation/create', { message, requestedSchema })
    return text(`User response: action: ${answer.action}, content: ${JSON.stringify(answer.content)}`)
  }],
  test_elicitation_sep1034_defaults: [object(), async (_, ctx) => {
    const requestedSchema = object({
      name: { ...string, default: 'John Doe' }, age: { type: 'integer', default: 30 }, score: { type: 'number', default: 95.5 },
      status: { ...string, enum: ['active', 'inactive', 'pending'], default: 'active' }, verified: { type: 'boolean', default: true },
    }, [])
    const answer = await ask(ctx, 'elicitation/create', { message: 'Defaults', requestedSchema })
    return text(`Elicitation completed: action=${answer.action}, content=${JSON.stringify(answer.content)}`)
  }],
  test_elicitation_sep1330_enums: [object(), async (_, ctx) => {
    const options = ['option1', 'option2', 'option3']
    const requestedSchema = object({
      untitledSingle: { ...string, enum: options }, titledSingle: { ...string, oneOf: titled },
      legacyEnum: { ...string, enum: ['opt1', 'opt2', 'opt3'], enumNames: ['Option One', 'Option Two', 'Option Three'] },
      untitledMulti: { type: 'array', items: { ...string, enum: options } }, titledMulti: { type: 'array', items: { anyOf: titled } },
    }, [])
    const answer = await ask(ctx, 'elicitation/create', { message: 'Enums', requestedSchema })
    return text(`Elicitation completed: action=${answer.action}, content=${JSON.stringify(answer.content)}`)
  }],
  json_schema_2020_12_tool: [{
    $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object',
    $defs: { address: { $anchor: 'addressDef', type: 'object', properties: { street: string, city: string } } },
    properties: { name: string, address: { $ref: '#/$defs/address' }, contactMethod: { ...string, enum: ['phone', 'email'] }, phone: string, email: string },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    then: { required: ['phone'] }, else: { required: ['email'] }, additionalProperties: false,
  }, (args) => text(JSON.stringify(args))],
  test_custom_headers: [object({ region: { ...string, 'x-mcp-header': 'Region' }, note: string }, ['region']), (args) => text(JSON.stringify(args))],
  test_missing_capability: [object(), (_, ctx) => {
    if (!capabilities(ctx).sampling) throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } })
    return text('The client samples')
  }],
  test_streaming_elicitation: [object(), (_, ctx) =>
    accepted(ctx, 'user_name') ? text('Done') : inputRequired({ inputRequests: { user_name: nameQuestion('What is your name?') } })],
  test_logging_tool: [object(), async (_, ctx) => {
    if (ctx.mcpReq._meta?.['io.modelcontextprotocol/logLevel']) await log(ctx, 'Called')
    return text('Logged where that was asked for')
  }],
  test_trigger_tool_change: [object(), (_, ctx) => (ctx.changed.toolsChanged(), text('Changed'))],
  test_trigger_prompt_change: [object(), (_, ctx) => (ctx.changed.promptsChanged(), text('Changed'))],
  test_input_required_result_elicitation: [object(), (_, ctx) => {
    const name = accepted(ctx, 'user_name')?.name
    return typeof name === 'string' ? text(`Hello, ${name}!`) : inputRequired({ inputRequests: { user_name: nameQuestion('What is your name?') } })
  }],
  test_input_required_result_sampling: [object(), (_, ctx) =>
    asked(ctx, 'capital_question')
      ? text(asked(ctx, 'capital_question').content.text)
      : inputRequired({ inputRequests: { capital_question: sampling('What is the capital of France?', 100) } })],
  test_input_required_result_list_roots: [object(), (_, ctx) =>
    asked(ctx, 'client_roots')
      ? text(asked(ctx, 'client_roots').roots.map(({ uri }) => uri).join(' '))
      : inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } })],
  test_input_required_result_request_state: [object(), (_, ctx) => {
    if (accepted(ctx, 'confirm') && state(ctx) === 'state-of-confirm') return text('state-ok')
    return inputRequired({ inputRequests: { confirm: elicitation('Please confirm', { ok: { type: 'boolean' } }) }, requestState: 'state-of-confirm' })
  }],
  test_input_required_result_multiple_inputs: [object(), (_, ctx) => {
    if (accepted(ctx, 'user_name') && asked(ctx, 'greeting') && asked(ctx, 'client_roots') && state(ctx) === 'three') return text('All three')
    const inputRequests = { user_name: nameQuestion('What is your name?'), greeting: sampling('Generate a greeting', 50), client_roots: inputRequired.listRoots() }
    return inputRequired({ inputRequests, requestState: 'three' })
  }],
  test_input_required_result_multi_round: [object(), (_, ctx) => {
    if (state(ctx) === 'round-2' && accepted(ctx, 'step2')) return text('Both steps are done')
    if (state(ctx) === 'round-1' && accepted(ctx, 'step1')) {
      return inputRequired({ inputRequests: { step2: elicitation('Step 2: What is your favorite color?', { color: string }) }, requestState: 'round-2' })
    }
    return inputRequired({ inputRequests: { step1: nameQuestion('Step 1: What is your name?') }, requestState: 'round-1' })
  }],
  test_input_required_result_tampered_state: [object(), (_, ctx) => {
    if (state(ctx) === undefined) {
      return inputRequired({ inputRequests: { confirm: elicitation('Please confirm', { ok: { type: 'boolean' } }) }, requestState: 'untouched' })
    }
    if (state(ctx) !== 'untouched') throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'the requestState was changed')
    return text('The state is untouched')
  }],
  test_input_required_result_capabilities: [object(), (_, ctx) => {
    const able = capabilities(ctx)
    const inputRequests = {}
    if (able.elicitation) inputRequests.user_name = nameQuestion('What is your name?')
    if (able.sampling) inputRequests.greeting = sampling('Generate a greeting', 50)
    if (able.roots) inputRequests.client_roots = inputRequired.listRoots()
    return Object.keys(inputRequests).every((key) => asked(ctx, key)) ? text('Done') : inputRequired({ inputRequests })
  }],
}

const user = (content) => ({ role: 'user', content })
const says = (value) => user({ type: 'text', text: value })
const argument = (name) => ({ name, description: `The argument ${name}`, required: true })
const prompts = {
  test_simple_prompt: [[], () => [says('This is a simple prompt for testing.')]],
  test_prompt_with_arguments: [['arg1', 'arg2'], ({ arg1, arg2 }) => [says(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)]],
  test_prompt_with_embedded_resource: [['resourceUri'], ({ resourceUri }) => [
    user(resource(resourceUri, 'text/plain', 'Embedded resource content for testing.')), says('Please process the embedded resource above.'),
  ]],
  test_prompt_with_image: [[], () => [user(image), says('Please analyze the image above.')]],
  test_input_required_result_prompt: [[], (_, ctx) => {
    const given = accepted(ctx, 'user_context')
    return given ? [says(`In the context of ${given.context}`)] : undefined
  }],
}

const resources = {
  'test://static-text': { mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
  'test://static-binary': { mimeType: 'image/png', blob: PNG },
  'test://watched-resource': { mimeType: 'text/plain', text: 'Watched' },
}
const read = (uri) => {
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1]
  if (id !== undefined) return { mimeType: 'application/json', text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) }
  if (resources[uri]) return resources[uri]
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Resource not found', { uri })
}

let notify
const build = ({ era }) => {
  const own = { tools: { listChanged: true }, prompts: { listChanged: true }, resources: era === 'legacy' ? { subscribe: true } : {}, completions: {} }
  const server = new Server({ name: 'reference', version: '1.0.0' }, { capabilities: { ...own, logging: {} } })
  const changed = {
    toolsChanged: () => (era === 'legacy' ? server.sendToolListChanged() : notify?.toolsChanged()),
    promptsChanged: () => (era === 'legacy' ? server.sendPromptListChanged() : notify?.promptsChanged()),
  }
  server.setRequestHandler('tools/list', () => ({
    tools: Object.entries(tools).map(([name, [inputSchema]]) => ({ name, description: `The tool ${name}`, inputSchema })),
  }))
  server.setRequestHandler('tools/call', ({ params }, ctx) => {
    const tool = tools[params.name]
    if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `there is no tool ${params.name}`)
    return tool[1](params.arguments ?? {}, Object.assign(ctx, { changed }))
  })
  server.setRequestHandler('prompts/list', () => ({
    prompts: Object.entries(prompts).map(([name, [names]]) => ({ name, description: `The prompt ${name}`, arguments: names.map(argument) })),
  }))
  server.setRequestHandler('prompts/get', ({ params }, ctx) => {
    const messages = prompts[params.name]?.[1](params.arguments ?? {}, ctx)
    return messages ? { messages } : inputRequired({ inputRequests: { user_context: elicitation('What context should the prompt use?', { context: string }) } })
  })
  server.setRequestHandler('resources/list', () => ({
    resources: Object.entries(resources).map(([uri, { mimeType }]) => ({ uri, name: uri, description: `The resource ${uri}`, mimeType })),
  }))
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [{ uriTemplate: 'test://template/{id}/data', name: 'template', description: 'A template', mimeType: 'application/json' }],
  }))
  server.setRequestHandler('resources/read', ({ params }) => ({ contents: [{ uri: params.uri, ...read(params.uri) }] }))
  server.setRequestHandler('completion/complete', ({ params }) => {
    const values = ['paris', 'park', 'party'].filter((word) => word.startsWith(params.argument.value))
    return { completion: { values, total: values.length, hasMore: false } }
  })
  if (era === 'legacy') {
    server.setRequestHandler('resources/subscribe', () => ({}))
    server.setRequestHandler('resources/unsubscribe', () => ({}))
    server.setRequestHandler('logging/setLevel', () => ({}))
  }
  return server
}

// --- Over HTTP: each client with a session has a server of its own, requests without one are served one by one.

const modern = createMcpHandler(build, { legacy: 'reject' })
notify = modern.notify
const sessions = new Map()
const legacy = async (request) => {
  const known = sessions.get(request.headers.get('mcp-session-id'))
  if (known) return known.handleRequest(request)
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, transport),
    onsessionclosed: (id) => void sessions.delete(id),
  })
  await build({ era: 'legacy' }).connect(transport)
  return transport.handleRequest(request)
}
const serve = async (request) =>
  hostHeaderValidationResponse(request, localhostAllowedHostnames()) ?? originValidationResponse(request, localhostAllowedOrigins()) ??
  ((await isLegacyRequest(request)) ? legacy(request) : modern.fetch(request))

if (process.argv[2] === 'stdio') {
  serveStdio(build)
} else {
  const http = createServer(async (incoming, outgoing) => {
    const body = ['GET', 'HEAD', 'DELETE'].includes(incoming.method) ? undefined : Readable.toWeb(incoming)
    const left = new AbortController()
    outgoing.on('close', () => left.abort())
    const url = `http://${incoming.headers.host}${incoming.url}`
    const request = new Request(url, { method: incoming.method, headers: incoming.headers, body, duplex: 'half', signal: left.signal })
    const response = await serve(request)
    outgoing.writeHead(response.status, Object.fromEntries(response.headers))
    outgoing.flushHeaders()
    if (!response.body) return outgoing.end()
    Readable.fromWeb(response.body).on('error', () => outgoing.destroy()).pipe(outgoing)
  })
  http.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${http.address().port}/mcp`))
}
