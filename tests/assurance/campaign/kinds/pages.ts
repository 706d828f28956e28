/** Attacks on the dashboard, on other pages and on signing in. */
import { JSON_DEPTH_MAX } from "../../../../domain/core/limits.ts";
import { type Attack, attack } from "../attack.ts";
import { type Answer, type Attacker, must, RATE } from "../attacker.ts";
import {
  aCall,
  anEvent,
  events,
  filled,
  gzip,
  instant,
  label,
  nested,
  newId,
  WIDE,
} from "../values.ts";
import { storeRuns } from "./lists.ts";

/** Readers that wait for a page in parallel. */
const READERS = 48;

/** Header that a browser sends with a form of the same origin. */
const SAME_ORIGIN = { "Sec-Fetch-Site": "same-origin" };

/** Signs in with the team's key; returns the session cookie. */
export async function signedIn(attacker: Attacker): Promise<string> {
  const answer = must(await signIn(attacker, attacker.key));
  const cookie = (answer.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "";
  if (!cookie.includes("=")) throw new Error("The set-up could not sign in");
  return cookie;
}

function signIn(attacker: Attacker, key: string) {
  const body = new URLSearchParams({ key });
  return attacker.send("POST", "/dashboard/sign-in", { body, key: null, headers: SAME_ORIGIN });
}

/** Reads pages in turn. */
export function show(
  attacker: Attacker,
  cookie: string,
  paths: readonly string[],
  headers: Record<string, string> = {},
): Promise<void> {
  return attacker.pace(RATE.control, (n) => {
    const options = { key: null, headers: { Cookie: cookie, ...headers } };
    return attacker.send("GET", paths[n % paths.length] ?? "", options);
  }, READERS);
}

export interface Page {
  readonly cookie: string;
  readonly paths: readonly string[];
}

async function storeRunsAndSignIn(attacker: Attacker): Promise<{ cookie: string }> {
  await storeRuns(attacker, 8_000);
  return { cookie: await signedIn(attacker) };
}

/** Stores a run with 2,000 calls with long data, and the longest goal, output and scores. */
async function storeLargeRun(attacker: Attacker): Promise<Page> {
  const id = newId("run");
  const labels = { customer_id: label("c"), feature: label("f"), goal: label("g", 16_384) };
  must(await attacker.post("/v1/runs", { id, agent: "a", started_at: instant(), ...labels }));
  await attacker.times(40, async (n) => {
    const calls = events(50, (k) => aCall(label(`p${k}`), label(`m${n}`)));
    must(await attacker.post(`/v1/runs/${id}/events`, gzip(calls)));
  }, 8);
  const scores = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [label(n, 128), n]));
  const output = { text: WIDE.repeat(130_000) };
  const close = { status: "success", finished_at: instant(), output, scores };
  must(await attacker.post(`/v1/runs/${id}/finish`, gzip(close)));
  return { cookie: await signedIn(attacker), paths: [`/dashboard/runs/${id}`] };
}

