// The official Node SDKs talk to the emulator, unmodified, with their own helpers for structured output.
//
// Usage: node emulated.mjs URL, of a running `polywire emulate`, in a folder where the packages are installed.

import assert from 'node:assert/strict'
import { createAmazonBedrock } from '@ai-sdk/amazon-bedrock'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import Anthropic from '@anthropic-ai/sdk'
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod'
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod'
import { ApiError, FinishReason, GoogleGenAI } from '@google/genai'
import { APICallError, Output, generateText, stepCountIs, streamText, tool } from 'ai'
import OpenAI from 'openai'
import { zodFunction, zodResponseFormat, zodResponsesFunction, zodTextFormat } from 'openai/helpers/zod'
import { z } from 'zod'

const URL = process.argv[2]
const said = [{ role: 'user', content: 'A town, please.' }]
const Street = z.object({ name: z.string(), numbers: z.array(z.number()) })
const Town = z.object({ name: z.string(), size: z.enum(['small', 'large']), river: z.string().nullable(), streets: z.array(Street) })
const Place = z.object({ city: z.string() })
const open = { type: 'object', properties: { city: { type: 'string' } } }
const place = { ...open, required: ['city'], additionalProperties: false }

const gathered = async (stream) => {
  const pieces = []
  for await (const piece of stream) pieces.push(piece)
  return pieces
}

// The error of this class that a promise ends in.
const raised = async (kind, promise) => {
  const error = await promise.then(() => assert.fail(`no ${kind.name}`), (error) => error)
  assert.ok(error instanceof kind, `${error.constructor.name}: ${error}`)
  return error
}

// --- OpenAI

const chat = new OpenAI({ baseURL: `${URL}/v1`, apiKey: 'any', maxRetries: 0 })
const azure = new OpenAI({ baseURL: `${URL}/azure/openai/v1`, apiKey: 'any', maxRetries: 0 })
const openai = {
  async chat() {
    for (const client of [chat, azure]) {
      const answer = await client.chat.completions.create({ model: 'gpt-4o', messages: said })
      assert.ok(answer.choices[0].message.content && answer.usage.completion_tokens)
    }
  },
  async parse() {
    const format = zodResponseFormat(Town, 'town')
    const answer = await chat.chat.completions.parse({ model: 'gpt-4o', messages: said, response_format: format })
    Town.parse(answer.choices[0].message.parsed)
  },
  async stream() {
    const format = zodResponseFormat(Town, 'town')
    const stream = chat.chat.completions.stream({ model: 'gpt-4o', messages: said, response_format: format })
    assert.ok((await gathered(stream)).length > 2)
    Town.parse((await stream.finalChatCompletion()).choices[0].message.parsed)
  },
  async runTools() {
    const asked = []
    const weather = zodFunction({ name: 'weather', parameters: Place, function: ({ city }) => (asked.push(city), 'sunny') })
    const runner = chat.chat.completions.runTools({ model: 'gpt-4o', messages: said, tools: [weather] })
    assert.ok(await runner.finalContent())
    assert.equal(asked.length, 1)
  },
  async responses() {
    for (const client of [chat, azure]) {
      const format = { format: zodTextFormat(Town, 'town') }
      Town.parse((await client.responses.parse({ model: 'gpt-5', input: said, text: format })).output_parsed)
      const stream = client.responses.stream({ model: 'gpt-5', input: said, text: format })
      Town.parse((await stream.finalResponse()).output_parsed)
    }
  },
  async responsesTools() {
    const tools = [zodResponsesFunction({ name: 'weather', parameters: Place })]
    const answer = await chat.responses.parse({ model: 'gpt-5', input: said, tools })
    const call = answer.output.find((item) => item.type === 'function_call')
    Place.parse(call.parsed_arguments)
    const done = { type: 'function_call_output', call_id: call.call_id, output: 'sunny' }
    const { parsed_arguments, ...plain } = call
    assert.ok((await chat.responses.create({ model: 'gpt-5', input: [...said, plain, done], tools })).output_text)
  },
  async refuses() {
    const format = { type: 'json_schema', json_schema: { name: 'n', strict: true, schema: open } }
    const refused = chat.chat.completions.create({ model: 'gpt-4o', messages: said, response_format: format })
    const error = await raised(OpenAI.BadRequestError, refused)
    assert.deepEqual([error.type, error.param], ['invalid_request_error', 'response_format'])
    assert.match(error.message, /'additionalProperties' is required to be supplied and to be false/)
  },
  async errors() {
    const faults = { 401: OpenAI.AuthenticationError, 429: OpenAI.RateLimitError, 500: OpenAI.InternalServerError, 529: OpenAI.InternalServerError }
    for (const [status, kind] of Object.entries(faults)) {
      const error = await raised(kind, chat.responses.create({ model: `gpt-5+${status}`, input: said }))
      assert.equal(error.status, Number(status))
    }
    const cut = chat.chat.completions.create({ model: 'gpt-4o+cut', messages: said, stream: true })
    await raised(Error, cut.then(gathered))
  },
}

