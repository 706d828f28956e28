/**
 * Requests to the dashboard: pages with malformed queries, and forms with malformed fields or of
 * another origin.
 */
import type { Random } from "../../../tools/random.ts";
import { runId } from "../../support/builders/requests.ts";
import { dashboardRoutes } from "../../support/harness/dashboard.ts";
import { NAMES } from "./drafts.ts";
import { write } from "./requests.ts";
import type { Shot } from "./shot.ts";
import { oddId, oddQueryValue } from "./values.ts";

/**
 * Pages by path. The list only waits for changes if a request contains its last state, which none
 * here does. Only four exports may run in parallel; a fifth gets 503.
 */
const PAGES = dashboardRoutes()
  .filter(({ method, path }) => method === "GET" && !/\/runs\.(csv|ndjson)$/.test(path))
  .map(({ path }) => path) as [string, ...string[]];

/** A run, key, row and job that do not exist: every request for them must be refused. */
const NEVER = {
  run: runId(9_001),
  key: `key_eu_${"0".repeat(32)}`,
  row: `rate_${"0".repeat(26)}`,
  job: "01KAK7ZJ5V76GRSDBZG2T155Y0",
} as const;

/** Query parameters of pages, with their possible values. */
const PARAMETERS: readonly (readonly [string, readonly [string, ...string[]]])[] = [
  ["agent", ["researcher", "a%2Fb", "(unattributed)"]],
  ["customer_id", ["acme"]],
  ["feature", ["search"]],
  ["model", ["gpt-4o", "atlas-70b"]],
  ["provider", ["openai", "(unattributed)"]],
  ["status", ["failed", "running"]],
  ["kind", ["heartbeat", "ping_token", "api_key"]],
  ["has", ["error", "unpriced"]],
  ["q", ["0a"]],
  ["min_cost_usd", ["0.5"]],
  ["from", ["2026-01-02", "2026-01-02T00:00:00Z"]],
  ["to", ["2026-03-01"]],
  ["limit", ["2", "50"]],
  ["cursor", ["AAAA", "e30"]],
  ["month", ["2026-01"]],
  ["group_by", ["day", "agent", "customer", "model"]],
  ["groups", ["all"]],
  ["sort", ["agent", "last_seen"]],
  ["archived", ["shown", "true"]],
  ["source", ["own", "default"]],
  ["row", [NEVER.row]],
  ["id", [NEVER.key]],
  ["confirm", ["delete", "rotate", "revoke"]],
  ["done", ["stored", "deleted"]],
  ["live", ["1"]],
  ["next", ["/dashboard/runs", "//x", "/\\x"]],
  ["code", ["0".repeat(32)]],
  ["kept", [""]],
];

type Fields = Readonly<Record<string, string>>;

/** Forms with valid fields; `never` marks forms that must be refused with any fields. */
const FORMS: readonly (readonly [path: string, fields: Fields, never?: Fields])[] = [
  ["/agents/researcher", { name: "Researcher", notes: "reads\r\nand writes", archived: "true" }],
  ["/agents/nobody", { name: "Nobody", notes: "" }, {}],
  ["/keys", { kind: "api_key", scopes: "ingest", agent: "researcher" }, { name: "" }],
  ["/connect", {}, { product: "nothing" }],
  [`/keys/${NEVER.key}/rotate`, { overlap_seconds: "60" }, {}],
  [`/keys/${NEVER.key}/revoke`, {}, {}],
  ["/rate-card", {
    provider: "openai",
    model: "atlas-70b",
    effective_from: "2026-01-31",
    note: "our contract",
    input_usd_per_million: "2.5",
    output_usd_per_million: "10",
    "tiers[0].above_input_tokens": "1000",
    "tiers[0].input_usd_per_million": "3",
    "tiers[0].output_usd_per_million": "12",
  }],
  [`/rate-card/rows/${NEVER.row}/delete`, {}, {}],
  ["/rate-card/reprice", { model: "gpt-4o", provider: "", dry_run: "true" }, { from: "never" }],
  [`/runs/${NEVER.run}/delete`, {}, {}],
  ["/view", { theme: "dark", time: "utc" }, { theme: "\r\n", time: "x;y" }],
  ["/sign-in", { next: "/dashboard" }, { key: "apk_eu_0" }],
  ["/teams", { name: "theirs", tier: "free" }, {}],
  ["/teams/t_never/suspend", {}, {}],
];

