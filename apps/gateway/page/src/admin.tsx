// Requests, usage and keys.

import { useEffect, useState } from "preact/hooks";
import { json } from "./api";
import { Code, Failure, Field, message, time, usd } from "./parts";

interface Row {
  id: string;
  received_at: number;
  key: string;
  protocol: string;
  model: string;
  served?: string;
  status: number;
  outcome: string;
  changes: number;
  narrower: number;
  wider: number;
  cost_usd?: number;
  timings: { total_ms: number; overhead_ms: number };
}

export function Requests() {
  const [rows, setRows] = useState<Row[]>([]);
  const [report, setReport] = useState<unknown>();
  const [failure, setFailure] = useState("");
  useEffect(() => {
    const load = () =>
      json<{ requests: Row[] }>("/requests").then(
        ({ requests }) => (setRows(requests), setFailure("")),
        (error) => setFailure(message(error)),
      );
    void load();
    const timer = setInterval(load, 2000);
    return () => clearInterval(timer);
  }, []);
  return (
    <section>
      <h2>Requests</h2>
      <Failure text={failure} />
      <div class="scroll">
        <table>
          <thead>
            <tr><th>Time</th><th>Asked</th><th>Served by</th><th>Outcome</th><th>Changes</th><th>Total</th><th>Overhead</th><th>Cost</th></tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.id}>
                <td>
                  <button type="button" onClick={() => json(`/requests/${row.id}`).then(setReport, (error) => setFailure(message(error)))}>
                    {time(row.received_at)}
                  </button>
                </td>
                <td>{row.model}<br /><span class="quiet">{row.protocol}</span></td>
                <td>{row.served ?? "–"}</td>
                <td>{row.outcome} {row.status}</td>
                <td>{row.changes}{row.narrower + row.wider > 0 && <span class="effect narrower">{row.narrower + row.wider} lost</span>}</td>
                <td>{row.timings.total_ms.toFixed(1)} ms</td>
                <td>{row.timings.overhead_ms.toFixed(2)} ms</td>
                <td>{usd(row.cost_usd)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length === 0 && <p class="quiet">No requests yet.</p>}
      {report !== undefined && <Code title="Report" value={report} />}
    </section>
  );
}

interface UsageRow {
  day: string;
  key: string;
  provider: string;
  model: string;
  requests: number;
  failures: number;
  input_tokens: number;
  output_tokens: number;
  cost_nanos: number;
}

export function Usage() {
  const [rows, setRows] = useState<UsageRow[]>([]);
  const [by, setBy] = useState<"day" | "model" | "key">("day");
  const [failure, setFailure] = useState("");
  useEffect(() => {
    json<{ usage: UsageRow[] }>("/usage?days=30").then(({ usage }) => setRows(usage), (error) => setFailure(message(error)));
  }, []);
  const groups = new Map<string, { requests: number; tokens: number; cost: number }>();
  for (const row of rows) {
    const name = by === "model" ? `${row.provider}/${row.model}` : row[by] || "without a key";
    const group = groups.get(name) ?? { requests: 0, tokens: 0, cost: 0 };
    group.requests += row.requests;
    group.tokens += row.input_tokens + row.output_tokens;
    group.cost += row.cost_nanos / 1e9;
    groups.set(name, group);
  }
  const most = Math.max(1, ...[...groups.values()].map((group) => group.requests));
  return (
    <section>
      <h2>Usage of the last 30 days</h2>
      <Failure text={failure} />
      <Field label="By">
        <select value={by} onChange={(event) => setBy(event.currentTarget.value as typeof by)}>
          <option>day</option><option>model</option><option>key</option>
        </select>
      </Field>
      <div class="bars">
        {[...groups].map(([name, group]) => (
          <div key={name} class="bar">
            <span>{name}</span>
            <meter min={0} max={most} value={group.requests} aria-label={`${group.requests} requests`} />
            <span>{group.requests} requests, {group.tokens} tokens, {usd(group.cost)}</span>
          </div>
        ))}
      </div>
      {rows.length === 0 && <p class="quiet">Nothing was used yet.</p>}
    </section>
  );
}

interface KeyRow {
  id: string;
  name: string;
  role: string;
  limits: Record<string, unknown>;
  revoked_at: number | null;
  spent_usd: { day: number; month: number; total: number };
}

export function Keys() {
  const [keys, setKeys] = useState<KeyRow[]>([]);
  const [name, setName] = useState("");
  const [role, setRole] = useState("user");
  const [created, setCreated] = useState("");
  const [failure, setFailure] = useState("");
  const load = () =>
    json<{ keys: KeyRow[] }>("/keys").then(({ keys }) => (setKeys(keys), setFailure("")), (error) => setFailure(message(error)));
  useEffect(() => void load(), []);
  const run = (work: Promise<unknown>) => work.then(load, (error) => setFailure(message(error)));
  return (
    <section>
      <h2>Keys</h2>
      <p class="quiet">With the first key, requests without one are refused. Create an admin key first.</p>
      <Failure text={failure} />
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          void run(json<{ key: string }>("/keys", { name, role }).then(({ key }) => setCreated(key)));
        }}
      >
        <Field label="Name"><input required value={name} onInput={(event) => setName(event.currentTarget.value)} /></Field>
        <Field label="Role">
          <select value={role} onChange={(event) => setRole(event.currentTarget.value)}><option>user</option><option>admin</option></select>
        </Field>
        <button class="main">Create</button>
      </form>
      {created && <Code title="The new key, shown once" value={created} />}
      <div class="scroll">
        <table>
          <thead><tr><th>Name</th><th>Id</th><th>Role</th><th>Limits</th><th>Spent today / month / total</th><th /></tr></thead>
          <tbody>
            {keys.map((key) => (
              <tr key={key.id}>
                <td>{key.name}</td>
                <td><code>{key.id}</code></td>
                <td>{key.role}</td>
                <td><code>{JSON.stringify(key.limits)}</code></td>
                <td>{usd(key.spent_usd.day)} / {usd(key.spent_usd.month)} / {usd(key.spent_usd.total)}</td>
                <td>
                  {key.revoked_at ? "revoked" : <button type="button" onClick={() => run(json(`/keys/${key.id}/revoke`, {}))}>Revoke</button>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
