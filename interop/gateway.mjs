// The official Node SDKs talk to the gateway, unmodified, with their own helpers: each protocol in, a provider of every protocol behind.
//
// Usage: node gateway.mjs PROVIDERS, a list of `{ provider, model, url }` with the URL of a running `polywire serve` without keys, in a
// folder where the packages are installed. Prints a table of what works and fails if anything does not.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod'
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod'
import { FinishReason, GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { zodFunction, zodResponseFormat, zodResponsesFunction, zodTextFormat } from 'openai/helpers/zod'
import { z } from 'zod'

const PROVIDERS = JSON.parse(process.argv[2])
const KINDS = ['plain', 'stream', 'tool', 'structured']
const asked = 'A town, please.'
const messages = [{ role: 'user', content: asked }]
const Street = z.object({ name: z.string(), numbers: z.array(z.number().int()) })
const Town = z.object({ name: z.string(), size: z.enum(['small', 'large']), river: z.string().nullable(), streets: z.array(Street) })
const Place = z.object({ city: z.string() })
// OpenAI's strict tools have no maps, so the gateway must carry this one in another shape where a provider has none.
const place = {
  type: 'object',
  properties: { city: { type: 'string' }, labels: { type: 'object', additionalProperties: { type: 'string' } } },
  required: ['city'],
}

const version = (name) => JSON.parse(readFileSync(resolve('node_modules', name, 'package.json'))).version
const checkArguments = ({ city, labels = {} }) => {
  assert.equal(typeof city, 'string')
  assert.ok(Object.values(labels).every((label) => typeof label === 'string'), JSON.stringify(labels))
}
const gathered = async (stream) => {
  const pieces = []
  for await (const piece of stream) pieces.push(piece)
  return pieces
}

const openai = (url) => new OpenAI({ baseURL: `${url}/v1`, apiKey: 'any', maxRetries: 0 })

const chat = ({ url, model }) => {
  const { completions } = openai(url).chat
  return {
    async plain() {
      const answer = await completions.create({ model, messages })
      assert.ok(answer.choices[0].message.content && answer.usage.completion_tokens)
    },
    async stream() {
      const stream = completions.stream({ model, messages, stream_options: { include_usage: true } })
      assert.ok((await gathered(stream)).length > 2)
      const { choices, usage } = await stream.finalChatCompletion()
      assert.ok(choices[0].message.content && usage.completion_tokens)
      assert.equal(choices[0].finish_reason, 'stop')
    },
    async tool() {
      const calls = []
      const weather = zodFunction({ name: 'weather', parameters: Place, function: ({ city }) => (calls.push(city), 'sunny') })
      assert.ok(await completions.runTools({ model, messages, tools: [weather] }).finalContent())
      assert.equal(calls.length, 1)
      const tools = [{ type: 'function', function: { name: 'weather', parameters: place } }]
      const answer = await completions.create({ model, messages, tools, tool_choice: 'required' })
      checkArguments(JSON.parse(answer.choices[0].message.tool_calls[0].function.arguments))
    },
    async structured() {
      const response_format = zodResponseFormat(Town, 'town')
      Town.parse((await completions.parse({ model, messages, response_format })).choices[0].message.parsed)
      const stream = completions.stream({ model, messages, response_format })
      Town.parse((await stream.finalChatCompletion()).choices[0].message.parsed)
    },
  }
}

const responses = ({ url, model }) => {
  const { responses } = openai(url)
  return {
    async plain() {
      const first = await responses.create({ model, input: asked })
      assert.ok(first.output_text)
      assert.ok((await responses.create({ model, input: 'And then?', previous_response_id: first.id })).output_text)
    },
    async stream() {
      const events = await gathered(await responses.create({ model, input: asked, stream: true }))
      assert.ok(events.some((event) => event.type === 'response.output_text.delta' && event.delta))
      assert.equal(events.at(-1).type, 'response.completed')
    },
    async tool() {
      const tools = [zodResponsesFunction({ name: 'weather', parameters: Place })]
      const { output } = await responses.parse({ model, input: messages, tools })
      const call = output.find((item) => item.type === 'function_call')
      Place.parse(call.parsed_arguments)
      const { parsed_arguments, ...plain } = call
      const done = { type: 'function_call_output', call_id: call.call_id, output: 'sunny' }
      assert.ok((await responses.create({ model, input: [...messages, plain, done], tools })).output_text)
      const open = [{ type: 'function', name: 'weather', parameters: place, strict: false }]
      const answer = await responses.create({ model, input: asked, tools: open, tool_choice: 'required' })
      checkArguments(JSON.parse(answer.output.find((item) => item.type === 'function_call').arguments))
    },
    async structured() {
      const text = { format: zodTextFormat(Town, 'town') }
      Town.parse((await responses.parse({ model, input: asked, text })).output_parsed)
      Town.parse((await responses.stream({ model, input: asked, text }).finalResponse()).output_parsed)
    },
  }
}

const claude = ({ url, model }) => {
  const client = new Anthropic({ baseURL: url, apiKey: 'any', maxRetries: 0 })
  const ask = { model, max_tokens: 500, messages }
  return {
    async plain() {
      const answer = await client.messages.create(ask)
      assert.ok(answer.content[0].text && answer.usage.output_tokens)
      assert.ok((await client.messages.countTokens({ model, messages })).input_tokens > 0)
    },
    async stream() {
      const message = await client.messages.stream(ask).finalMessage()
      assert.ok(message.content[0].text && message.usage.output_tokens)
      assert.equal(message.stop_reason, 'end_turn')
    },
    async tool() {
      const calls = []
      const run = ({ city }) => (calls.push(city), 'sunny')
      const weather = betaZodTool({ name: 'weather', description: 'Tells the weather.', inputSchema: Place, run })
      assert.ok((await client.beta.messages.toolRunner({ ...ask, tools: [weather] })).content[0].text)
      assert.equal(calls.length, 1)
      const tools = [{ name: 'weather', input_schema: place }]
      const answer = await client.messages.stream({ ...ask, tools, tool_choice: { type: 'any' } }).finalMessage()
      checkArguments(answer.content.find((block) => block.type === 'tool_use').input)
    },
    async structured() {
      const answer = await client.messages.parse({ ...ask, output_config: { format: zodOutputFormat(Town) } })
      Town.parse(answer.parsed_output)
    },
  }
}

const gemini = ({ url, model }) => {
  const client = new GoogleGenAI({ apiKey: 'any', httpOptions: { baseUrl: url } })
  const ask = { model, contents: asked }
  return {
    async plain() {
      const answer = await client.models.generateContent(ask)
      assert.ok(answer.text && answer.usageMetadata.candidatesTokenCount)
      assert.ok((await client.models.countTokens(ask)).totalTokens > 0)
    },
    async stream() {
      const pieces = await gathered(await client.models.generateContentStream(ask))
      assert.ok(pieces.map((piece) => piece.text ?? '').join(''))
      assert.equal(pieces.at(-1).candidates[0].finishReason, FinishReason.STOP)
    },
    async tool() {
      const tools = [{ functionDeclarations: [{ name: 'weather', parametersJsonSchema: place }] }]
      const talk = client.chats.create({ model, config: { tools } })
      const [call] = (await talk.sendMessage({ message: 'Weather?' })).functionCalls
      checkArguments(call.args)
      const done = { functionResponse: { id: call.id, name: call.name, response: { output: 'sunny' } } }
      assert.ok((await talk.sendMessage({ message: [done] })).text)
    },
    async structured() {
      const config = { responseMimeType: 'application/json', responseJsonSchema: z.toJSONSchema(Town) }
      Town.parse(JSON.parse((await client.models.generateContent({ ...ask, config })).text))
      const schema = { type: 'OBJECT', properties: { city: { type: 'STRING' } }, required: ['city'] }
      const older = { responseMimeType: 'application/json', responseSchema: schema }
      Place.parse(JSON.parse((await client.models.generateContent({ ...ask, config: older })).text))
    },
  }
}

const clients = {
  [`OpenAI Chat, openai ${version('openai')}`]: chat,
  [`OpenAI Responses, openai ${version('openai')}`]: responses,
  [`Anthropic Messages, @anthropic-ai/sdk ${version('@anthropic-ai/sdk')}`]: claude,
  [`Gemini, @google/genai ${version('@google/genai')}`]: gemini,
}
let faults = 0
const attempt = async (client, provider, kind, cases) => {
  try {
    await cases[kind]()
    return kind
  } catch (error) {
    faults += 1
    console.error(`${client}, ${provider.model}, ${kind}: ${String(error.stack).slice(0, 1500)}`)
    return `**no ${kind}**`
  }
}
console.log(`| client | ${PROVIDERS.map(({ provider }) => provider).join(' | ')} |`)
console.log(`|${'---|'.repeat(PROVIDERS.length + 1)}`)
for (const [name, client] of Object.entries(clients)) {
  const cells = []
  for (const provider of PROVIDERS) {
    const cases = client(provider)
    const kinds = []
    for (const kind of KINDS) kinds.push(await attempt(name, provider, kind, cases))
    cells.push(kinds.join(', '))
  }
  console.log(`| ${name} | ${cells.join(' | ')} |`)
}
process.exit(faults ? 1 : 0)
