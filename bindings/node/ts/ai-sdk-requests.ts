/** The way there: tools, output schema and history of a request of the AI SDK, as the provider accepts them. */

import { fit, type Fitted } from "./fit.js";
import { fitTools, type FittedTool, type FittedTools } from "./tools.js";
import type { Change, JsonSchema } from "./types.js";

/** What schemas are fitted to. */
export interface Target {
  /** The dialect of tools. */
  tool: string;
  /** The dialect of the output schema. */
  output: string;
  /** Whether tools are sent with the strict flag where they meet its rules. */
  isStrict: boolean;
  strictOption: readonly [string, string] | undefined;
  /** What the caller should know about the choice. */
  note: string | undefined;
}

/** A request that was fitted, and what brings its answer back. */
export interface Prepared {
  params: CallOptions;
  tools: FittedTools | undefined;
  /** The tools by the names that the model knows. */
  byName: ReadonlyMap<string, FittedTool>;
  output: Fitted | undefined;
  changes: Change[];
  warnings: Warning[];
}

/** A warning of the AI SDK. */
export interface Warning {
  type: "other";
  message: string;
}

interface FunctionTool {
  type: string;
  name: string;
  description?: string;
  inputSchema: JsonSchema;
  inputExamples?: { input: unknown }[];
  strict?: boolean;
}

interface Part {
  type: string;
  toolName?: string;
  input?: unknown;
}

interface Message {
  role: string;
  content: string | Part[];
}

/** The parameters of a call, as far as they are read. */
interface CallOptions {
  prompt?: Message[];
  tools?: FunctionTool[];
  toolChoice?: { type: string; toolName?: string };
  responseFormat?: { type: string; schema?: JsonSchema };
  providerOptions?: Record<string, Record<string, unknown>>;
}

/** Fits a request. The parameters of the caller are not touched. */
export function prepare(original: object, target: Target): Prepared {
  const params: CallOptions = { ...original };
  const byName = new Map<string, FittedTool>();
  const changes: Change[] = [];
  const tools = prepareTools(params, target, byName);
  const output = prepareOutput(params, target);
  changes.push(...(tools?.changes ?? []), ...(output?.changes ?? []));
  if (tools !== undefined) {
    renameTools(params, tools, new Map([...byName.values()].map((tool) => [tool.originalName, tool.name])));
  }
  const notes = target.note === undefined ? [] : [target.note];
  const lost = changes.filter(({ effect }) => effect === "wider" || effect === "narrower");
  const told = [...notes, ...lost.map(({ code, at, detail }) => `polywire ${code}${at === "" ? "" : ` at ${at}`}: ${detail}`)];
  return { params, tools, byName, output, changes, warnings: told.map((message) => ({ type: "other", message })) };
}

function prepareTools(params: CallOptions, target: Target, byName: Map<string, FittedTool>): FittedTools | undefined {
  const functions = (params.tools ?? []).filter((tool) => tool.type === "function");
  if (functions.length === 0) {
    return undefined;
  }
  const listed = functions.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  const fitted = fitTools({ tools: listed }, target.tool);
  const { entries } = fitted;
  const made = new Map(functions.map((tool, place) => [tool, entries[place]] as const));
  params.tools = (params.tools ?? []).map((tool) => {
    const entry = made.get(tool);
    if (entry === undefined) {
      return tool;
    }
    byName.set(entry.name, entry);
    const sent: FunctionTool = { ...tool, name: entry.name, inputSchema: entry.schema };
    if (entry.description !== null) {
      sent.description = entry.description;
    }
    if (target.isStrict && tool.strict !== false) {
      sent.strict = entry.strict;
    }
    if (tool.inputExamples !== undefined) {
      sent.inputExamples = tool.inputExamples.map(({ input }) => ({ input: fitted.encode(tool.name, input).arguments }));
    }
    return sent;
  });
  return fitted;
}

function prepareOutput(params: CallOptions, target: Target): Fitted | undefined {
  const format = params.responseFormat;
  if (format?.type !== "json" || format.schema === undefined) {
    return undefined;
  }
  const fitted = fit(format.schema, target.output, { slot: "output" });
  params.responseFormat = { ...format, schema: fitted.schema };
  const option = target.strictOption;
  if (option !== undefined && !fitted.strict) {
    const [provider, name] = option;
    const options = params.providerOptions ?? {};
    params.providerOptions = { ...options, [provider]: { ...options[provider], [name]: false } };
  }
  return fitted;
}

/** Earlier calls in the names and schemas that the model gets: it repeats what it reads. */
function renameTools(params: CallOptions, tools: FittedTools, names: ReadonlyMap<string, string>): void {
  const rename = <T extends { toolName?: string }>(named: T): T => {
    const name = named.toolName === undefined ? undefined : names.get(named.toolName);
    return name === undefined ? named : { ...named, toolName: name };
  };
  if (params.toolChoice !== undefined) {
    params.toolChoice = rename(params.toolChoice);
  }
  const encode = (part: Part): Part => {
    const { toolName } = part;
    if (part.type !== "tool-call" || toolName === undefined || !names.has(toolName)) {
      return rename(part);
    }
    const { name, arguments: input } = tools.encode(toolName, part.input);
    return { ...part, toolName: name, input };
  };
  params.prompt = (params.prompt ?? []).map((message) =>
    typeof message.content === "string" ? message : { ...message, content: message.content.map(encode) },
  );
}
