/** Answers while they arrive. */

import type { Asked } from "./client.js";
import { CancelledError } from "./errors.js";
import type { NativeAskStream } from "./native.js";
import { settle } from "./operation.js";
import type { DeepPartial } from "./standard.js";

/** The received part of a value, in the shape of the caller's schema. It is not validated. */
export interface PartialAnswer<T> {
  /** The value so far; of text, what was added. */
  value: DeepPartial<T>;
  /** The number of the attempt, from 1. A later attempt starts a new value. */
  attempt: number;
}

/**
 * An answer while it arrives. Leaving the loop early cancels the request.
 *
 * ```ts
 * const stream = client.askStream("An order", Order, { model });
 * for await (const partial of stream) render(partial.value);
 * const { value } = await stream.result();
 * ```
 */
export class AskStream<T> implements AsyncIterable<PartialAnswer<T>> {
  readonly #native: NativeAskStream;
  readonly #own = new AbortController();
  readonly #signal: AbortSignal;
  readonly #load: (json: string | null) => Promise<Asked<T>>;
  #result: Promise<Asked<T>> | undefined;

  /** @internal */
  constructor(stream: NativeAskStream, signal: AbortSignal | undefined, load: (json: string | null) => Promise<Asked<T>>) {
    this.#native = stream;
    this.#signal = signal === undefined ? this.#own.signal : AbortSignal.any([signal, this.#own.signal]);
    this.#load = load;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<PartialAnswer<T>, void, undefined> {
    let isOver = false;
    try {
      for (;;) {
        const json = await this.#settle((done) => this.#native.next(done));
        if (json === null) {
          isOver = true;
          return;
        }
        yield JSON.parse(json) as PartialAnswer<T>;
      }
    } finally {
      if (!isOver) {
        this.#native.cancel();
      }
    }
  }

  /** Waits for the end and returns the valid value. */
  result(): Promise<Asked<T>> {
    return (this.#result ??= this.#settle((done) => this.#native.finish(done)).then(this.#load));
  }

  /** Cancels the request. What waits for the answer gets a {@link CancelledError}. */
  cancel(): void {
    this.#own.abort(new CancelledError({ code: "cancelled", message: "the request was cancelled" }));
    this.#native.cancel();
  }

  async #settle(start: Parameters<typeof settle>[0]): Promise<string | null> {
    try {
      return await settle(start, this.#signal);
    } catch (error) {
      if (this.#signal.aborted) {
        this.#native.cancel();
      }
      throw error;
    }
  }
}
