/** Dialects, models, and what is decided about a request before it is sent. */

import type { Asking } from "./client.js";
import { call } from "./errors.js";
import { native } from "./native.js";
import { settingsText } from "./options.js";
import type { Change } from "./types.js";

/** What a provider accepts of JSON Schema. */
export interface Dialect {
  id: string;
  [more: string]: unknown;
}

/** A model of the catalog. */
export interface Model {
  id: string;
  provider: string;
  [more: string]: unknown;
}

/** What may be lost of a request, and what that means. */
export interface PlanOptions {
  /** The use of the strict flag. */
  strict?: "auto" | "as-asked" | "off";
  /** When the output schema is described in the prompt. */
  prompt?: "when-needed" | "always";
  /** For the kinds `model`, `tools`, `output`, `history` and `parameters`, or for `all`. */
  onLoss?: { [kind: string]: "record" | "error" };
}

/** What is decided about a request. */
export interface Plan {
  changes: Change[];
  [more: string]: unknown;
}

/** Every dialect. */
export function dialects(): Dialect[] {
  return JSON.parse(call(() => native.dialects())) as Dialect[];
}

/** The models of the catalog, or of one provider. */
export function models(options?: { provider?: string }): Model[] {
  return JSON.parse(call(() => native.models(options?.provider))) as Model[];
}

/**
 * Plans a request for a model without sending it. The request is a text, messages, or a request in the neutral form; with `source`, a
 * body of that protocol.
 */
export function plan(asked: Asking, model: string, options?: PlanOptions & { source?: string }): Plan {
  const { source, ...settings } = options ?? {};
  return JSON.parse(call(() => native.plan(JSON.stringify(asked), model, source, settingsText(settings)))) as Plan;
}
