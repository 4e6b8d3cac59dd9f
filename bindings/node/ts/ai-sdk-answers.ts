/** The way back: calls and objects of an answer of the AI SDK, in the caller's names and schemas. */

import type { Prepared, Warning } from "./ai-sdk-requests.js";
import { parse } from "./answer.js";
import { PolywireError } from "./errors.js";

interface Call {
  type: string;
  toolName?: string;
  input?: string;
  providerExecuted?: boolean;
}

interface Content extends Call {
  text?: string;
}

interface GenerateResult {
  content?: Content[];
  warnings?: Warning[];
}

/** A whole answer. */
export function decodeContent<R extends object>(result: R, request: Prepared): R {
  const { content, warnings } = result as GenerateResult;
  const told: Warning[] = [];
  const decoded = content?.map((part) => {
    if (part.type === "tool-call") {
      return decodeCall(part, request, told);
    }
    return part.type === "text" && part.text !== undefined ? { ...part, text: decodeText(part.text, request, told) } : part;
  });
  return { ...result, content: decoded, warnings: [...(warnings ?? []), ...request.warnings, ...told] };
}

/** A call of one of the caller's tools. What cannot be converted stays as it is: the AI SDK then reports or repairs it. */
function decodeCall<C extends Call>(call: C, request: Prepared, warnings: Warning[]): C {
  const entry = call.toolName === undefined ? undefined : request.byName.get(call.toolName);
  if (request.tools === undefined || entry === undefined || call.providerExecuted === true) {
    return call;
  }
  try {
    const decoded = request.tools.decode(entry.name, call.input ?? "");
    return { ...call, toolName: decoded.name, input: JSON.stringify(decoded.arguments) };
  } catch (error) {
    warnings.push(unconverted(`the arguments of ${entry.originalName}`, error));
    return { ...call, toolName: entry.originalName };
  }
}

/** The text of an object that was asked for. */
function decodeText(text: string, request: Prepared, warnings: Warning[]): string {
  const { output } = request;
  if (output === undefined || text.trim() === "") {
    return text;
  }
  const answer = parse(text);
  if (answer.value === undefined || answer.truncated) {
    return text;
  }
  try {
    return JSON.stringify(output.decode(answer.value));
  } catch (error) {
    warnings.push(unconverted("the object", error));
    return text;
  }
}

function unconverted(what: string, error: unknown): Warning {
  if (!(error instanceof PolywireError)) {
    throw error;
  }
  return { type: "other", message: `polywire: ${what} could not be converted back: ${error.message}` };
}

interface StreamPart extends Call {
  id?: string;
  delta?: string;
  inputEncoding?: string;
  warnings?: Warning[];
}

/** A streamed answer. Only what is converted is held back: the arguments of a call, or the text of an object, until they are complete. */
export function decodeStream<R extends object>(result: R, request: Prepared): R {
  const { stream } = result as { stream: ReadableStream<StreamPart> };
  const decoder = new StreamDecoder(request);
  const transform = new TransformStream<StreamPart, StreamPart>({
    transform: (part, controller) => decoder.push(part).forEach((decoded) => controller.enqueue(decoded)),
  });
  return { ...result, stream: stream.pipeThrough(transform) };
}

class StreamDecoder {
  readonly #request: Prepared;
  /** Text that is held back, by the id of its block, and for a call the tool. */
  readonly #held = new Map<string, { text: string; tool: string | undefined }>();

  constructor(request: Prepared) {
    this.#request = request;
  }

  push(part: StreamPart): StreamPart[] {
    const held = part.id === undefined ? undefined : this.#held.get(part.id);
    switch (part.type) {
      case "stream-start":
        return [{ ...part, warnings: [...(part.warnings ?? []), ...this.#request.warnings] }];
      case "text-start":
        if (this.#request.output?.converts === true && part.id !== undefined) {
          this.#held.set(part.id, { text: "", tool: undefined });
        }
        return [part];
      case "tool-input-start":
        return [this.#startInput(part)];
      case "text-delta":
      case "tool-input-delta":
        if (held === undefined) {
          return [part];
        }
        held.text += part.delta ?? "";
        return [];
      case "text-end":
      case "tool-input-end":
        return held === undefined ? [part] : [...this.#release(part, held), part];
      case "tool-call":
        return [decodeCall(part, this.#request, [])];
      default:
        return [part];
    }
  }

  #startInput(part: StreamPart): StreamPart {
    const entry = part.toolName === undefined ? undefined : this.#request.byName.get(part.toolName);
    if (entry === undefined || part.providerExecuted === true || part.inputEncoding === "text") {
      return part;
    }
    if (entry.converts && part.id !== undefined) {
      this.#held.set(part.id, { text: "", tool: entry.name });
    }
    return { ...part, toolName: entry.originalName };
  }

  /** What was held back, converted, as one piece. */
  #release(end: StreamPart, { text, tool }: { text: string; tool: string | undefined }): StreamPart[] {
    const id = end.id ?? "";
    this.#held.delete(id);
    if (tool === undefined) {
      const delta = decodeText(text, this.#request, []);
      return delta === "" ? [] : [{ type: "text-delta", id, delta }];
    }
    const decoded = decodeCall({ type: "tool-call", toolName: tool, input: text }, this.#request, []);
    return [{ type: "tool-input-delta", id, delta: decoded.input ?? "" }];
  }
}
