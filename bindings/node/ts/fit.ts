/** Schemas fitted to what providers accept, and checked against it. */

import { call } from "./errors.js";
import { native, type NativeFitted } from "./native.js";
import { settingsText } from "./options.js";
import { readSchema, validateLater, validateNow, type SchemaInput } from "./schema.js";
import type { InferOutput, Validate } from "./standard.js";
import type { Change, JsonSchema, Violation } from "./types.js";

/** Options of {@link fit}. */
export interface FitOptions {
  /** The strict mode: where it is reached (`auto`), always or as an error (`require`), or never (`off`). */
  strict?: "auto" | "require" | "off";
  /** What becomes of open objects where a dialect has none: `close` them, or `carry` further members. */
  open?: "close" | "carry";
  /** What `null` means for a property that may be absent or null. */
  null?: "default" | "absent" | "null";
  /** Whether the schema is for the arguments of a tool or for structured output. */
  slot?: "tool" | "output";
  /** Whether descriptions say what was dropped. */
  spill?: boolean;
  /** What a reference without a target means. */
  unresolved?: "any" | "refuse";
  /** The draft of the schema. */
  draft?: "03" | "04" | "06" | "07" | "2019-09" | "2020-12" | "openapi-3.0";
}

/** A schema as a provider accepts it, and the way of values there and back. */
export class Fitted<T = unknown> {
  readonly #native: NativeFitted;
  readonly #texts: Texts;
  readonly #validate: Validate | undefined;
  #schema: JsonSchema | undefined;
  #changes: Change[] | undefined;

  /** @internal */
  constructor(fitted: Remembered, validate: Validate | undefined) {
    this.#native = fitted.native;
    this.#texts = fitted.texts;
    this.#validate = validate;
  }

  /** The schema to send. */
  get schema(): JsonSchema {
    return (this.#schema ??= JSON.parse((this.#texts.schema ??= this.#native.schema)) as JsonSchema);
  }

  /** Whether the schema may be sent with `strict: true`. */
  get strict(): boolean {
    return this.#native.strict;
  }

  /** Whether values are converted on their way. */
  get converts(): boolean {
    return this.#native.converts;
  }

  /** Everything that changed. */
  get changes(): Change[] {
    return (this.#changes ??= JSON.parse((this.#texts.changes ??= this.#native.changes)) as Change[]);
  }

  /** Converts a value of the caller's schema to the fitted schema. */
  encode(value: unknown): unknown {
    return JSON.parse(call(() => this.#native.encode(JSON.stringify(value))));
  }

  /** Converts a value of the fitted schema back to the caller's schema. It is not validated. */
  decode(value: unknown): unknown {
    return JSON.parse(call(() => this.#native.decode(JSON.stringify(value))));
  }

  /** Converts a value of the fitted schema back, validates it, and returns it as the schema's own type. */
  load(value: unknown): T {
    const validate = this.#validate;
    if (validate === undefined) {
      return JSON.parse(call(() => this.#native.load(JSON.stringify(value)))) as T;
    }
    return validateNow(this.decode(value), validate) as T;
  }

  /** The same for schemas that validate asynchronously. */
  async loadAsync(value: unknown): Promise<T> {
    const validate = this.#validate;
    return validate === undefined ? this.load(value) : ((await validateLater(this.decode(value), validate)) as T);
  }
}

/** A fit that others of the same schema share. */
interface Remembered {
  native: NativeFitted;
  texts: Texts;
}

/** What was read from the native part before. */
interface Texts {
  schema?: string;
  changes?: string;
}

/** Fits that are remembered for each list of dialects and options. */
const REMEMBERED = 256;
/** Longer texts are not kept. */
const MAX_TEXT = 1 << 18;

const remembered = new Map<string, Map<string, Remembered>>();

/**
 * Fits a schema to a dialect, or to all of several. Dialects are ids such as `openai-strict` ({@link dialects} lists them), names of
 * providers, or models such as `anthropic/claude-sonnet-4-5`.
 *
 * ```ts
 * const fitted = fit(Order, "openai-strict");
 * fitted.schema; // to send
 * fitted.load(answer); // an Order
 * ```
 */
export function fit<S extends SchemaInput>(
  schema: S,
  dialect: string | readonly string[],
  options?: FitOptions,
): Fitted<InferOutput<S>> {
  const { text, validate } = readSchema(schema);
  const ids = listOf(dialect);
  const settings = settingsText(options);
  const group = settings === "" ? ids.join() : `${ids.join()} ${settings}`;
  let fits = remembered.get(group);
  if (fits === undefined) {
    evictOldest(remembered);
    remembered.set(group, (fits = new Map()));
  }
  let fitted = fits.get(text);
  if (fitted === undefined) {
    fitted = { native: call(() => native.fit(text, ids, settings)), texts: {} };
    if (text.length <= MAX_TEXT) {
      evictOldest(fits);
      fits.set(text, fitted);
    }
  }
  return new Fitted(fitted, validate);
}

function evictOldest(map: Map<string, unknown>): void {
  if (map.size >= REMEMBERED) {
    for (const oldest of map.keys()) {
      map.delete(oldest);
      return;
    }
  }
}

/** @internal */
export function listOf(names: string | readonly string[]): string[] {
  return typeof names === "string" ? [names] : [...names];
}

/** Options of {@link check}. */
export interface CheckOptions {
  /** Whether the schema is for the arguments of a tool or for structured output. */
  slot?: "tool" | "output";
  /** Adds what the provider ignores. */
  ignored?: boolean;
}

/** What providers would refuse of a schema, or what is at risk with them. */
export function check(schema: SchemaInput, dialect: string | readonly string[], options?: CheckOptions): Violation[] {
  const { text } = readSchema(schema);
  return JSON.parse(call(() => native.check(text, listOf(dialect), settingsText(options)))) as Violation[];
}
