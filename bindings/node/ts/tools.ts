/** Tool lists of any provider's shape, fitted, and the calls of models in the caller's names and schemas. */

import { call } from "./errors.js";
import { listOf, type CheckOptions, type FitOptions } from "./fit.js";
import { native, type NativeTools } from "./native.js";
import { settingsText } from "./options.js";
import type { Change, JsonSchema, Violation } from "./types.js";

/** A tool of a fitted list. */
export interface FittedTool {
  /** The name for the model. */
  name: string;
  /** The caller's name. */
  originalName: string;
  /** The description for the model. */
  description: string | null;
  /** The schema of the arguments, as the provider accepts it. */
  schema: JsonSchema;
  /** Whether the tool may be sent with `strict: true`. */
  strict: boolean;
  /** Whether arguments are converted on the way back. */
  converts: boolean;
  changes: Change[];
}

/** A call in the names and schemas of one side. */
export interface ToolCall {
  name: string;
  arguments: unknown;
}

/** A fitted tool list, and the way of calls there and back. */
export class FittedTools {
  readonly #native: NativeTools;

  /** @internal */
  constructor(tools: NativeTools) {
    this.#native = tools;
  }

  /** The list in the shape of the provider. */
  get tools(): unknown {
    return JSON.parse(this.#native.tools);
  }

  /** Every tool, in the order of the list. */
  get entries(): FittedTool[] {
    return JSON.parse(this.#native.entries) as FittedTool[];
  }

  /** Whether every tool has the strict flag. */
  get strict(): boolean {
    return this.#native.strict;
  }

  /** Everything that changed. */
  get changes(): Change[] {
    return JSON.parse(this.#native.changes) as Change[];
  }

  /** A model's call in the caller's name and schema. Arguments as text are repaired and validated, too. */
  decode(name: string, args: unknown): ToolCall {
    const isText = typeof args === "string";
    const text = call(() => (isText ? this.#native.decodeText(name, args) : this.#native.decode(name, JSON.stringify(args))));
    return JSON.parse(text) as ToolCall;
  }

  /** A call in the caller's name and schema as the model would have made it: for histories. */
  encode(name: string, args: unknown): ToolCall {
    return JSON.parse(call(() => this.#native.encode(name, JSON.stringify(args)))) as ToolCall;
  }
}

/** Fits a tool list in the shape of OpenAI, Anthropic, Gemini, Bedrock or MCP. */
export function fitTools(tools: unknown, dialect: string | readonly string[], options?: FitOptions): FittedTools {
  return new FittedTools(call(() => native.fitTools(JSON.stringify(tools), listOf(dialect), settingsText(options))));
}

/** What providers would refuse of a tool list, or what is at risk with them. */
export function checkTools(tools: unknown, dialect: string | readonly string[], options?: CheckOptions): Violation[] {
  const text = call(() => native.checkTools(JSON.stringify(tools), listOf(dialect), settingsText(options)));
  return JSON.parse(text) as Violation[];
}
