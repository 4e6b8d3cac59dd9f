/** Values from the text of a model. */

import { call, AnswerError } from "./errors.js";
import { native, type NativeParsed, type NativeSchema } from "./native.js";
import { settingsText } from "./options.js";
import { readSchema, validateNow, type ReadSchema, type SchemaInput } from "./schema.js";
import type { InferOutput } from "./standard.js";
import type { Issue, Repair } from "./types.js";

/** Options of {@link parse}. */
export interface ParseOptions {
  /** Reads the text as one that is still arriving. */
  partial?: boolean;
  /** Fills absent properties with the defaults of the schema. */
  defaults?: boolean;
  /** Which of several values counts. */
  several?: "first" | "last" | "all";
  /** Whether text without JSON is a string. */
  bareText?: boolean;
  /** The most nested lists and objects. */
  maxDepth?: number;
  /** The most steps of reading and validation together. */
  maxSteps?: number;
}

/** What was read from a text. */
export interface Answer<T = unknown> {
  /** The value, valid or not; `undefined` if the text has none. */
  value: unknown;
  /** Whether the schema accepts the value. */
  valid: boolean;
  /** Whether the text ends before the value does. */
  truncated: boolean;
  /** Every repair, in order. */
  repairs: Repair[];
  /** Why the schema does not accept the value. */
  errors: Issue[];
  /** The value as the schema's own type; `undefined` if it is not valid. */
  typed: T | undefined;
}

/**
 * Extracts the JSON value of a model's text, converts it to the schema, validates it, and lists every repair. A text that is valid JSON
 * is not changed.
 */
export function parse<S extends SchemaInput>(text: string, schema: S, options?: ParseOptions): Answer<InferOutput<S>>;
export function parse<T = unknown>(text: string, schema?: undefined, options?: ParseOptions): Answer<T>;
export function parse(text: string, schema?: SchemaInput, options?: ParseOptions): Answer {
  const read = schema === undefined ? undefined : readSchema(schema);
  const compiled = read === undefined ? undefined : compileSchema(read);
  return readAnswer(call(() => native.parse(text, compiled, settingsText(options))), () => text, read);
}

/** @internal An answer of the native part. */
export function readAnswer(parsed: NativeParsed, text: () => string, read: ReadSchema | undefined): Answer {
  const answer: Answer = { value: undefined, valid: true, truncated: false, repairs: [], errors: [], typed: undefined };
  if (parsed.notes !== undefined) {
    Object.assign(answer, JSON.parse(parsed.notes));
  }
  if (parsed.json !== undefined) {
    // A text that is its own value is not copied.
    answer.value = JSON.parse(parsed.json === "" ? text() : parsed.json);
  }
  if (answer.valid) {
    settleTyped(answer, read);
  }
  return answer;
}

/** Validates by the schema's own library, which may demand more than its JSON Schema says. */
function settleTyped(answer: Answer, read: ReadSchema | undefined): void {
  if (read?.validate === undefined) {
    answer.typed = answer.value;
    return;
  }
  try {
    answer.typed = validateNow(answer.value, read.validate);
  } catch (error) {
    if (!(error instanceof AnswerError) || error.code !== "invalid") {
      throw error;
    }
    answer.valid = false;
    answer.errors.push(...error.errors);
  }
}

/** Compiled schemas that are kept. */
const KEPT = 64;
const compiled = new Map<string, NativeSchema>();

/** @internal */
export function compileSchema({ text }: ReadSchema): NativeSchema {
  let schema = compiled.get(text);
  if (schema === undefined) {
    schema = call(() => new native.Schema(text));
    if (compiled.size >= KEPT) {
      compiled.clear();
    }
    compiled.set(text, schema);
  }
  return schema;
}
