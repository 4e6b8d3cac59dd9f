/** The errors of this package: one class for each kind, each with a stable `code` and, where there is one, a place. */

import type { Change, Failure, Issue } from "./types.js";

/** What the native part tells about an error. */
export interface ErrorRecord {
  class?: string;
  code: string;
  message: string;
  at?: string;
  details?: Record<string, unknown>;
}

/** An error of polywire. */
export class PolywireError extends Error {
  override name = "PolywireError";
  /** What happened, as a stable word, such as `missing-key`. */
  readonly code: string;
  /** JSON Pointer of the place in the schema, value or body, or the name that is wrong; empty where there is none. */
  readonly at: string;
  /** More about it, by code, such as `{ status: 429, retry_after_ms: 1000 }`. */
  readonly details: Readonly<Record<string, unknown>>;

  /** @internal */
  constructor(record: ErrorRecord, options?: ErrorOptions) {
    super(record.message, options);
    this.code = record.code;
    this.at = record.at ?? "";
    this.details = record.details ?? {};
  }
}

/** An argument is wrong. */
export class InputError extends PolywireError {
  override name = "InputError";
}

/** A dialect, protocol, provider or model is unknown. */
export class UnknownNameError extends PolywireError {
  override name = "UnknownNameError";
}

/** A schema cannot be read. */
export class SchemaError extends PolywireError {
  override name = "SchemaError";
}

/** A value cannot be converted to or from a fitted schema. */
export class ConversionError extends PolywireError {
  override name = "ConversionError";
}

/** A body is not valid in its protocol. */
export class DecodeError extends PolywireError {
  override name = "DecodeError";
}

/** Something would be lost that the options forbid to lose. */
export class LossError extends PolywireError {
  override name = "LossError";
  /** What would be lost. */
  get losses(): readonly Change[] {
    return (this.details["losses"] as Change[] | undefined) ?? [];
  }
}

/** A request got no response. */
export class SendError extends PolywireError {
  override name = "SendError";
  /** The models that failed, if there were several. */
  get failed(): readonly Failure[] {
    return (this.details["failed"] as Failure[] | undefined) ?? [];
  }
}

/** The provider returned an error. */
export class ProviderError extends PolywireError {
  override name = "ProviderError";
  /** The HTTP status. */
  get status(): number | undefined {
    return (this.details["status"] as number | null | undefined) ?? undefined;
  }
}

/** A value is not valid: one that is loaded, or what the model returned in all attempts. */
export class AnswerError extends PolywireError {
  override name = "AnswerError";
  /** Why the schema does not accept the value. */
  get errors(): readonly Issue[] {
    return (this.details["errors"] as Issue[] | undefined) ?? [];
  }
}

/** The model or a content filter refused. */
export class RefusedError extends PolywireError {
  override name = "RefusedError";
}

/** The operation was cancelled without a signal: the program ends. With an `AbortSignal`, its own reason is thrown. */
export class CancelledError extends PolywireError {
  override name = "CancelledError";
}

const CLASSES: Record<string, typeof PolywireError> = {
  InputError,
  UnknownNameError,
  SchemaError,
  ConversionError,
  DecodeError,
  LossError,
  SendError,
  ProviderError,
  AnswerError,
  RefusedError,
  CancelledError,
};

/** The native part throws errors whose message starts with this, followed by an {@link ErrorRecord}. */
const MARK = "polywire:";

/** The error that the native part threw, as one of the classes above. */
export function readError(thrown: unknown): unknown {
  if (!(thrown instanceof Error) || !thrown.message.startsWith(MARK)) {
    return thrown;
  }
  const record = JSON.parse(thrown.message.slice(MARK.length)) as ErrorRecord;
  const error = errorOf(record);
  Error.captureStackTrace(error, readError);
  return error;
}

/** The error of a record. */
export function errorOf(record: ErrorRecord): PolywireError {
  return new (CLASSES[record.class ?? ""] ?? PolywireError)(record);
}

/** Calls the native part. */
export function call<T>(run: () => T): T {
  try {
    return run();
  } catch (thrown) {
    throw readError(thrown);
  }
}
