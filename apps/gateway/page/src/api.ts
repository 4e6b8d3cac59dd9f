// Requests of the page to its own gateway.

const KEY = "polywire-key";

export const gatewayKey = {
  get: (): string => sessionStorage.getItem(KEY) ?? "",
  set: (key: string): void => sessionStorage.setItem(KEY, key),
};

export interface Change {
  code: string;
  at: string;
  keyword?: string;
  action: string;
  effect: "same" | "wider" | "narrower" | "note";
  detail: string;
}

export function send(path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  const key = gatewayKey.get();
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (key) headers.authorization = `Bearer ${key}`;
  return fetch(path, {
    method: body === undefined ? "GET" : "POST",
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
    signal,
  });
}

/** The JSON of a response; an error has the gateway's message. */
export async function json<T>(path: string, body?: unknown): Promise<T> {
  const response = await send(path, body);
  const value = await response.json();
  if (!response.ok) throw new Error(value?.error?.message ?? `status ${response.status}`);
  return value as T;
}
