// The official Node SDKs read what polywire wrote.
//
// Usage: node sdks.mjs CASES, the output of `cargo run -p polywire --example interop corpus/wire`, in a folder where the
// packages are installed. Requests are held against the SDKs' own types; answers, streams and errors are served on loopback to the SDKs'
// own clients.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createAmazonBedrock } from '@ai-sdk/amazon-bedrock'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import Anthropic from '@anthropic-ai/sdk'
import { BedrockRuntimeClient, ConverseCommand, ConverseStreamCommand } from '@aws-sdk/client-bedrock-runtime'
import { GoogleGenAI } from '@google/genai'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import { APICallError, generateText, jsonSchema, streamText, tool } from 'ai'
import OpenAI from 'openai'

// What an SDK does not take as it is meant: case, target, client, kinds, reason. A row that is no longer needed fails.
const AS_IT_WAS = 'an answer in its own protocol comes back as it was, not as it should have been'
const THOUGHTS = "thoughts go into `reasoning_content`, as hosts of open models have it; the owner's types do not know it"
const SAMPLING = 'the types are of the newest version of the API, which has no sampling; these models are asked in the version before'
const NEW_FIELD = 'a field that nobody knows yet is passed on; the types are closed'
const CUSTOM = 'calls are compared as calls of functions; custom tools and namespaces have another form, which the laws of the wire compare'
const NAMESPACE = 'a namespace without a description goes out as it came; the types ask for one'
const ANSWER = ['response', 'stream']
const REQUEST = ['request']
const EXCEPTIONS = [
  ['openai-chat/request-thinking', 'openai-chat', 'types', REQUEST, THOUGHTS],
  ['openai-responses/request-reasoning', 'openai-chat', 'types', REQUEST, THOUGHTS],
  ['anthropic-messages/request-thinking', 'openai-chat', 'types', REQUEST, THOUGHTS],
  ['bedrock-converse/request-thinking', 'openai-chat', 'types', REQUEST, THOUGHTS],
  ['gemini/request-thinking', 'openai-chat', 'types', REQUEST, THOUGHTS],
  ['openai-chat/request-new-fields', 'openai-chat', 'types', REQUEST, NEW_FIELD],
  ['anthropic-messages/request-features', 'anthropic-messages', 'types', REQUEST, NEW_FIELD],
  ['anthropic-messages/request-sampling', 'anthropic-messages', 'types', REQUEST, SAMPLING],
  ['gemini/request-snake-case', 'anthropic-messages', 'types', REQUEST, SAMPLING],
  ['bedrock-converse/request-sampling', 'anthropic-messages', 'types', REQUEST, SAMPLING],
  ['openai-chat/response-parallel-calls', 'openai-chat', 'openai', ANSWER, AS_IT_WAS],
  ['openai-chat/response-parallel-calls', 'openai-chat', 'ai', ANSWER, AS_IT_WAS],
  ['gemini/response-code-assist', 'gemini', 'genai', ANSWER, AS_IT_WAS],
  ['gemini/response-code-assist', 'gemini', 'ai', ANSWER, AS_IT_WAS],
  ['gemini/response-parallel-calls', 'gemini', 'genai', ANSWER, AS_IT_WAS],
  ['gemini/response-parallel-calls', 'gemini', 'ai', ANSWER, AS_IT_WAS],
  ['gemini/stream-text-and-call', 'gemini', 'genai', ANSWER, AS_IT_WAS],
  ['gemini/stream-text-and-call', 'gemini', 'ai', ANSWER, AS_IT_WAS],
  ['openai-chat/stream-custom-call', 'openai-chat', 'openai', ANSWER, CUSTOM],
  ['openai-chat/stream-custom-call', 'openai-chat', 'ai', ANSWER, CUSTOM],
  ['openai-chat/stream-custom-call', 'openai-responses', 'openai', ANSWER, CUSTOM],
  ['openai-chat/stream-custom-call', 'openai-responses', 'ai', ANSWER, CUSTOM],
  ['openai-responses/response-custom-call', 'openai-chat', 'openai', ANSWER, CUSTOM],
  ['openai-responses/response-custom-call', 'openai-chat', 'ai', ANSWER, CUSTOM],
  ['openai-responses/response-custom-call', 'openai-responses', 'openai', ANSWER, CUSTOM],
  ['openai-responses/response-custom-call', 'openai-responses', 'ai', ANSWER, CUSTOM],
  ['openai-responses/stream-custom-call', 'openai-chat', 'openai', ANSWER, CUSTOM],
  ['openai-responses/stream-custom-call', 'openai-chat', 'ai', ANSWER, CUSTOM],
  ['openai-responses/stream-custom-call', 'openai-responses', 'openai', ANSWER, CUSTOM],
  ['openai-responses/stream-custom-call', 'openai-responses', 'ai', ANSWER, CUSTOM],
  ['openai-responses/stream-new-fields', 'openai-responses', 'openai', ANSWER, CUSTOM],
  ['openai-responses/stream-new-fields', 'openai-responses', 'ai', ANSWER, CUSTOM],
  ['openai-responses/request-codex', 'openai-responses', 'types', REQUEST, NAMESPACE],
]

