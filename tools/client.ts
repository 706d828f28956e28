/** HTTP client of the public API, shared by the tools. */
import { developmentKey, isTeamKey } from "../domain/teams/credentials.ts";
import { type Region, REGIONS } from "../domain/core/ids.ts";
import { isObject } from "../domain/core/raw_json.ts";
import { ToolFailure, UsageError } from "./command.ts";

/** A JSON object on the wire. */
export type ClientJson = Readonly<Record<string, unknown>>;

/** Address of a server, and the key to call it with. */
export interface ClientConnection {
  readonly url: string;
  readonly key: string;
}

/** Calls one server with one key. */
export type Client = ReturnType<typeof createClient>;

/** A request that writes. */
export interface ClientCall {
  readonly path: string;
  readonly body: ClientJson;
}

/** Counts of the server's answers to writes. */
export class Tally {
  requests = 0;
  /** Events stored. */
  accepted = 0;
  /** Events already stored. */
  duplicates = 0;
  /** Openings, finishes and heartbeats already stored. */
  replays = 0;

  /** Sends a request and counts its answer. */
  async send(client: Client, { path, body }: ClientCall): Promise<void> {
    const answer = await client.post(path, body);
    this.requests++;
    this.accepted += Number(answer.body.accepted ?? 0);
    this.duplicates += Number(answer.body.duplicates ?? 0);
    if (answer.replayed) this.replays++;
  }
}

/** The server refused the request. */
export class Refused extends ToolFailure {
  override readonly name = "Refused";

  constructor(message: string, readonly status: number) {
    super(message);
  }
}

/** Options of every tool that calls a server. */
export const CONNECTION_OPTIONS = {
  url: { type: "string" },
  key: { type: "string" },
  help: { type: "boolean", short: "h", default: false },
} as const;

/** Help lines for {@link CONNECTION_OPTIONS}. */
export const CONNECTION_HELP = [
  "  --url URL    the server (default: HOST and PORT as the service reads them, http://127.0.0.1:8000)",
  "  --key KEY    a team key with the scopes ingest and read",
  "               (default: RUNLEDGER_KEY, else the development key)",
  "  --help       show this",
];

/** Reads a setting of the service; an empty value counts as absent. */
export type ReadSetting = (name: string) => string | undefined;

/** Hosts that mean all addresses of a machine, and the local address to connect to. */
const ALL_ADDRESSES: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

/** Returns the server named by the options, otherwise the one in the service's settings. */
export function connectionOf(
  values: { readonly url?: string | undefined; readonly key?: string | undefined },
  setting: ReadSetting = (name) => Deno.env.get(name),
): ClientConnection {
  const region = REGIONS.find((region) => region === setting("RUNLEDGER_REGION")) ?? "eu";
  return {
    url: values.url ?? localUrl(setting("HOST") || "127.0.0.1", setting("PORT") || "8000"),
    key: values.key ?? (setting("RUNLEDGER_KEY") || developmentKey(region)),
  };
}

function localUrl(host: string, port: string): string {
  if (port === "0") throw new UsageError("PORT is 0, a free port: name the server with --url");
  const reached = ALL_ADDRESSES[host] ?? host;
  return `http://${reached.includes(":") ? `[${reached}]` : reached}:${port}`;
}

/** Statuses after which the request may be retried (contract 11). */
const RETRYABLE: ReadonlySet<number> = new Set([429, 500, 502, 503]);
/** Attempts at one request; with the pauses below they take about 15 seconds. */
const ATTEMPTS_MAX = 7;
const FIRST_PAUSE_MS = 250;
const PAUSE_MS_MAX = 60_000;
/** Longer than the server's deadlines for storage and for a body together. */
const ANSWER_MS_MAX = 30_000;

/**
 * Creates a client; sends nothing yet.
 *
 * @param pause waits for the given milliseconds
 */
