/**
 * One LLM request in, any provider out; the answer back in the shape you asked for, and a report of every change and loss on the way.
 *
 * @module
 */

export { parse, type Answer, type ParseOptions } from "./answer.js";
export { dialects, models, plan, type Dialect, type Model, type Plan, type PlanOptions } from "./catalog.js";
export {
  Client,
  tool,
  type Asked,
  type AskedText,
  type Asking,
  type AskOptions,
  type ClientOptions,
  type RunEnded,
  type RunOptions,
  type Tool,
} from "./client.js";
export { runCommand } from "./command.js";
export { Emulator, misbehaviours } from "./emulator.js";
export {
  AnswerError,
  CancelledError,
  ConversionError,
  DecodeError,
  InputError,
  LossError,
  PolywireError,
  ProviderError,
  RefusedError,
  SchemaError,
  SendError,
  UnknownNameError,
} from "./errors.js";
export { check, fit, Fitted, type CheckOptions, type FitOptions } from "./fit.js";
export { PartialParser } from "./partial.js";
export type { SchemaInput } from "./schema.js";
export type { DeepPartial, InferOutput, StandardSchema } from "./standard.js";
export { AskStream, type PartialAnswer } from "./stream.js";
export { checkTools, fitTools, FittedTools, type FittedTool, type ToolCall } from "./tools.js";
export {
  Translation,
  TranslationStream,
  type Bytes,
  type StreamEnd,
  type TranslatedError,
  type TranslatedRequest,
  type TranslatedResponse,
  type TranslationOptions,
} from "./translation.js";
export type { Change, Effect, Failure, Issue, JsonSchema, Repair, Usage, Violation } from "./types.js";