// Why an answer ended, in the words of a client. A reason that is not here has no word there.
const STOPS = {
  'openai-chat': { end_turn: 'stop', max_tokens: 'length', tool_use: 'tool_calls', content_filter: 'content_filter' },
  'openai-responses': {
    end_turn: 'completed', max_tokens: 'max_output_tokens', tool_use: 'completed', content_filter: 'content_filter',
  },
  'anthropic-messages': { end_turn: 'end_turn', max_tokens: 'max_tokens', tool_use: 'tool_use', refusal: 'refusal' },
  gemini: { end_turn: 'STOP', max_tokens: 'MAX_TOKENS', tool_use: 'STOP' },
  'bedrock-converse': { end_turn: 'end_turn', max_tokens: 'max_tokens', tool_use: 'tool_use' },
  ai: { end_turn: 'stop', max_tokens: 'length', tool_use: 'tool-calls' },
}

const hi = [{ role: 'user', content: 'hi' }]
const joined = (list) => list.join('')
const parsed = (text) => JSON.parse(text || '{}')

// Each client gives { text, refusal, calls, usage, stop }; a field that is undefined has no place there.

function chat(url) {
  const client = new OpenAI({ baseURL: url, apiKey: 'k', maxRetries: 0 })
  const heard = ({ choices: [{ message, finish_reason }], usage }) => ({
    text: message.content ?? '',
    refusal: message.refusal ?? '',
    calls: (message.tool_calls ?? []).map((call) => [call.id, call.function.name, parsed(call.function.arguments)]),
    usage: usage && [usage.prompt_tokens, usage.completion_tokens],
    stop: finish_reason,
  })
  return {
    response: async () => heard(await client.chat.completions.create({ model: 'm', messages: hi })),
    stream: async () => {
      const stream = client.chat.completions.stream({ model: 'm', messages: hi })
      for await (const _ of stream);
      return heard(await stream.finalChatCompletion())
    },
  }
}

function responses(url) {
  const client = new OpenAI({ baseURL: url, apiKey: 'k', maxRetries: 0 })
  const heard = (answer) => {
    const parts = answer.output.flatMap((item) => (item.type === 'message' ? item.content : []))
    const calls = answer.output.filter((item) => item.type === 'function_call')
    return {
      text: joined(parts.filter((part) => part.type === 'output_text').map((part) => part.text)),
      refusal: joined(parts.filter((part) => part.type === 'refusal').map((part) => part.refusal)),
      calls: calls.map((call) => [call.call_id, call.name, parsed(call.arguments)]),
      usage: answer.usage && [answer.usage.input_tokens, answer.usage.output_tokens],
      stop: answer.incomplete_details?.reason ?? answer.status,
    }
  }
  return {
    response: async () => heard(await client.responses.create({ model: 'm', input: 'hi' })),
    stream: async () => heard(await client.responses.stream({ model: 'm', input: 'hi' }).finalResponse()),
  }
}

