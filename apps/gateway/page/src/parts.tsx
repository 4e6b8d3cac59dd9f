// Small parts that several tabs use.

import type { ComponentChildren } from "preact";
import type { Change } from "./api";

export function Changes({ changes, onPlace }: { changes: Change[]; onPlace?: (at: string) => void }) {
  if (changes.length === 0) return <p class="quiet">No changes.</p>;
  return (
    <ul class="changes">
      {changes.map((change, index) => (
        <li key={index}>
          <span class={`effect ${change.effect}`}>{change.effect}</span>
          {onPlace ? (
            <button type="button" class="place" onClick={() => onPlace(change.at)}>
              {change.at || "/"}
            </button>
          ) : (
            <code class="place">{change.at || "/"}</code>
          )}
          <span>{change.detail}</span> <code class="quiet">{change.code}</code>
        </li>
      ))}
    </ul>
  );
}

export function Code({ value, title }: { value: unknown; title?: string }) {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return (
    <figure>
      {title && <figcaption>{title}</figcaption>}
      <pre tabIndex={0}>{text}</pre>
    </figure>
  );
}

export function Field({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <label class="field">
      <span>{label}</span>
      {children}
    </label>
  );
}

export function Failure({ text }: { text: string }) {
  return text ? (
    <p class="failure" role="alert">
      {text}
    </p>
  ) : null;
}

export const usd = (value: number | null | undefined): string =>
  value === null || value === undefined ? "–" : `$${value.toFixed(value < 0.01 ? 6 : 2)}`;

export const time = (ms: number): string => new Date(ms).toLocaleTimeString();

export const message = (error: unknown): string => (error instanceof Error ? error.message : String(error));
