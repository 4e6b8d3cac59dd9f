/** Options of this package as settings of the native part: the same words, with underscores. */

/** A setting's name from an option's. */
function snake(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Options that hold options. Other objects are maps whose keys are the caller's. */
const NESTED = new Set(["plan", "ask"]);

function settings(options: object): Record<string, unknown> {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined);
  const named = entries.map(([name, value]) => {
    const is_nested = NESTED.has(name) && typeof value === "object" && value !== null;
    return [snake(name), is_nested ? settings(value as object) : value];
  });
  return Object.fromEntries(named);
}

/** Options as JSON text; empty where there are none. */
export function settingsText(options: object | undefined): string {
  if (options === undefined) {
    return "";
  }
  const named = settings(options);
  return Object.keys(named).length === 0 ? "" : JSON.stringify(named);
}