// --- Anthropic

const claude = new Anthropic({ baseURL: URL, apiKey: 'any', maxRetries: 0 })
const ask = { model: 'claude-sonnet-4-6', max_tokens: 99, messages: said }
const anthropic = {
  async messages() {
    const answer = await claude.messages.create(ask)
    assert.ok(answer.content[0].text && answer.usage.output_tokens)
    assert.equal(answer.stop_reason, 'end_turn')
  },
  async parse() {
    const answer = await claude.messages.parse({ ...ask, output_config: { format: zodOutputFormat(Town) } })
    Town.parse(answer.parsed_output)
  },
  async stream() {
    const stream = claude.messages.stream({ ...ask, tools: [{ name: 'weather', input_schema: place }] })
    const message = await stream.finalMessage()
    Place.parse(message.content[0].input)
    assert.ok(await claude.messages.stream(ask).finalText())
  },
  async toolRunner() {
    const asked = []
    const run = ({ city }) => (asked.push(city), 'sunny')
    const weather = betaZodTool({ name: 'weather', description: 'Tells the weather.', inputSchema: Place, run })
    const answer = await claude.beta.messages.toolRunner({ ...ask, tools: [weather] })
    assert.ok(answer.content[0].text)
    assert.equal(asked.length, 1)
  },
  async refuses() {
    const tools = [{ name: 'weather', strict: true, input_schema: open }]
    const error = await raised(Anthropic.BadRequestError, claude.messages.create({ ...ask, tools }))
    assert.equal(error.error.error.type, 'invalid_request_error')
    assert.match(error.message, /additionalProperties/)
  },
  async errors() {
    const faults = { 401: Anthropic.AuthenticationError, 429: Anthropic.RateLimitError, 500: Anthropic.InternalServerError, 529: Anthropic.InternalServerError }
    for (const [status, kind] of Object.entries(faults)) {
      const error = await raised(kind, claude.messages.create({ ...ask, model: `${ask.model}+${status}` }))
      assert.equal(error.status, Number(status))
    }
    await raised(Error, claude.messages.stream({ ...ask, model: `${ask.model}+cut` }).finalMessage())
  },
}

// --- Google

