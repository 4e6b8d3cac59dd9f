// The page of the gateway: five tabs, chosen by the fragment of the address.

import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Keys, Requests, Usage } from "./admin";
import { gatewayKey } from "./api";
import { Playground } from "./playground";
import { Try } from "./try";
import "./style.css";

const TABS = { playground: Playground, try: Try, requests: Requests, usage: Usage, keys: Keys };
const NAMES: Record<string, string> = { playground: "Playground", try: "Try", requests: "Requests", usage: "Usage", keys: "Keys" };

const chosen = (): keyof typeof TABS => {
  const name = location.hash.slice(1);
  return name in TABS ? (name as keyof typeof TABS) : "playground";
};

function Page() {
  const [tab, setTab] = useState(chosen);
  const [key, setKey] = useState(gatewayKey.get);
  useEffect(() => {
    const update = () => setTab(chosen());
    addEventListener("hashchange", update);
    return () => removeEventListener("hashchange", update);
  }, []);
  const Tab = TABS[tab];
  return (
    <>
      <header>
        <h1>polywire</h1>
        <nav aria-label="Parts of the page">
          {Object.entries(NAMES).map(([id, name]) => (
            <a key={id} href={`#${id}`} aria-current={id === tab ? "page" : undefined}>{name}</a>
          ))}
        </nav>
        <label class="key">
          <span>Gateway key</span>
          <input
            type="password"
            autocomplete="off"
            placeholder="none"
            value={key}
            onInput={(event) => {
              gatewayKey.set(event.currentTarget.value);
              setKey(event.currentTarget.value);
            }}
          />
        </label>
      </header>
      <main><Tab key={`${tab} ${key}`} /></main>
    </>
  );
}

const root = document.getElementById("page");
if (root) render(<Page />, root);
