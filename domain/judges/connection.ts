/**
 * Connections to models, which only the operator sets (decision 93).
 *
 * @module
 */
import type { OutputLimit } from "./prompt.ts";

/** A connection to a server of chat completions. */
export interface Connection {
  /** Name that judges choose it by. */
  readonly name: string;
  /** Address of its chat completions. */
  readonly url: string;
  /** Name of the environment variable with the key; null for a server without keys. */
  readonly keyVariable: string | null;
  /** Member of a request that limits the output. */
  readonly outputLimit: OutputLimit;
}

/** Pattern of the names of connections. */
export const CONNECTION_NAME = /^[a-z0-9][a-z0-9_-]{0,31}$/;

const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

/** Completes "must be …" for the setting. */
export const CONNECTIONS_FORM: string = "a list such as " +
  "openai=https://api.openai.com/v1,OPENAI_API_KEY local=http://127.0.0.1:11434/v1: names, base " +
  "URLs without user, password, query and fragment, and names of variables with keys";

/** Parses `RUNLEDGER_LLM`; null for a text that is no list of connections, or has a name twice. */
export function parseConnections(text: string): readonly Connection[] | null {
  const connections = text.split(/\s+/).filter((item) => item !== "").map(parseConnection);
  if (!connections.every((connection) => connection !== null)) return null;
  const names = new Set(connections.map(({ name }) => name));
  return names.size === connections.length ? connections : null;
}

function parseConnection(item: string): Connection | null {
  const [, name = "", base = "", keyVariable] = /^([^=]+)=([^,]+)(?:,([^,]+))?$/.exec(item) ?? [];
  const isNamed = CONNECTION_NAME.test(name) &&
    (keyVariable === undefined || VARIABLE_NAME.test(keyVariable));
  if (!isNamed || !URL.canParse(base)) return null;
  const url = new URL(base);
  const isBase = /^https?:$/.test(url.protocol) && url.username === "" && url.password === "" &&
    url.search === "" && url.hash === "";
  if (!isBase) return null;
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/chat/completions`;
  return {
    name,
    url: url.href,
    keyVariable: keyVariable ?? null,
    // Its newer models refuse the member that all other servers know.
    outputLimit: url.hostname === "api.openai.com" ? "max_completion_tokens" : "max_tokens",
  };
}
