/** The `polywire` command. */

import { call } from "./errors.js";
import { native } from "./native.js";

/** Runs the command with these arguments on this thread until it ends, and returns its exit code. */
export function runCommand(args: readonly string[]): number {
  return call(() => native.runCommand(["polywire", ...args]));
}
