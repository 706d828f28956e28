/** Attacks on the dashboard, on other pages and on signing in. */
import { EVENT_BYTES_MAX } from "../../../../domain/core/limits.ts";
import { type Attack, type Attacker, must, sendUntilAccepted } from "../attacker.ts";
import { aCall, anEvent, events, gzip, instant, label, madeUpKey, newId, WIDE } from "../values.ts";
import { storeRuns } from "./lists.ts";

/** Readers that wait for a page in parallel. */
const READERS = 48;

/** Sign-ins that exceed the rate of every plan. */
const SIGN_INS_JUDGED_MIN = 1_500;

function signIn(attacker: Attacker, key: string) {
  const headers = { "Sec-Fetch-Site": "same-origin" };
  const body = new URLSearchParams({ key });
  return attacker.send("POST", "/dashboard/sign-in", { body, key: null, headers });
}

/** An attack that reads pages of the dashboard; its set-up returns their paths. */
function showing(
  name: string,
  does: string,
  pathsOf: (attacker: Attacker) => Promise<readonly string[]>,
): Attack {
  return {
    name,
    does,
    async setUp(attacker) {
      const paths = await pathsOf(attacker);
      const answer = must(await signIn(attacker, attacker.key));
      const cookie = (answer.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "";
      if (!cookie.includes("=")) throw new Error("The set-up could not sign in");
      return [cookie, ...paths.map((path) => `/dashboard${path && `/${path}`}`)];
    },
    run: (attacker, [cookie = "", ...paths]) =>
      attacker.read(paths, { key: null, headers: { Cookie: cookie } }, READERS),
  };
}

/** Stores a finished run; returns its id. */
async function storeRun(
  attacker: Attacker,
  batches: readonly unknown[],
  { parent, ...close }: { readonly parent?: string; readonly output?: unknown } = {},
): Promise<string> {
  const id = newId("run");
  const opening = { id, agent: "a", started_at: instant(1_000), parent_run_id: parent };
  await sendUntilAccepted(() =>
    attacker.post("/v1/runs", { ...opening, goal: label("g", 16_384) })
  );
  for (const batch of batches) {
    const body = gzip(batch);
    await sendUntilAccepted(() => attacker.post(`/v1/runs/${id}/events`, body));
  }
  const body = gzip({ status: "failed", finished_at: instant(), ...close });
  await sendUntilAccepted(() => attacker.post(`/v1/runs/${id}/finish`, body));
  return id;
}

/** Stores a run with 2,000 calls with long labels, and the longest output and scores. */
function storeLargeRun(attacker: Attacker): Promise<string> {
  const batch = (n: number) => events(50, (k) => aCall(label(`p${k}`), label(`m${n}`)));
  const scores = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [label(n, 128), n]));
  const close = { output: { text: WIDE.repeat(130_000) }, scores };
  return storeRun(attacker, Array.from({ length: 40 }, (_, n) => batch(n)), close);
}

/** Stores a run with 5,000 large events. */
function storeLongRun(attacker: Attacker): Promise<string> {
  const tool = (n: number, k: number) =>
    anEvent({
      ...{ name: `t${(n * k) % 7}`, args: "b".repeat(2_000) },
      span: { id: `s${k}`, parent: `s${k + 1}` },
    }, { type: "tool_call" });
  const batches = Array.from({ length: 100 }, (_, n) => events(50, (k) => tool(n, k)));
  return storeRun(attacker, batches);
}

export const PAGES: readonly Attack[] = [
  showing("every page", "pages of lists, spend, prices, keys, the plan and a search", async (a) => {
    await storeRuns(a, 8_000);
    return ["", "runs", "agents", "agents/agent-0", "keys", "spend", "spend.csv", "plan"]
      .concat("rate-card", "rate-card/reprice", "audit", "search?q=a");
  }),
  showing("raw page of a large run", "the same run as JSON, 1,000 events per page", async (a) => {
    return [`runs/${await storeLargeRun(a)}/raw?events_limit=1000`];
  }),
  showing(
    "pages of a family",
    "25 child runs and 200 below them, all of 1 MB",
    async (attacker) => {
      const failure = { name: "t", error: "a".repeat(EVENT_BYTES_MAX - 1_000) };
      const batch = events(4, () => anEvent(failure, { type: "tool_call" }));
      const root = await storeRun(attacker, []);
      const children: string[] = [];
      await attacker.times(25, async () => {
        children.push(await storeRun(attacker, [batch], { parent: root }));
      }, 4);
      await attacker.times(200, async (n) => {
        await storeRun(attacker, [batch], { parent: children[n % children.length] as string });
      }, 4);
      // Children are known to their parents after their stages.
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      return [`runs/${root}`];
    },
  ),
  showing("pages of many tool calls", "80,000 tool calls in one, and a wide table", async (a) => {
    const table = `|${"a|".repeat(700)}\n|${"-|".repeat(700)}\n${"|\n".repeat(1_500)}`;
    const paths: string[] = [];
    for (const data of [{ tool_calls: Array(80_000).fill({}) }, { output: table }]) {
      const event = anEvent({ model: "m", ...data }, { type: "llm_call" });
      paths.push(`runs/${await storeRun(a, [{ events: [event] }])}?event=${event.id}`);
    }
    return paths;
  }),
  showing(
    "long runs",
    "two runs of 5,000 events, their filters and comparison",
    async (attacker) => {
      const [a, b] = [await storeLongRun(attacker), await storeLongRun(attacker)];
      return [`runs/${a}`, `runs/${a}?text=zzz`, `runs/${a}?kind=log&failed=1`]
        .concat(`runs/${a}/compare?with=${b}`);
    },
  ),
  {
    name: "documentation",
    does: "256 requests a second for /docs and /openapi.json with gzip, without a credential",
    run: (attacker) =>
      attacker.pace(256, (n) => {
        const path = n % 2 === 0 ? "/docs" : "/openapi.json";
        return attacker.send("GET", path, { key: null, headers: { "Accept-Encoding": "gzip" } });
      }, 100),
  },
  {
    name: "sign-ins",
    does: "500 sign-ins a second, with a valid key and with made-up ones",
    async run(attacker) {
      await attacker.pace(500, async (n) => {
        const isValid = n % 2 === 0;
        const answer = await signIn(attacker, isValid ? attacker.key : madeUpKey());
        if (answer?.status === 429 && !isValid) attacker.blame("a wrong key was answered with 429");
      });
      const { 303: signIns = 0, 429: refused = 0 } = attacker.counts;
      if (signIns > SIGN_INS_JUDGED_MIN && refused === 0) {
        attacker.blame("sign-ins have no rate limit");
      }
    },
  },
  {
    name: "made-up cookies",
    does: "300 requests a second with made-up session cookies",
    run: (attacker) =>
      attacker.pace(300, () => {
        const headers = { Cookie: `__Host-runledger=${crypto.randomUUID().replaceAll("-", "")}` };
        return attacker.send("GET", "/dashboard", { key: null, headers });
      }),
  },
];
