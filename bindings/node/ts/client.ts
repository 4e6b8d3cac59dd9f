/** The client: asks models for values and text, and runs tool loops. */

import type { PlanOptions } from "./catalog.js";
import { call, InputError } from "./errors.js";
import { listOf } from "./fit.js";
import { native, type NativeClient, type NativeToolCall } from "./native.js";
import { settle, type Start } from "./operation.js";
import { settingsText } from "./options.js";
import { readSchema, validateLater, type ReadSchema, type SchemaInput } from "./schema.js";
import type { InferOutput } from "./standard.js";
import { AskStream } from "./stream.js";
import type { Change, Repair, Usage } from "./types.js";

/** Options of a {@link Client}. Times are in seconds. */
export interface ClientOptions {
  /** Keys by provider, instead of those of the environment. */
  keys?: Record<string, string>;
  /** Base URLs by provider. */
  baseUrls?: Record<string, string>;
  /** Headers of every request. */
  headers?: Record<string, string>;
  /** The text of a `polywire.toml`, whose providers and models are known too. */
  config?: string;
  /** How often a value is asked for until it is valid. */
  attempts?: number;
  /** How often a failed request is sent again. */
  retries?: number;
  /** The limit on waiting for a response, and between its parts. */
  timeout?: number;
  /** The limit on everything together. */
  deadline?: number;
  /** The limit on the connection. */
  connectTimeout?: number;
  /** The most requests at a time. */
  maxConcurrency?: number;
  /** The most bytes of a response. */
  maxResponseBytes?: number;
  /** Allows unencrypted HTTP to other machines. */
  plainHttp?: boolean;
  /** What may be lost. */
  plan?: PlanOptions;
}

/** Options of one question. */
export interface AskOptions {
  /** The model, as `provider/model` or `emulator/provider`; of a list, the first one that answers. */
  model: string | readonly string[];
  /** Cancels the request. */
  signal?: AbortSignal | undefined;
  /** Instructions for the model. */
  system?: string;
  /** How the value is requested. */
  strategy?: "auto" | "native" | "tool" | "prompted";
  /** The name of the schema for the model. */
  name?: string;
  /** A description of the schema for the model. */
  description?: string;
  /** The most tokens of the answer. */
  maxTokens?: number;
  temperature?: number;
  /** The limit on everything together, in seconds. */
  deadline?: number;
  /** Headers of the request. */
  headers?: Record<string, string>;
  /** The W3C trace parent of the request's span. */
  traceParent?: string;
}

/** What is asked: a text, messages, or a request in the neutral form (`polywire schema request`). */
export type Asking = string | readonly object[] | { readonly messages: readonly object[]; readonly [more: string]: unknown };

/** A valid value and how it came. */
export interface Asked<T> {
  /** The value, of the schema's own type. */
  value: T;
  /** The model that answered, as `provider/model`. */
  model: string;
  /** How the value was requested. */
  strategy: string;
  /** Every change and loss. */
  changes: Change[];
  /** The repairs of the value. */
  repairs: Repair[];
  /** The tokens of all attempts. */
  usage: Usage;
  /** The cost of all attempts at list prices, in US dollars, if it is known. */
  costUsd: number | null;
  /** Every attempt. */
  attempts: unknown[];
}

/** An answer of text. */
export interface AskedText {
  text: string;
  /** The model that answered, as `provider/model`. */
  model: string;
  /** The whole response in the neutral form. */
  response: unknown;
  /** Every change and loss. */
  changes: Change[];
  usage: Usage;
  /** The cost at list prices, in US dollars, if it is known. */
  costUsd: number | null;
}

/** A function that a model may call. */
export interface Tool<S extends SchemaInput = SchemaInput> {
  name: string;
  description?: string;
  /** The schema of the arguments. */
  schema: S;
  /** Runs a call. What it throws is told to the model. */
  execute(args: InferOutput<S>, options: { signal: AbortSignal | undefined }): unknown;
}

/** Infers the type of the arguments of a tool from its schema. */
export function tool<S extends SchemaInput>(definition: Tool<S>): Tool<S> {
  return definition;
}

/** Options of {@link Client.run}. */
export interface RunOptions<S extends SchemaInput | undefined = undefined> extends AskOptions {
  // The arguments of each tool have a type of their own.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  tools: readonly Tool<any>[];
  /** The schema of the last answer. */
  schema?: S;
  /** The most turns. */
  maxTurns?: number;
  /** The most tokens of all turns together. */
  maxTotalTokens?: number;
  /** The limit on one call of a tool, in seconds. */
  toolTimeout?: number;
  /** The most calls at a time. */
  maxParallel?: number;
}

/** The end of a tool loop. */
export interface RunEnded<T> {
  /** The text of the last answer. */
  text: string;
  /** The value of the last answer, if a schema was given and the loop ended with an answer. */
  value: T | undefined;
  /** Why it ended. */
  stop: "answered" | "turn-limit" | "token-limit" | "open-calls";
  model: string;
  /** The conversation in the neutral form. */
  history: unknown[];
  /** Every turn. */
  turns: unknown[];
  changes: Change[];
  usage: Usage;
}