export function createClient(connection: ClientConnection, pause = sleep) {
  const url = baseUrl(connection.url);
  const region = regionOf(connection.key);
  const http = Deno.createHttpClient({});
  let answered = false;

  async function send(method: string, path: string, body?: ClientJson) {
    const payload = body === undefined ? {} : { body: JSON.stringify(body) };
    for (let attempt = 1;; attempt++) {
      const last = attempt === ATTEMPTS_MAX;
      const backOffMs = FIRST_PAUSE_MS * 2 ** (attempt - 1);
      let response: Response;
      let text: string;
      try {
        response = await fetch(url + path, {
          method,
          client: http,
          headers: { Authorization: `Bearer ${connection.key}` },
          signal: AbortSignal.timeout(ANSWER_MS_MAX),
          ...payload,
        });
        text = await response.text();
      } catch (error) {
        // A server that never responded is not running; one that did may be restarting.
        if (!answered || last) throw unreachable(url, error);
        await pause(backOffMs);
        continue;
      }
      answered = true;
      if (response.ok) return answerOf(response, text);
      if (!RETRYABLE.has(response.status) || last) throw refusal(url + path, response, text);
      await pause(retryAfterMs(response) ?? backOffMs);
    }
  }

  return {
    /** Address of the server, without a slash at its end. */
    url,
    /** Region of the key; ids are made in it. */
    region,
    /** Sends a write and retries it until a final response; the ids in it make it idempotent. */
    post: (path: string, body: ClientJson) => send("POST", path, body),
    /** Sends settings and retries them as a write; the same again change nothing. */
    put: (path: string, body: ClientJson) => send("PUT", path, body),
    get: (path: string) => send("GET", path),
    /** Returns a command that reads a path; it contains no key except the public development key. */
    curl: (path: string) =>
      `curl -sS --fail-with-body -u ${shownKey(connection.key)} "${url}${path}"`,
    [Symbol.dispose]: () => http.close(),
  };
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function baseUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new UsageError(`--url must be such as http://127.0.0.1:8000: got ${text}`);
  }
  return (url.origin + url.pathname).replace(/\/+$/, "");
}

function regionOf(key: string): Region {
  const region = REGIONS.find((region) => isTeamKey(key, region));
  // The message omits the key: it is a secret.
  if (region !== undefined) return region;
  throw new UsageError("--key must be a team key: apk_<eu|us>_ and 32 lowercase hex digits");
}

/** Returns the argument of curl's `-u`: the key as user name, and no password. */
function shownKey(key: string): string {
  return REGIONS.some((region) => key === developmentKey(region)) ? `${key}:` : '"$KEY:"';
}

function answerOf(response: Response, text: string) {
  const body = jsonObject(text);
  if (body === null) throw notRunledger(response.url, response.status);
  /** True if the server had already stored the same request. */
  const replayed = response.headers.get("idempotent-replayed") === "true";
  return { status: response.status, replayed, body };
}

/** Returns the milliseconds of `Retry-After`; null when the header is absent. */
function retryAfterMs(response: Response): number | null {
  const seconds = response.headers.get("retry-after") ?? "";
  return /^\d+$/.test(seconds) ? Math.min(PAUSE_MS_MAX, 1_000 * Number(seconds)) : null;
}

function unreachable(url: string, error: unknown): ToolFailure {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const detail = cause instanceof Error ? cause.message.split(": ").at(-1) : String(cause);
  return new ToolFailure(
    `No server at ${url} (${detail}): start it with "deno task dev", ` +
      "or name another with --url",
  );
}

function refusal(url: string, response: Response, text: string): ToolFailure {
  const envelope = jsonObject(text);
  if (typeof envelope?.error !== "string") return notRunledger(url, response.status);
  const { error: code, message } = envelope;
  const line = response.status === 401 || code === "forbidden"
    ? `${new URL(url).origin} refuses the key (${code}): pass one of its keys with --key`
    : `${url} returned ${response.status} ${code}: ${message}`;
  return new Refused(line, response.status);
}

function notRunledger(url: string, status: number): ToolFailure {
  return new ToolFailure(
    `${url} returned ${status} in an unknown format: check that --url is a Runledger server`,
  );
}

function jsonObject(text: string): ClientJson | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