function messages(url) {
  const client = new Anthropic({ baseURL: url, apiKey: 'k', maxRetries: 0 })
  const asked = { model: 'm', max_tokens: 9, messages: hi }
  const heard = ({ content, usage, stop_reason, stop_details }) => ({
    text: joined(content.filter((block) => block.type === 'text').map((block) => block.text)),
    refusal: stop_details?.explanation ?? '',
    calls: content.filter((block) => block.type === 'tool_use').map((block) => [block.id, block.name, block.input]),
    usage: [
      usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0),
      usage.output_tokens,
    ],
    stop: stop_reason,
  })
  return {
    response: async () => heard(await client.messages.create(asked)),
    stream: async () => heard(await client.messages.stream(asked).finalMessage()),
  }
}

function gemini(url) {
  const client = new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: url } })
  const asked = { model: 'm', contents: 'hi' }
  const heard = (chunks) => {
    const candidates = chunks.flatMap((chunk) => chunk.candidates ?? [])
    const parts = candidates.flatMap((candidate) => candidate.content?.parts ?? [])
    const usage = chunks.map((chunk) => chunk.usageMetadata).filter(Boolean).at(-1)
    const calls = parts.map((part) => part.functionCall).filter(Boolean)
    return {
      text: joined(parts.filter((part) => part.text && !part.thought).map((part) => part.text)),
      calls: calls.map((call) => [call.id, call.name, call.args ?? {}]),
      usage: usage && [usage.promptTokenCount ?? 0, (usage.candidatesTokenCount ?? 0) + (usage.thoughtsTokenCount ?? 0)],
      stop: candidates.map((candidate) => candidate.finishReason).filter(Boolean).at(-1),
    }
  }
  return {
    response: async () => heard([await client.models.generateContent(asked)]),
    stream: async () => {
      const chunks = []
      for await (const chunk of await client.models.generateContentStream(asked)) chunks.push(chunk)
      return heard(chunks)
    },
  }
}

function converse(url) {
  const credentials = { accessKeyId: 'k', secretAccessKey: 'k' }
  // What it says about old versions of Node is no fault here, and the loopback server does not speak HTTP/2.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true'
  const requestHandler = new NodeHttpHandler()
  const client = new BedrockRuntimeClient({ endpoint: url, region: 'r', credentials, maxAttempts: 1, requestHandler })
  const asked = { modelId: 'm', messages: [{ role: 'user', content: [{ text: 'hi' }] }] }
  const heard = (content, usage, stop) => ({
    text: joined(content.map((block) => block.text ?? '')),
    calls: content.filter((block) => block.toolUse).map(({ toolUse }) => [toolUse.toolUseId, toolUse.name, toolUse.input]),
    usage: usage && [usage.inputTokens + (usage.cacheReadInputTokens ?? 0) + (usage.cacheWriteInputTokens ?? 0), usage.outputTokens],
    stop,
  })
  return {
    response: async () => {
      const { output, usage, stopReason } = await client.send(new ConverseCommand(asked))
      return heard(output.message.content, usage, stopReason)
    },
    stream: async () => {
      const blocks = []
      let usage, stop
      for await (const event of (await client.send(new ConverseStreamCommand(asked))).stream) {
        const { contentBlockIndex: at, start, delta } = event.contentBlockStart ?? event.contentBlockDelta ?? {}
        if (start?.toolUse) blocks[at] = { toolUse: { ...start.toolUse, input: '' } }
        if (delta?.toolUse) blocks[at].toolUse.input += delta.toolUse.input
        if (delta?.text) blocks[at] = { text: (blocks[at]?.text ?? '') + delta.text }
        usage = event.metadata?.usage ?? usage
        stop = event.messageStop?.stopReason ?? stop
      }
      const whole = ({ text, toolUse }) => (toolUse ? { toolUse: { ...toolUse, input: parsed(toolUse.input) } } : { text })
      return heard(blocks.filter(Boolean).map(whole), usage, stop)
    },
  }
}

