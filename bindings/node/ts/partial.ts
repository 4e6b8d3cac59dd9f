/** Values of a text that is still arriving. */

import { compileSchema, readAnswer, type Answer, type ParseOptions } from "./answer.js";
import { call } from "./errors.js";
import { native, type NativePartialParser } from "./native.js";
import { settingsText } from "./options.js";
import { readSchema, type ReadSchema, type SchemaInput } from "./schema.js";
import type { DeepPartial, InferOutput } from "./standard.js";

/**
 * Reads a model's text as it arrives. The cost of all calls together is proportional to the length of the text.
 *
 * ```ts
 * const parser = new PartialParser(Order);
 * for await (const chunk of chunks) render(parser.push(chunk));
 * const answer = parser.finish();
 * ```
 */
export class PartialParser<S extends SchemaInput | undefined = undefined> {
  readonly #native: NativePartialParser;
  readonly #schema: ReadSchema | undefined;
  #last: unknown;

  /** The schema judges the whole value at the end. */
  constructor(schema?: S) {
    this.#schema = schema === undefined ? undefined : readSchema(schema);
    const compiled = this.#schema === undefined ? undefined : compileSchema(this.#schema);
    this.#native = call(() => new native.PartialParser(compiled));
  }

  /**
   * Takes the next piece of the text and gives the value so far: the same object as before where too little has arrived since.
   * Nothing of it is validated.
   */
  push(chunk: string): DeepPartial<InferOutput<S>> | undefined {
    const json = call(() => this.#native.push(chunk));
    if (json !== null) {
      this.#last = JSON.parse(json);
    }
    return this.#last as DeepPartial<InferOutput<S>> | undefined;
  }

  /** The value so far, with texts that are not complete. Copies it. */
  get value(): DeepPartial<InferOutput<S>> | undefined {
    return parsed(this.#native.value()) as DeepPartial<InferOutput<S>> | undefined;
  }

  /** The value so far, without texts that are not complete. Copies it. */
  get completeValue(): DeepPartial<InferOutput<S>> | undefined {
    return parsed(this.#native.completeValue()) as DeepPartial<InferOutput<S>> | undefined;
  }

  /** Whether the value at a JSON Pointer is complete. */
  isComplete(at: string): boolean {
    return this.#native.isComplete(at);
  }

  /** Whether the whole value has arrived. */
  get done(): boolean {
    return this.#native.done;
  }

  /** The text so far. */
  get text(): string {
    return this.#native.text;
  }

  /** Reads the whole text as {@link parse} does. */
  finish(options?: ParseOptions): Answer<InferOutput<S>> {
    const answer = call(() => this.#native.finish(settingsText(options)));
    return readAnswer(answer, () => this.#native.text, this.#schema) as Answer<InferOutput<S>>;
  }
}

function parsed(json: string | null): unknown {
  return json === null ? undefined : JSON.parse(json);
}
