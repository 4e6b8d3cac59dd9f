// Try: a request in any protocol to any model; plan, wire body, stream, answer, report.

import { useState } from "preact/hooks";
import { type Change, json, send } from "./api";
import { Changes, Code, Failure, Field, message } from "./parts";

interface Plan {
  model: string;
  protocol: string;
  url: string;
  body: unknown;
  changes: Change[];
}

interface Report {
  changes: Change[];
  repairs: Change[];
  timings: unknown;
  usage?: unknown;
  attempts: unknown;
}

const TOOL_SCHEMA = { type: "object", properties: { city: { type: "string" }, days: { type: "integer" } }, required: ["city"] };

const EXAMPLES: Record<string, { path: (model: string, stream: boolean) => string; body: (model: string) => unknown }> = {
  "openai-chat": {
    path: () => "/v1/chat/completions",
    body: (model) => ({
      model,
      messages: [{ role: "user", content: "What is the weather in Bern?" }],
      tools: [{ type: "function", function: { name: "get.weather", parameters: TOOL_SCHEMA } }],
    }),
  },
  "openai-responses": { path: () => "/v1/responses", body: (model) => ({ model, input: "Hello!" }) },
  "anthropic-messages": {
    path: () => "/v1/messages",
    body: (model) => ({ model, max_tokens: 500, messages: [{ role: "user", content: "Hello!" }] }),
  },
  gemini: {
    path: (model, stream) => `/v1beta/models/${encodeURIComponent(model)}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
    body: () => ({ contents: [{ role: "user", parts: [{ text: "Hello!" }] }] }),
  },
};

export function Try() {
  const [protocol, setProtocol] = useState("openai-chat");
  const [model, setModel] = useState("anthropic/claude-sonnet-4-5");
  const [stream, setStream] = useState(true);
  const [body, setBody] = useState(() => JSON.stringify(EXAMPLES["openai-chat"]?.body("anthropic/claude-sonnet-4-5"), null, 2));
  const [plan, setPlan] = useState<Plan>();
  const [answer, setAnswer] = useState("");
  const [report, setReport] = useState<Report>();
  const [failure, setFailure] = useState("");

  function choose(next: string) {
    setProtocol(next);
    setBody(JSON.stringify(EXAMPLES[next]?.body(model), null, 2));
  }

  async function run() {
    setFailure("");
    setAnswer("");
    setReport(undefined);
    try {
      const request = { ...JSON.parse(body) };
      if ("model" in request) request.model = model;
      setPlan(await json<Plan>("/playground/plan", { protocol, model, body: request }));
      if (protocol !== "gemini") request.stream = stream;
      const response = await send(EXAMPLES[protocol]?.path(model, stream) ?? "", request);
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
        text += part.value;
        setAnswer(text);
      }
      const id = response.headers.get("x-polywire-request-id");
      if (id) setReport(await json<Report>(`/requests/${id}`));
    } catch (error) {
      setFailure(message(error));
    }
  }

  return (
    <section>
      <h2>Try</h2>
      <div class="columns">
        <div>
          <Field label="Protocol">
            <select value={protocol} onChange={(event) => choose(event.currentTarget.value)}>
              {Object.keys(EXAMPLES).map((name) => <option key={name}>{name}</option>)}
            </select>
          </Field>
          <Field label="Model or route">
            <input value={model} onInput={(event) => setModel(event.currentTarget.value)} />
          </Field>
          <label class="check">
            <input type="checkbox" checked={stream} onChange={(event) => setStream(event.currentTarget.checked)} /> Stream
          </label>
          <button type="button" class="main" onClick={run}>Send</button>
          <Failure text={failure} />
        </div>
        <Field label="Request">
          <textarea rows={14} spellcheck={false} value={body} onInput={(event) => setBody(event.currentTarget.value)} />
        </Field>
      </div>
      <div class="columns">
        {plan && (
          <article>
            <h3>Sent to {plan.model}</h3>
            <Code title={`${plan.protocol}: ${plan.url}`} value={plan.body} />
            <Changes changes={plan.changes} />
          </article>
        )}
        {answer && (
          <article>
            <h3>Answer</h3>
            <Code value={answer} />
          </article>
        )}
        {report && (
          <article data-report>
            <h3>Report</h3>
            <h4>Repairs on the way back</h4>
            <Changes changes={report.repairs} />
            <Code value={{ timings: report.timings, usage: report.usage, attempts: report.attempts }} />
          </article>
        )}
      </div>
    </section>
  );
}
