/** Reads schemas of any kind as JSON Schema text, and validates by the schema's own library. */

import { PolywireError, SchemaError, AnswerError } from "./errors.js";
import type { StandardIssue, StandardProps, StandardSchema, Validate, ValidateResult } from "./standard.js";
import type { Issue, JsonSchema } from "./types.js";

/** A schema: of zod, valibot, arktype or another library with Standard Schema, a JSON Schema as data, or its text. */
export type SchemaInput = StandardSchema | JsonSchema | string;

/** A schema that was read. */
export interface ReadSchema {
  /** The JSON Schema as text. */
  readonly text: string;
  /** The library's own validation, if there is one. */
  readonly validate: Validate | undefined;
}

/** Schemas of libraries do not change, so each is read once. */
const known = new WeakMap<object, ReadSchema>();

/** Reads a schema. JSON Schemas as data are read each time: their owner may change them. */
export function readSchema(schema: SchemaInput): ReadSchema {
  if (typeof schema === "string") {
    return { text: schema, validate: undefined };
  }
  if (typeof schema === "boolean") {
    return { text: String(schema), validate: undefined };
  }
  if (schema === null || (typeof schema !== "object" && typeof schema !== "function")) {
    throw unusable(`a schema is an object, a boolean or JSON text, not ${schema === null ? "null" : typeof schema}`);
  }
  const standard = (schema as Partial<StandardSchema>)["~standard"];
  if (standard === undefined || typeof standard !== "object") {
    return { text: stringify(schema), validate: undefined };
  }
  let read = known.get(schema);
  if (read === undefined) {
    read = readStandard(schema as StandardSchema, standard);
    known.set(schema, read);
  }
  return read;
}

function stringify(schema: unknown): string {
  try {
    return JSON.stringify(schema);
  } catch (cause) {
    throw unusable(`the schema is not JSON: ${messageOf(cause)}`, cause);
  }
}

interface Converter {
  input(options: { target: string }): Record<string, unknown>;
}

/** The draft that is asked for. */
const TARGET = "draft-2020-12";

function readStandard(schema: StandardSchema, standard: StandardProps): ReadSchema {
  const { validate, jsonSchema } = standard as StandardProps & { validate?: Validate; jsonSchema?: Converter };
  const text = stringify(toJsonSchema(schema, standard.vendor, jsonSchema));
  return { text, validate: typeof validate === "function" ? validate.bind(standard) : undefined };
}

/** The JSON Schema of what the schema takes: that is what a model writes. Transformations follow when the value is loaded. */
function toJsonSchema(schema: StandardSchema, vendor: string, converter: Converter | undefined): unknown {
  try {
    if (converter !== undefined) {
      return converter.input({ target: TARGET });
    }
    if (vendor === "valibot") {
      return convertValibot(schema);
    }
    if (vendor === "zod") {
      return serializeZod(schema);
    }
    const own = (schema as { toJsonSchema?: () => unknown }).toJsonSchema;
    if (typeof own === "function") {
      return own.call(schema);
    }
  } catch (cause) {
    throw cause instanceof PolywireError ? cause : unusable(`${vendor}: ${messageOf(cause)}`, cause);
  }
  throw unusable(`this version of ${vendor} does not convert its schemas to JSON Schema; pass a JSON Schema instead`);
}

function convertValibot(schema: StandardSchema): unknown {
  let library: { toJsonSchema(schema: unknown, options: { typeMode: "input" }): unknown };
  try {
    library = require("@valibot/to-json-schema");
  } catch (cause) {
    throw unusable("schemas of valibot need the package @valibot/to-json-schema: npm install @valibot/to-json-schema", cause);
  }
  return library.toJsonSchema(schema, { typeMode: "input" });
}

/**
 * A schema of a zod without Standard JSON Schema as data. The native part reads what `JSON.stringify` leaves of it; here
 * the members that zod 3 keeps in functions are called first.
 */
function serializeZod(schema: unknown, open: Set<unknown> = new Set()): unknown {
  if (schema instanceof RegExp) {
    return { source: schema.source, flags: schema.flags };
  }
  if (schema === null || typeof schema !== "object") {
    return typeof schema === "bigint" ? Number(schema) : schema;
  }
  if (open.has(schema)) {
    throw unusable("a recursive schema of this version of zod cannot be converted; use zod 4, or pass a JSON Schema");
  }
  open.add(schema);
  try {
    if (Array.isArray(schema)) {
      return schema.map((item) => serializeZod(item, open));
    }
    if (schema instanceof Map || schema instanceof Set) {
      return undefined;
    }
    const definition = (schema as { _def?: Record<string, unknown> })._def;
    if (definition !== undefined && typeof definition["typeName"] === "string") {
      const getter = definition["typeName"] === "ZodLazy" ? definition["getter"] : undefined;
      return typeof getter === "function" ? serializeZod(getter(), open) : { _def: members(definition, open) };
    }
    return members(schema as Record<string, unknown>, open);
  } finally {
    open.delete(schema);
  }
}

function members(object: Record<string, unknown>, open: Set<unknown>): Record<string, unknown> {
  const entries = Object.entries(object).map(([key, value]) => {
    const called = typeof value === "function" && (key === "shape" || key === "defaultValue") ? value() : value;
    return [key, typeof called === "function" ? undefined : serializeZod(called, open)];
  });
  return Object.fromEntries(entries);
}

/** Validates by the schema's own library and returns its value. A library that validates in promises cannot be used here. */
export function validateNow(value: unknown, validate: Validate): unknown {
  const result = validate(value);
  if (typeof (result as PromiseLike<ValidateResult>).then === "function") {
    // Nobody awaits it, and a rejection that nobody handles ends the process.
    (result as PromiseLike<ValidateResult>).then(undefined, () => undefined);
    const message = "this schema validates asynchronously; use loadAsync";
    throw new AnswerError({ code: "async-schema", message });
  }
  return valueOf(result as ValidateResult);
}

/** Validates by the schema's own library and returns its value. */
export async function validateLater(value: unknown, validate: Validate): Promise<unknown> {
  return valueOf(await validate(value));
}

function valueOf(result: ValidateResult): unknown {
  if (result.issues === undefined) {
    return result.value;
  }
  const issues = result.issues.map(toIssue);
  const [first] = issues;
  const place = first === undefined || first.at === "" ? "the value" : `at \`${first.at}\``;
  const message = `the schema does not accept ${place}: ${first?.detail ?? "no reason given"}`;
  throw new AnswerError({ code: "invalid", message, at: first?.at ?? "", details: { errors: issues } });
}

function toIssue(issue: StandardIssue): Issue {
  const keys = (issue.path ?? []).map((step) => (typeof step === "object" ? step.key : step));
  const tokens = keys.map((key) => String(key).replaceAll("~", "~0").replaceAll("/", "~1"));
  return { at: tokens.map((token) => `/${token}`).join(""), detail: issue.message };
}

function unusable(message: string, cause?: unknown): SchemaError {
  return new SchemaError({ code: "unusable-schema", message }, cause === undefined ? undefined : { cause });
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
