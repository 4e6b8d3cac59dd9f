// Playground: a schema or tool list in several dialects, side by side, with its changes.

import { useEffect, useRef, useState } from "preact/hooks";
import { type Change, json } from "./api";
import { Changes, Code, Failure, Field, message } from "./parts";

interface Result {
  target: string;
  error?: string;
  strict?: boolean;
  schema?: unknown;
  tools?: { name: string; original_name: string; strict: boolean; schema: unknown }[];
  changes?: Change[];
  trip?: { wire?: unknown; back?: unknown; is_same?: boolean; error?: string } | null;
}

const EXAMPLE = {
  type: "object",
  properties: {
    city: { type: "string", minLength: 2 },
    days: { type: "integer", default: 3 },
    labels: { type: "object", additionalProperties: { type: "string" } },
    place: { oneOf: [{ type: "string" }, { type: "object", properties: { lat: { type: "number" } }, required: ["lat"] }] },
  },
  required: ["city"],
};

export function Playground() {
  const [document, setDocument] = useState(JSON.stringify(EXAMPLE, null, 2));
  const [value, setValue] = useState('{"city": "Bern", "labels": {"a": "1"}}');
  const [targets, setTargets] = useState("openai-strict gemini-openapi");
  const [known, setKnown] = useState<string[]>([]);
  const [results, setResults] = useState<Result[]>([]);
  const [failure, setFailure] = useState("");
  const source = useRef<HTMLTextAreaElement>(null);

  useEffect(() => {
    json<{ dialects: string[] }>("/playground").then(({ dialects }) => setKnown(dialects), () => undefined);
  }, []);

  async function fit() {
    setFailure("");
    try {
      const sample = value.trim() ? JSON.parse(value) : undefined;
      const asked = { document: JSON.parse(document), targets: targets.split(/\s+/).filter(Boolean), value: sample };
      setResults((await json<{ results: Result[] }>("/playground/fit", asked)).results);
    } catch (error) {
      setFailure(message(error));
    }
  }

  // Selects the last key of a pointer in the text of the schema.
  function show(at: string) {
    const area = source.current;
    const key = at.split("/").pop();
    if (!area || !key) return;
    const start = area.value.indexOf(`"${key}"`);
    if (start >= 0) {
      area.focus();
      area.setSelectionRange(start, start + key.length + 2);
    }
  }

  return (
    <section>
      <h2>Playground</h2>
      <div class="columns">
        <Field label="JSON Schema, or a list of tools (OpenAI, Anthropic, Gemini, MCP)">
          <textarea ref={source} rows={16} spellcheck={false} value={document} onInput={(event) => setDocument(event.currentTarget.value)} />
        </Field>
        <div>
          <Field label="Dialects, with spaces between them; a comma means what all of them accept">
            <input list="dialects" value={targets} onInput={(event) => setTargets(event.currentTarget.value)} />
          </Field>
          <datalist id="dialects">{known.map((id) => <option key={id} value={id} />)}</datalist>
          <p class="chips">
            {known.map((id) => (
              <button type="button" key={id} onClick={() => setTargets(`${targets} ${id}`.trim())}>{id}</button>
            ))}
          </p>
          <Field label="A value to send through and back (for a schema)">
            <textarea rows={4} spellcheck={false} value={value} onInput={(event) => setValue(event.currentTarget.value)} />
          </Field>
          <button type="button" class="main" onClick={fit}>Fit</button>
          <Failure text={failure} />
        </div>
      </div>
      <div class="columns" data-results>
        {results.map((result) => (
          <article key={result.target}>
            <h3>
              {result.target} {result.strict && <span class="effect same">strict</span>}
            </h3>
            <Failure text={result.error ?? ""} />
            {result.schema !== undefined && <Code value={result.schema} />}
            {result.tools?.map((tool) => <Code key={tool.name} title={tool.name} value={tool.schema} />)}
            {result.changes && <Changes changes={result.changes} onPlace={show} />}
            {result.trip && <Code title={result.trip.error ?? (result.trip.is_same ? "the value comes back unchanged" : "the value comes back changed")} value={{ wire: result.trip.wire, back: result.trip.back }} />}
          </article>
        ))}
      </div>
    </section>
  );
}
