/** A request of one protocol on its way to a model of any other, and the way back of the answer. Nothing is sent here. */

import type { PlanOptions } from "./catalog.js";
import { call, type PolywireError, errorOf, type ErrorRecord } from "./errors.js";
import { native, type NativeTranslation, type NativeTranslationStream } from "./native.js";
import { settingsText } from "./options.js";
import type { Change, Usage } from "./types.js";

/** Bytes, or text in UTF-8. */
export type Bytes = Uint8Array | string;

/** Options of a {@link Translation}. */
export interface TranslationOptions {
  /** The protocol of the request, such as `openai-chat`, `openai-responses`, `anthropic-messages` or `gemini`. */
  source: string;
  /** The model, such as `anthropic/claude-sonnet-4-5`. */
  model: string;
  /** Whether the answer is a stream, where the URL decides and not the body. */
  stream?: boolean;
  /** The Unix time in seconds that answers of another protocol get. */
  created?: number;
  /** The seed of ids that answers of another protocol get. */
  seed?: string;
  /** What may be lost. */
  plan?: PlanOptions;
}

/** The request to send. */
export interface TranslatedRequest {
  readonly method: string;
  readonly url: string;
  /** Names and values. Secrets are named, as in `Bearer {env OPENAI_API_KEY}`, and not held. */
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

/** A response in the caller's protocol. */
export interface TranslatedResponse {
  body: Buffer;
  changes: Change[];
  usage: Usage | undefined;
}

/** An error response in the caller's protocol. */
export interface TranslatedError {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

/** The end of a stream. */
export interface StreamEnd {
  /** The last bytes. */
  body: Buffer;
  changes: Change[];
  usage: Usage | undefined;
  /** Why the answer is not complete. */
  error: PolywireError | undefined;
}

/**
 * A request on its way to a model.
 *
 * ```ts
 * const translation = new Translation(body, { source: "openai-chat", model: "anthropic/claude-sonnet-4-5" });
 * const { method, url, headers, body } = translation.request; // send it
 * translation.response(bytes).body; // the answer in the caller's protocol
 * ```
 */
export class Translation {
  readonly #native: NativeTranslation;
  #request: TranslatedRequest | undefined;

  constructor(body: Bytes, options: TranslationOptions) {
    const { source, model, ...settings } = options;
    this.#native = call(() => new native.Translation(toBytes(body), source, model, settingsText(settings)));
  }

  /** The request to send. */
  get request(): TranslatedRequest {
    return (this.#request ??= {
      method: this.#native.method,
      url: this.#native.url,
      headers: JSON.parse(this.#native.headers) as Record<string, string>,
      body: this.#native.body,
    });
  }

  /** Every change and loss on the way there. */
  get changes(): Change[] {
    return JSON.parse(this.#native.changes) as Change[];
  }

  /** Everything that was decided. */
  get plan(): unknown {
    return JSON.parse(this.#native.plan);
  }

  /** Whether the answer is a stream. */
  get isStream(): boolean {
    return this.#native.isStream;
  }

  /** The content type of the stream that the caller gets. */
  get streamContentType(): string {
    return this.#native.streamContentType;
  }

  /** Translates a whole response. */
  response(body: Bytes): TranslatedResponse {
    const back = call(() => this.#native.response(toBytes(body)));
    return { ...(JSON.parse(back.notes) as Omit<TranslatedResponse, "body">), body: back.body };
  }

  /** Translates an error response. */
  error(status: number, body: Bytes, headers?: Record<string, string>): TranslatedError {
    const pairs = Object.entries(headers ?? {}).flat();
    const back = call(() => this.#native.error(status, pairs, toBytes(body)));
    return { ...back, headers: JSON.parse(back.headers) as Record<string, string> };
  }

  /** Translates a streamed response. */
  stream(): TranslationStream {
    return new TranslationStream(this.#native.stream());
  }
}

/** A streamed response on its way back. */
export class TranslationStream {
  readonly #native: NativeTranslationStream;

  /** @internal */
  constructor(stream: NativeTranslationStream) {
    this.#native = stream;
  }

  /** Takes bytes of the provider's stream and gives bytes of the caller's. */
  push(bytes: Bytes): Buffer {
    return call(() => this.#native.push(toBytes(bytes)));
  }

  /** Ends the stream. */
  finish(): StreamEnd {
    const { body, notes } = call(() => this.#native.finish());
    const { error, ...rest } = JSON.parse(notes) as { error?: ErrorRecord; changes: Change[]; usage: Usage | undefined };
    return { body, ...rest, error: error === undefined ? undefined : errorOf(error) };
  }
}

function toBytes(body: Bytes): Uint8Array {
  return typeof body === "string" ? Buffer.from(body) : body;
}
