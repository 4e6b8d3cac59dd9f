/**
 * A middleware for the AI SDK (versions 6 and 7): tools and output schemas go out as the model's provider accepts them, arguments and
 * objects come back in the caller's schemas, and losses are warnings.
 *
 * ```ts
 * import { wrapLanguageModel } from "ai";
 * import { polywire } from "polywire/ai-sdk";
 *
 * const model = wrapLanguageModel({ model: openai("gpt-5"), middleware: polywire({ to: "auto" }) });
 * ```
 *
 * @module
 */

import { PROVIDERS } from "./ai-sdk-providers.js";
import { decodeContent, decodeStream } from "./ai-sdk-answers.js";
import { prepare, type Prepared, type Target } from "./ai-sdk-requests.js";
import { call, UnknownNameError } from "./errors.js";
import { native } from "./native.js";
import type { Change } from "./types.js";

/** Options of {@link polywire}. */
export interface MiddlewareOptions {
  /** `auto` for the dialects of the model's provider, or the id of a dialect, or several ids separated by commas. */
  to: "auto" | (string & {});
  /** Gets every change of each request, those without a loss too. */
  onChanges?: (changes: readonly Change[]) => void;
}

/** A model, as far as it is read. */
interface ModelLike {
  readonly provider: string;
  readonly modelId: string;
}

/** A middleware of the AI SDK 7 (`v4`) or 6 (`v3`): the version is that of the `wrapLanguageModel` that gets it. */
export interface Middleware<Version extends "v3" | "v4"> {
  readonly specificationVersion: Version;
  transformParams<P extends object>(options: { params: P; model: ModelLike }): Promise<P>;
  wrapGenerate<R extends object, P extends object>(options: { doGenerate: () => PromiseLike<R>; params: P }): Promise<R>;
  wrapStream<R extends object, P extends object>(options: { doStream: () => PromiseLike<R>; params: P }): Promise<R>;
}

/** The middleware. */
export function polywire<Version extends "v3" | "v4">(options: MiddlewareOptions): Middleware<Version> {
  const prepared = new WeakMap<object, Prepared>();
  return {
    // Both versions call the middleware alike.
    specificationVersion: "v4" as Version,
    async transformParams({ params, model }) {
      const request = prepare(params, targetOf(options.to, model));
      options.onChanges?.(request.changes);
      prepared.set(request.params, request);
      return request.params as typeof params;
    },
    async wrapGenerate({ doGenerate, params }) {
      const result = await doGenerate();
      const request = prepared.get(params);
      return request === undefined ? result : decodeContent(result, request);
    },
    async wrapStream({ doStream, params }) {
      const result = await doStream();
      const request = prepared.get(params);
      return request === undefined ? result : decodeStream(result, request);
    },
  };
}

/** The dialect of tools that every provider accepts. */
const PORTABLE = "portable";

/** The dialects for a model. */
function targetOf(to: string, model: ModelLike): Target {
  if (to !== "auto") {
    return { tool: to, output: to, isStrict: true, strictOption: undefined, note: undefined };
  }
  const row = PROVIDERS.find(({ starts }) => model.provider.startsWith(starts));
  const name = row === undefined || row.provider === "" ? model.modelId : `${row.provider}/${model.modelId}`;
  try {
    const found = JSON.parse(call(() => native.modelDialects(name))) as ModelDialects;
    const tool = found.tool.dialect ?? PORTABLE;
    return {
      tool,
      output: found.output.dialect ?? tool,
      isStrict: found.tool.strict,
      strictOption: row?.strictOption,
      note: undefined,
    };
  } catch (error) {
    if (!(error instanceof UnknownNameError)) {
      throw error;
    }
    const note = `the provider ${model.provider} is not known; schemas are fitted to the dialect \`${PORTABLE}\``;
    return { tool: PORTABLE, output: PORTABLE, isStrict: false, strictOption: undefined, note };
  }
}

interface ModelDialects {
  tool: { dialect: string | null; strict: boolean };
  output: { dialect: string | null; strict: boolean };
}
