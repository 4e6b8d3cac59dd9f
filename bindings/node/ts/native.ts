/** Finds and loads the native part. Values cross as JSON text: V8 reads and writes it faster than objects can be built from outside. */

/** @internal */
export interface NativeFitted {
  readonly schema: string;
  readonly changes: string;
  readonly strict: boolean;
  readonly converts: boolean;
  encode(value: string): string;
  decode(value: string): string;
  load(value: string): string;
}

/** @internal */
export interface NativeTools {
  readonly tools: string;
  readonly entries: string;
  readonly changes: string;
  readonly strict: boolean;
  decode(name: string, args: string): string;
  decodeText(name: string, args: string): string;
  encode(name: string, args: string): string;
}

/** @internal A compiled schema. */
export interface NativeSchema {
  readonly compiled: never;
}

/** @internal */
export interface NativeParsed {
  /** The value; empty where the text itself is it, absent where there is none. */
  json?: string;
  /** Members of the answer, where there is more to tell than that the value is valid. */
  notes?: string;
}

/** @internal */
export interface NativePartialParser {
  push(chunk: string): string | null;
  value(): string | null;
  completeValue(): string | null;
  isComplete(at: string): boolean;
  readonly done: boolean;
  readonly text: string;
  finish(settings: string): NativeParsed;
}

/** @internal */
export interface NativeTranslation {
  readonly method: string;
  readonly url: string;
  readonly headers: string;
  readonly body: Buffer;
  readonly changes: string;
  readonly plan: string;
  readonly isStream: boolean;
  readonly streamContentType: string;
  response(body: Uint8Array): { body: Buffer; notes: string };
  error(status: number, headers: string[], body: Uint8Array): { status: number; headers: string; body: Buffer };
  stream(): NativeTranslationStream;
}

/** @internal */
export interface NativeTranslationStream {
  push(bytes: Uint8Array): Buffer;
  finish(): { body: Buffer; notes: string };
}

/** @internal Work on the runtime of the native part. */
export interface NativeOperation {
  /** The outcome, once it was announced. */
  take(): string | null;
  cancel(): void;
}

/** @internal */
export interface NativeEmulator {
  readonly url: string;
  baseUrl(provider: string): string;
  stop(): void;
}

/** @internal A call of a function of the caller. */
export interface NativeToolCall {
  readonly tool: number;
  readonly arguments: string;
  resolve(value: string): void;
  reject(message: string): void;
}

/** @internal */
export interface NativeClient {
  ask(asked: string, schema: string, models: string[], settings: string, done: () => void): NativeOperation;
  askText(asked: string, models: string[], settings: string, done: () => void): NativeOperation;
  askStream(asked: string, schema: string | undefined, models: string[], settings: string): NativeAskStream;
  run(
    asked: string,
    tools: string,
    schema: string | undefined,
    models: string[],
    settings: string,
    handle: (call: NativeToolCall) => void,
    done: () => void,
  ): NativeOperation;
}

/** @internal */
export interface NativeAskStream {
  next(done: () => void): NativeOperation;
  finish(done: () => void): NativeOperation;
  cancel(): void;
}

/** @internal */
export interface Native {
  fit(schema: string, dialects: string[], settings: string): NativeFitted;
  check(schema: string, dialects: string[], settings: string): string;
  fitTools(tools: string, dialects: string[], settings: string): NativeTools;
  checkTools(tools: string, dialects: string[], settings: string): string;
  parse(text: string, schema: NativeSchema | undefined, settings: string): NativeParsed;
  dialects(): string;
  models(provider: string | undefined): string;
  modelDialects(model: string): string;
  plan(request: string, model: string, source: string | undefined, settings: string): string;
  misbehaviours(): string;
  startEmulator(port: number): NativeEmulator;
  runCommand(args: string[]): number;
  Schema: new (schema: string) => NativeSchema;
  PartialParser: new (schema?: NativeSchema) => NativePartialParser;
  Translation: new (body: Uint8Array, source: string, model: string, settings: string) => NativeTranslation;
  Client: new (settings: string) => NativeClient;
}

/** The name of this platform in the packages that carry binaries. */
function platform(): string {
  const { platform, arch } = process;
  if (platform === "win32") {
    return `${platform}-${arch}-msvc`;
  }
  return platform === "linux" ? `${platform}-${arch}-${isMusl() ? "musl" : "gnu"}` : `${platform}-${arch}`;
}

function isMusl(): boolean {
  const report = process.report?.getReport() as { header?: { glibcVersionRuntime?: string } } | undefined;
  return report?.header?.glibcVersionRuntime === undefined;
}

function load(): Native {
  const name = platform();
  const tried = [`./polywire.${name}.node`, `@polywire/${name}`];
  const failures: unknown[] = [];
  for (const path of tried) {
    try {
      return require(path) as Native;
    } catch (failure) {
      failures.push(failure);
    }
  }
  const message = `polywire has no binary for ${name}: tried ${tried.join(" and ")}. Reinstall with optional dependencies.`;
  throw new Error(message, { cause: new AggregateError(failures) });
}

/** @internal */
export const native: Native = load();
