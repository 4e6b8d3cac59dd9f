/** Work of the native part as promises, which an `AbortSignal` cancels. */

import { readError } from "./errors.js";
import type { NativeOperation } from "./native.js";

/** Starts work; `done` is called when there is an outcome. */
export type Start = (done: () => void) => NativeOperation;

/** The outcome of work. An abort cancels the work and is thrown at once, as the signal's own reason. */
export function settle(start: Start, signal?: AbortSignal): Promise<string | null> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason as Error);
      return;
    }
    let operation: NativeOperation;
    const abort = (): void => {
      operation.cancel();
      reject(signal?.reason as Error);
    };
    const done = (): void => {
      signal?.removeEventListener("abort", abort);
      try {
        resolve(operation.take());
      } catch (thrown) {
        reject(readError(thrown) as Error);
      }
    };
    try {
      operation = start(done);
    } catch (thrown) {
      reject(readError(thrown) as Error);
      return;
    }
    signal?.addEventListener("abort", abort, { once: true });
  });
}