// The AI SDK, over its provider for the protocol.
function ai(model) {
  const heard = async (answer) => {
    const usage = await answer.usage
    // What the provider calls itself is not for us to call.
    const calls = (await answer.toolCalls).filter((call) => !call.providerExecuted)
    return {
      text: await answer.text,
      calls: calls.map((call) => [call.toolCallId, call.toolName, call.input]),
      usage: usage && [usage.inputTokens, usage.outputTokens],
      stop: await answer.finishReason,
    }
  }
  const asked = ({ answer }) => {
    const names = answer?.content.filter((block) => block.type === 'tool_call').map((block) => block.name) ?? []
    const any = tool({ inputSchema: jsonSchema({ type: 'object' }) })
    const tools = names.length ? Object.fromEntries(names.map((name) => [name, any])) : undefined
    return { model, prompt: 'hi', maxRetries: 0, tools }
  }
  return {
    response: async (served) => heard(await generateText(asked(served))),
    stream: async (served) => {
      let fault
      const answer = streamText({ ...asked(served), onError: ({ error }) => (fault = error) })
      await answer.consumeStream()
      if (fault) throw fault
      return heard(answer)
    },
  }
}

// What polywire says the answer is must be what the SDK says it is.
function compare({ answer }, heard, stops) {
  const said = joined(answer.content.filter((block) => block.type === 'text').map((block) => block.text))
  assert.ok(heard.text.startsWith(said), `text ${JSON.stringify(heard.text)}, not ${JSON.stringify(said)}`)
  if (heard.refusal !== undefined) assert.ok((heard.text + heard.refusal).includes(answer.refusal ?? ''), 'no refusal')
  const calls = answer.content.filter((block) => block.type === 'tool_call')
  assert.deepEqual(heard.calls, calls.map((call) => [call.id, call.name, parsed(call.arguments)]))
  if (answer.usage) assert.deepEqual(heard.usage, [answer.usage.input_tokens, answer.usage.output_tokens])
  assert.equal(heard.stop, stops[answer.stop] ?? heard.stop)
}

async function compareError(served, client) {
  const error = await client.response(served).then(() => assert.fail('nothing was raised'), (error) => error)
  const status = APICallError.isInstance(error) ? error.statusCode : (error.$metadata?.httpStatusCode ?? error.status)
  assert.equal(status, served.status, String(error))
  assert.ok(error.message.includes(served.error.message), error.message)
}

// The type of a request in each protocol. Enums of @google/genai are taken as their words, and of the body of `generateContent` the SDK
// has only the parts; the SDK of AWS has bytes where the body has base64, and the model in it.
const TYPES = {
  'openai-chat': 'ChatCompletionCreateParams',
  'openai-responses': 'ResponseCreateParams',
  'anthropic-messages': 'MessageCreateParams',
  gemini: 'GenerateContent',
  'bedrock-converse': 'ConverseRequest',
}
const PRELUDE = `
import type { ChatCompletionCreateParams } from 'openai/resources/chat/completions'
import type { ResponseCreateParams } from 'openai/resources/responses/responses'
import type { MessageCreateParams } from '@anthropic-ai/sdk/resources/messages'
import type { ConverseRequest } from '@aws-sdk/client-bedrock-runtime'
import type { Content, GenerationConfig, SafetySetting, Tool, ToolConfig } from '@google/genai'
type Words<T> = T extends string ? \`\${T}\` : T extends object ? { [K in keyof T]: Words<T[K]> } : T
interface GenerateContent {
  contents: Words<Content>[]
  systemInstruction?: Words<Content>
  tools?: Words<Tool>[]
  toolConfig?: Words<ToolConfig>
  generationConfig?: Words<GenerationConfig>
  safetySettings?: Words<SafetySetting>[]
  cachedContent?: string
  labels?: Record<string, string>
}
`
const BYTES = ['bytes', 'redactedContent']

// A request as the SDK is given it.
function expression({ to, body }) {
  if (to !== 'bedrock-converse') return JSON.stringify(body)
  const marked = (name, value) => (BYTES.includes(name) && typeof value === 'string' ? '@bytes' : value)
  return JSON.stringify({ modelId: 'm', ...body }, marked).replaceAll('"@bytes"', 'new Uint8Array()')
}

