/** The emulator of providers, in this process: for tests without a key and without a network. */

import { call } from "./errors.js";
import { native, type NativeEmulator } from "./native.js";

/**
 * Speaks the protocol of every provider on loopback. It refuses what the provider refuses, in the provider's words.
 *
 * ```ts
 * using emulator = new Emulator();
 * const openai = new OpenAI({ baseURL: emulator.baseUrl("openai"), apiKey: "any" });
 * ```
 */
export class Emulator {
  readonly #native: NativeEmulator;

  /** Starts on a port of loopback, by default any free one. It listens when this returns. */
  constructor(options?: { port?: number }) {
    this.#native = call(() => native.startEmulator(options?.port ?? 0));
  }

  /** The address, without a slash at its end. */
  get url(): string {
    return this.#native.url;
  }

  /** The base URL that takes the place of a provider's own. */
  baseUrl(provider: string): string {
    return call(() => this.#native.baseUrl(provider));
  }

  /** Stops it. Its connections end. */
  stop(): void {
    this.#native.stop();
  }

  [Symbol.dispose](): void {
    this.stop();
  }
}

/** What goes wrong on demand, as in `emulator/openai+fenced`. */
export function misbehaviours(): { name: string; meaning: string }[] {
  return JSON.parse(call(() => native.misbehaviours())) as { name: string; meaning: string }[];
}