export const pages: readonly Attack[] = [
  attack<{ cookie: string }>({
    name: "overview",
    finding: null,
    does: "the first page of the dashboard, at the rate limit of the plan",
    setUp: storeRunsAndSignIn,
    run: (attacker, { cookie }) => show(attacker, cookie, ["/dashboard"]),
  }),
  attack<{ cookie: string }>({
    name: "overview, compressed",
    finding: null,
    does: "the same with gzip",
    setUp: storeRunsAndSignIn,
    run: (attacker, { cookie }) =>
      show(attacker, cookie, ["/dashboard"], { "Accept-Encoding": "gzip" }),
  }),
  attack<{ cookie: string }>({
    name: "every page",
    finding: null,
    does:
      "pages of runs, agents, keys, spend, the plan, prices, jobs, the audit log and a search in turn",
    setUp: storeRunsAndSignIn,
    run: (attacker, { cookie }) =>
      show(
        attacker,
        cookie,
        ["runs", "agents", "agents/agent-0", "keys", "spend", "spend.csv", "plan", "rate-card"]
          .concat("rate-card/reprice", "audit", "search?q=a").map((page) => `/dashboard/${page}`),
      ),
  }),
  attack<{ cookie: string }>({
    name: "searches",
    finding: null,
    does: "the dashboard's search for parts of ids that no run has, over all time",
    setUp: storeRunsAndSignIn,
    run: (attacker, { cookie }) =>
      show(attacker, cookie, [
        "/dashboard/runs?q=zzzz&from=1970-01-01&to=9999-12-31",
        "/dashboard/runs?q=____&from=1970-01-01&to=9999-12-31&status=failed&min_cost_usd=9999",
      ]),
  }),
  attack<Page>({
    name: "page of a large run",
    finding: null,
    does: "a run with 2,000 calls, the longest labels, scores and output",
    setUp: storeLargeRun,
    run: (attacker, { cookie, paths }) => show(attacker, cookie, paths),
  }),
  attack<Page>({
    name: "raw page of a large run",
    finding: null,
    does: "the same run as JSON, 1,000 events per page",
    setUp: storeLargeRun,
    run: (attacker, { cookie, paths }) =>
      show(attacker, cookie, paths.map((path) => `${path}/raw?events_limit=1000`)),
  }),
  attack<Page>({
    name: "page of a deep run",
    finding: null,
    does:
      "a run whose output and events consist of values nested 64 levels deep, page and raw in turn",
    async setUp(attacker) {
      const id = newId("run");
      const deep = (bytes: number) => `{"a":${filled(bytes, nested(JSON_DEPTH_MAX - 6))}}`;
      const beat = `{"id":"${id}","agent":"a","output":${deep(500_000)}}`;
      must(await attacker.post("/v1/heartbeats", gzip(beat)));
      await attacker.times(50, async () => {
        const { id: event, ts } = anEvent();
        const fields = `"id":"${event}","type":"log","ts":"${ts}","data":${deep(20_000)}`;
        must(await attacker.post(`/v1/runs/${id}/events`, `{"events":[{${fields}}]}`));
      });
      const paths = [`/dashboard/runs/${id}`, `/dashboard/runs/${id}/raw`];
      return { cookie: await signedIn(attacker), paths };
    },
    run: (attacker, { cookie, paths }) => show(attacker, cookie, paths),
  }),
  attack<{ cookie: string }>({
    name: "unread pages",
    finding: null,
    does: "the page of runs to 200 connections that read nothing",
    setUp: storeRunsAndSignIn,
    async run(attacker, { cookie }) {
      const lines = ["GET /dashboard/runs HTTP/1.1", "Host: ledger", `Cookie: ${cookie}`];
      await attacker.hold(200, async (socket) => {
        await socket.send(`${lines.join("\r\n")}\r\n\r\n`);
        await new Promise((resolve) => attacker.signal.addEventListener("abort", resolve));
      });
    },
  }),
  attack({
    name: "documentation",
    finding: "L4",
    does: "256 requests a second for /docs and /openapi.json with gzip, without a credential",
    run: (attacker) =>
      attacker.pace(256, (n) => {
        const path = n % 2 === 0 ? "/docs" : "/openapi.json";
        return attacker.send("GET", path, { key: null, headers: { "Accept-Encoding": "gzip" } });
      }, 100),
  }),
  attack({
    name: "unread documentation",
    finding: null,
    does: "the script of the API reference to 200 connections that read nothing",
    async run(attacker) {
      await attacker.hold(200, async (socket) => {
        await socket.send("GET /docs/reference.js HTTP/1.1\r\nHost: ledger\r\n\r\n");
        await new Promise((resolve) => attacker.signal.addEventListener("abort", resolve));
      });
    },
  }),
  attack({
    name: "sign-ins",
    finding: "M8",
    does: "500 sign-ins a second with a valid key",
    async run(attacker) {
      await attacker.pace(500, () => signIn(attacker, attacker.key));
      const { 303: signIns = 0, 429: refused = 0 } = attacker.counts;
      if (signIns > SIGN_INS_JUDGED_MIN && refused === 0) {
        attacker.blame("sign-ins have no rate limit");
      }
    },
  }),
  attack({
    name: "sign-ins that fail",
    finding: "L8",
    does: "300 sign-ins a second with made-up keys",
    run: (attacker) =>
      attacker.pace(300, async () => refusedBy401(attacker, await signIn(attacker, madeUpKey()))),
  }),
  attack({
    name: "large forms",
    finding: "H3",
    does: "forms of 1 MiB to the page for signing in, without a credential",
    run(attacker) {
      const body = `key=${"k".repeat(1_000_000)}`;
      const options = { key: null, body, headers: SAME_ORIGIN };
      return attacker.pace(RATE.ingest, () => attacker.send("POST", "/dashboard/sign-in", options));
    },
  }),
  attack({
    name: "made-up cookies",
    finding: "L8",
    does: "300 requests a second with made-up session cookies",
    run: (attacker) =>
      attacker.pace(300, () => {
        const headers = { Cookie: `__Host-runledger=${crypto.randomUUID().replaceAll("-", "")}` };
        return attacker.send("GET", "/dashboard", { key: null, headers });
      }),
  }),
  attack({
    name: "pages that no header can name",
    finding: "L14",
    does: "signing in with a redirect to addresses that contain line ends and wide characters",
    run: (attacker) =>
      attacker.pace(RATE.control, (n) => {
        const next = n % 2 === 0 ? "%2Fdashboard%3F%0Aa" : "%2Fdashboard%2F%E2%82%AC";
        const headers = { Cookie: "__Host-runledger=x" };
        return attacker.send("GET", `/dashboard/sign-in?kept=&next=${next}`, {
          key: null,
          headers,
        });
      }),
  }),
];

/** Sign-ins that exceed the rate of every plan. */
const SIGN_INS_JUDGED_MIN = 1_500;

/** Records a broken promise if an unknown credential gets 429 instead of 401. */
export function refusedBy401(attacker: Attacker, answer: Answer | null): void {
  if (answer?.status === 429) attacker.blame("a wrong credential was answered with 429, not 401");
}

/** Returns a key of the right form that no team has. */
export function madeUpKey(): string {
  return `apk_eu_${crypto.randomUUID().replaceAll("-", "")}`;
}