// What the compiler has to say about requests, as [case, fault]: one file, a request a line.
function typeFaults(requests) {
  const prelude = PRELUDE.split('\n')
  const lines = requests.map((request) => `void (${expression(request)} satisfies ${TYPES[request.to]})`)
  writeFileSync('requests.ts', [...prelude, ...lines].join('\n'))
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2022']
  const compiler = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', ...options, 'requests.ts'], { encoding: 'utf8' })
  const told = [...compiler.stdout.matchAll(/^requests\.ts\((\d+),\d+\): error (.*)$/gm)]
  if (compiler.status !== 0 && !told.length) throw new Error(`tsc: ${compiler.error ?? compiler.stdout + compiler.stderr}`)
  return told.map(([, line, fault]) => [requests[line - 1 - prelude.length] ?? { name: 'the types', to: line }, fault])
}

let reply
const server = createServer((request, response) => {
  request.resume().on('end', () => response.writeHead(reply.status, reply.headers).end(reply.body))
})
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
const url = `http://127.0.0.1:${server.address().port}`
const openai = createOpenAI({ baseURL: url, apiKey: 'k' })
const bedrock = createAmazonBedrock({ baseURL: url, region: 'r', accessKeyId: 'k', secretAccessKey: 'k' })
const CLIENTS = [
  ['openai-chat', 'openai', chat(url)],
  ['openai-chat', 'ai', ai(openai.chat('m'))],
  ['openai-responses', 'openai', responses(url)],
  ['openai-responses', 'ai', ai(openai.responses('m'))],
  ['anthropic-messages', 'anthropic', messages(url)],
  ['anthropic-messages', 'ai', ai(createAnthropic({ baseURL: url, apiKey: 'k' })('m'))],
  ['gemini', 'genai', gemini(url)],
  ['gemini', 'ai', ai(createGoogleGenerativeAI({ baseURL: url, apiKey: 'k' })('m'))],
  ['bedrock-converse', 'aws', converse(url)],
  ['bedrock-converse', 'ai', ai(bedrock('m'))],
]

const counts = {}
const faults = []
const unused = new Set(
  EXCEPTIONS.flatMap(([name, to, client, kinds]) => kinds.map((kind) => `${name} to ${to}, ${client}, ${kind}`)),
)
globalThis.AI_SDK_LOG_WARNINGS = false
const listed = new Set(unused)
const requests = []
for (const line of readFileSync(process.argv[2], 'utf8').trim().split('\n')) {
  const { said, ...place } = JSON.parse(line)
  const served = { ...place, ...said }
  if (served.kind === 'request') {
    requests.push(served)
    continue
  }
  const frames = served.to === 'bedrock-converse' ? 'application/vnd.amazon.eventstream' : 'text/event-stream'
  const type = served.kind === 'stream' ? frames : 'application/json'
  const body = Buffer.from(served.hex, 'hex')
  reply = { status: served.status ?? 200, headers: { 'content-type': type, ...served.headers }, body }
  for (const [, name, client] of CLIENTS.filter(([to]) => to === served.to)) {
    const key = `${served.name} to ${served.to}, ${name}, ${served.kind}`
    let count = served.kind
    try {
      if (served.kind === 'error') await compareError(served, client)
      else compare(served, await client[served.kind](served), STOPS[name === 'ai' ? 'ai' : served.to])
    } catch (fault) {
      count = 'exception'
      if (!unused.delete(key)) faults.push(`${key}: ${String(fault).slice(0, 1000)}`)
    }
    counts[count] = (counts[count] ?? 0) + 1
  }
}
server.close()
counts.request = requests.length
for (const [{ name, to }, fault] of typeFaults(requests)) {
  const key = `${name} to ${to}, types, request`
  if (listed.has(key)) unused.delete(key)
  else faults.push(`${key}: ${fault}`)
}
faults.push(...[...unused].map((key) => `${key}: listed as an exception, but fine`))
if (faults.length) console.log(faults.join('\n'))
console.log(`node: ${JSON.stringify(counts)}, ${faults.length} faults`)
process.exit(faults.length ? 1 : 0)