/** Headers of a form from another site, or without an origin. */
const ELSEWHERE = [
  ["Sec-Fetch-Site: cross-site"],
  ["Sec-Fetch-Site: same-site"],
  ["Sec-Fetch-Site: none", "Origin: http://x"],
  ["Origin: http://y"],
  ["Origin: null"],
  ["Referer: http://x/dashboard"],
  [],
] as const;

const TYPES = ["text/plain", "application/json", "multipart/form-data; boundary=x", ""] as const;

/** Returns a request for a page or one of its forms, with the session cookie. */
export function oddPage(random: Random, cookie: string): Shot {
  const cookies = random.chance(0.1) ? [oddCookie(random, cookie)] : [`Cookie: ${cookie}`];
  return random.chance(0.6) ? page(random, cookies) : form(random, cookies);
}

function page(random: Random, cookies: readonly string[]): Shot {
  const query: [string, string][] = [];
  for (let remaining = random.pick([0, 1, 1, 2, 3]); remaining > 0; remaining--) {
    const [name, values] = random.pick(PARAMETERS as [typeof PARAMETERS[number]]);
    const value = random.chance(0.5) ? oddQueryValue(random) : random.pick([...values]);
    query.push([name, value]);
  }
  const method = random.chance(0.1) ? "HEAD" as const : "GET" as const;
  const headers = random.chance(0.1) ? ["HX-Request: true", ...cookies] : cookies;
  return write("pages", { method, path: pathOf(random), query, text: null }, { headers });
}

/** Returns the path of a page about an existing, missing or malformed object. */
function pathOf(random: Random): string {
  const path = random.pick(PAGES);
  const at = path.indexOf("/:");
  const { from, to } = NAMES.runs;
  const names: Readonly<Record<string, string>> = {
    "/dashboard/runs": runId(random.int(from, to)),
    "/dashboard/agents": random.pick([...NAMES.agents]),
    "/dashboard/keys": NEVER.key,
    "/dashboard/rate-card/rows": NEVER.row,
    "/dashboard/rate-card/reprice": NEVER.job,
    "/dashboard/assets": "htmx.js",
  };
  const name = names[path.slice(0, at)] ?? "t_never";
  const requested = random.chance(0.3) ? oddId(random, name).toWellFormed() : name;
  return path.replace(/:[a-z]+/, () => encodeURIComponent(requested));
}

function form(random: Random, cookies: readonly string[]): Shot {
  const [path, good, never] = random.pick(FORMS as [typeof FORMS[number]]);
  const fields = new Map(Object.entries(good).map(([name, text]) => [name, encode(text)]));
  for (let remaining = random.pick([0, 1, 1, 2]); remaining > 0 && fields.size > 0; remaining--) {
    const name = random.pick([...fields.keys()] as [string]);
    if (random.chance(0.2)) fields.delete(name);
    else fields.set(name, random.chance(0.1) ? "x".repeat(20_000) : oddQueryValue(random));
  }
  for (const [name, text] of Object.entries(never ?? {})) fields.set(name, encode(text));
  const text = Array.from(fields, ([name, value]) => `${encode(name)}=${value}`).join("&");
  const isElsewhere = random.chance(0.2);
  const from = isElsewhere
    ? random.pick(ELSEWHERE as unknown as [readonly string[]])
    : ["Sec-Fetch-Site: same-origin", "Origin: http://x"];
  const type = random.chance(0.9) ? "application/x-www-form-urlencoded" : random.pick([...TYPES]);
  const draft = { method: "POST" as const, path: `/dashboard${path}`, query: [], text };
  return write("pages", draft, {
    headers: [...cookies, ...from, `Content-Type: ${type}`],
    chunked: random.chance(0.1) ? random : null,
    mustRefuse: never !== undefined || isElsewhere,
  });
}

/** Returns a damaged form of the session cookie. */
function oddCookie(random: Random, cookie: string): string {
  const [name = "", token = ""] = cookie.split("=");
  return `Cookie: ${
    random.pick([
      "",
      `${name}=`,
      `${name}=${token.slice(1)}`,
      `${name}=${token.toUpperCase()}x`,
      `${name.toLowerCase()}=${token}`,
      `${name}=%FF; ${name}=${token}0`,
      `${"a=b; ".repeat(200)}${name}=${"0".repeat(token.length)}`,
    ])
  }`;
}

function encode(text: string): string {
  return encodeURIComponent(text);
}