const gemini = new GoogleGenAI({ apiKey: 'any', httpOptions: { baseUrl: URL } })
const flash = { model: 'gemini-2.5-flash', contents: 'A town' }
const google = {
  async generate() {
    const config = { responseMimeType: 'application/json', responseJsonSchema: z.toJSONSchema(Town) }
    Town.parse(JSON.parse((await gemini.models.generateContent({ ...flash, config })).text))
  },
  async openApi() {
    const schema = { type: 'OBJECT', properties: { city: { type: 'STRING' } }, required: ['city'] }
    const config = { responseMimeType: 'application/json', responseSchema: schema }
    Place.parse(JSON.parse((await gemini.models.generateContent({ ...flash, config })).text))
  },
  async stream() {
    const pieces = await gathered(await gemini.models.generateContentStream(flash))
    assert.ok(pieces.length > 1 && pieces.map((piece) => piece.text ?? '').join(''))
  },
  async chats() {
    const tools = [{ functionDeclarations: [{ name: 'weather', parametersJsonSchema: place }] }]
    const talk = gemini.chats.create({ model: flash.model, config: { tools } })
    const [call] = (await talk.sendMessage({ message: 'Weather?' })).functionCalls
    Place.parse(call.args)
    const done = { functionResponse: { id: call.id, name: call.name, response: { output: 'sunny' } } }
    assert.ok((await talk.sendMessage({ message: [done] })).text)
  },
  async errors() {
    for (const status of [401, 429, 500, 503]) {
      const error = await raised(ApiError, gemini.models.generateContent({ ...flash, model: `${flash.model}+${status}` }))
      assert.equal(error.status, status)
    }
    const answer = await gemini.models.generateContent({ ...flash, model: `${flash.model}+truncated` })
    assert.equal(answer.candidates[0].finishReason, FinishReason.MAX_TOKENS)
  },
}

// --- the AI SDK, over its provider for each protocol

const ownOpenAi = createOpenAI({ baseURL: `${URL}/v1`, apiKey: 'any' })
const ownAnthropic = createAnthropic({ baseURL: `${URL}/v1`, apiKey: 'any' })
const ownGoogle = createGoogleGenerativeAI({ baseURL: `${URL}/v1beta`, apiKey: 'any' })
const ownBedrock = createAmazonBedrock({ baseURL: URL, region: 'r', accessKeyId: 'any', secretAccessKey: 'any' })
const models = {
  chat: (more) => ownOpenAi.chat(`gpt-4o${more}`),
  responses: (more) => ownOpenAi.responses(`gpt-5${more}`),
  anthropic: (more) => ownAnthropic(`claude-sonnet-4-6${more}`),
  google: (more) => ownGoogle(`gemini-2.5-flash${more}`),
  bedrock: (more) => ownBedrock(`us.anthropic.claude-sonnet-4-5-20250929-v1:0${more}`),
}
const aiCases = ([name, model]) => [
  [`${name} output`, async () => {
    const asked = { model: model(''), prompt: 'A town', output: Output.object({ schema: Town }), maxRetries: 0 }
    Town.parse((await generateText(asked)).output)
    let fault
    const stream = streamText({ ...asked, onError: ({ error }) => (fault = error) })
    const partial = await gathered(stream.partialOutputStream)
    if (fault) throw fault
    Town.parse(partial.at(-1))
  }],
  [`${name} tools`, async () => {
    const asked = []
    const weather = tool({ inputSchema: Place, execute: async ({ city }) => (asked.push(city), 'sunny') })
    const answer = await generateText({ model: model(''), prompt: 'Weather?', tools: { weather }, stopWhen: stepCountIs(3), maxRetries: 0 })
    assert.ok(answer.text)
    assert.equal(asked.length, 1)
  }],
  [`${name} errors`, async () => {
    for (const status of [429, 500]) {
      const error = await raised(Error, generateText({ model: model(`+${status}`), prompt: 'hi', maxRetries: 0 }))
      assert.ok(APICallError.isInstance(error) && error.isRetryable, String(error))
      assert.equal(error.statusCode, status)
    }
  }],
]

globalThis.AI_SDK_LOG_WARNINGS = false
const named = Object.entries({ openai, anthropic, google })
const own = named.flatMap(([sdk, cases]) => Object.entries(cases).map(([name, run]) => [`${sdk} ${name}`, run]))
const cases = [...own, ...Object.entries(models).flatMap(aiCases).map(([name, run]) => [`ai ${name}`, run])]
const faults = []
for (const [name, run] of cases) {
  await run().catch((fault) => faults.push(`${name}: ${String(fault.stack).slice(0, 1500)}`))
}
console.log([...faults, `node, emulated: ${cases.length} cases, ${faults.length} faults`].join('\n'))
process.exit(faults.length ? 1 : 0)