/**
 * Sends requests. Keys are read from the environment variables of the providers' own clients.
 *
 * ```ts
 * const client = new Client();
 * const asked = await client.ask("An order of three books", Order, { model: "anthropic/claude-sonnet-4-5" });
 * asked.value; // an Order
 * ```
 */
export class Client {
  readonly #native: NativeClient;

  constructor(options?: ClientOptions) {
    this.#native = call(() => new native.Client(settingsText(options)));
  }

  /** Asks for a value that the schema accepts. */
  async ask<S extends SchemaInput>(asked: Asking, schema: S, options: AskOptions): Promise<Asked<InferOutput<S>>> {
    const { model, signal, ...settings } = options;
    const read = readSchema(schema);
    const question = JSON.stringify(asked);
    const text = settingsText(settings);
    const json = await settle((done) => this.#native.ask(question, read.text, listOf(model), text, done), signal);
    return loadAsked<InferOutput<S>>(json, read);
  }

  /** Asks for text. */
  async askText(asked: Asking, options: AskOptions): Promise<AskedText> {
    const { model, signal, ...settings } = options;
    const question = JSON.stringify(asked);
    const start: Start = (done) => this.#native.askText(question, listOf(model), settingsText(settings), done);
    return JSON.parse((await settle(start, signal)) ?? "null") as AskedText;
  }

  /** Asks for a value and shows it while it arrives. Nothing is sent before it is read. */
  askStream<S extends SchemaInput>(asked: Asking, schema: S, options: AskOptions): AskStream<InferOutput<S>> {
    const { model, signal, ...settings } = options;
    const read = readSchema(schema);
    const stream = call(() =>
      this.#native.askStream(JSON.stringify(asked), read.text, listOf(model), settingsText(settings)),
    );
    return new AskStream(stream, signal, (json) => loadAsked<InferOutput<S>>(json, read));
  }

  /** Asks for text and shows it while it arrives: each part is what was added. */
  askTextStream(asked: Asking, options: AskOptions): AskStream<string> {
    const { model, signal, ...settings } = options;
    const stream = call(() =>
      this.#native.askStream(JSON.stringify(asked), undefined, listOf(model), settingsText(settings)),
    );
    return new AskStream(stream, signal, (json) => loadAsked<string>(json, undefined));
  }

  /** Runs a tool loop: makes the model's calls and sends back their results until it answers without calls. */
  async run<S extends SchemaInput | undefined = undefined>(
    asked: Asking,
    options: RunOptions<S>,
  ): Promise<RunEnded<InferOutput<S>>> {
    const { model, signal, tools, schema, maxTurns, maxTotalTokens, toolTimeout, maxParallel, ...ask } = options;
    const specs = tools.map((tool) => ({ tool, read: readSchema(tool.schema) }));
    const listed = specs.map(({ tool, read }) => ({
      name: tool.name,
      description: tool.description ?? "",
      schema: JSON.parse(read.text) as unknown,
    }));
    const read = schema === undefined ? undefined : readSchema(schema);
    const settings = settingsText({ maxTurns, maxTotalTokens, toolTimeout, maxParallel, ask });
    const question = JSON.stringify(asked);
    const handle = (toolCall: NativeToolCall): void => {
      void answerCall(toolCall, specs, signal);
    };
    const start: Start = (done) =>
      this.#native.run(question, JSON.stringify(listed), read?.text, listOf(model), settings, handle, done);
    const ended = JSON.parse((await settle(start, signal)) ?? "null") as RunEnded<unknown>;
    const value = ended.value === null ? undefined : ended.value;
    const loaded = read?.validate === undefined || value === undefined ? value : await validateLater(value, read.validate);
    return { ...ended, value: loaded } as RunEnded<InferOutput<S>>;
  }
}

/** Runs a call of the model, and tells it the result or the error. */
async function answerCall(
  toolCall: NativeToolCall,
  specs: readonly { tool: Tool; read: ReadSchema }[],
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    const spec = specs[toolCall.tool];
    if (spec === undefined) {
      throw new InputError({ code: "unknown-tool", message: "there is no such tool" });
    }
    const value = JSON.parse(toolCall.arguments) as unknown;
    const { validate } = spec.read;
    const loaded = validate === undefined ? value : await validateLater(value, validate);
    const result = await spec.tool.execute(loaded, { signal });
    toolCall.resolve(JSON.stringify(result) ?? "null");
  } catch (error) {
    toolCall.reject(error instanceof Error ? error.message : String(error));
  }
}

/** A value of the native part, validated by the schema's own library. */
async function loadAsked<T>(json: string | null, read: ReadSchema | undefined): Promise<Asked<T>> {
  const asked = JSON.parse(json ?? "null") as Asked<unknown>;
  const value = read?.validate === undefined ? asked.value : await validateLater(asked.value, read.validate);
  return { ...asked, value } as Asked<T>;
}
