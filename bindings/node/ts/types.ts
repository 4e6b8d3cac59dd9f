/** Plain data that the functions of this package return. */

/** What a change does to the accepted values. */
export type Effect = "same" | "wider" | "narrower" | "note";

/** One change or loss. */
export interface Change {
  /** The rule that required the change; `polywire explain CODE` describes it. */
  code: string;
  /** JSON Pointer of the place. */
  at: string;
  /** The keyword, parameter or field. */
  keyword: string;
  /** What was done. */
  action: string;
  effect: Effect;
  /** The change in one sentence. */
  detail: string;
}

/** What a provider would reject, ignore or find too large. */
export interface Violation {
  /** The rule; `polywire explain CODE` describes it. */
  code: string;
  /** JSON Pointer of the place in the schema. */
  at: string;
  /** The error text of the provider. */
  says: string;
  severity: string;
}

/** A repair of a model's text, or of the value in it. */
export interface Repair {
  kind: string;
  at: string;
  [more: string]: unknown;
}

/** Why a schema does not accept a value. */
export interface Issue {
  /** JSON Pointer of the place in the value. */
  at: string;
  detail: string;
  [more: string]: unknown;
}

/** A model that failed before the next one was asked. */
export interface Failure {
  model: string;
  why: string;
}

/** Tokens, in the neutral form that all providers share. */
export interface Usage {
  input_tokens: number;
  output_tokens: number;
  [more: string]: unknown;
}

/** A JSON Schema as data. */
export type JsonSchema = boolean | { readonly [keyword: string]: unknown };
