/**
 * `deno task assure tenancy`: tests if response times reveal other teams' objects. Sends pairs of
 * requests, for an existing and a nonexistent object, in random order, and counts how often the
 * first kind was slower.
 *
 * Without a difference that is half of the pairs. An exploitable difference is far from half; the
 * bound allows for noise of this machine.
 */
import { median, print, say } from "../../../bench/report.ts";
import { number, table } from "../../../tools/table.ts";
import type { AssuranceOptions } from "../assurance.ts";
import { Random } from "../../../tools/random.ts";
import { aFinish, anEvent, aRun, runId } from "../../support/builders/requests.ts";
import { Harness } from "../../support/harness/harness.ts";
import { AUTH, get, head, RawSocket } from "../../support/harness/raw_socket.ts";
import { CARD, put } from "../../support/builders/rate_cards.ts";
import { REPRICE } from "../../support/builders/reprice.ts";

/** Warm-up pairs, which do not count. */
const WARM_UP = 300;

/** Maximum distance of the share of slower pairs from half, and of the medians from each other. */
const SHARE_OFF_MAX = 0.05, MEDIAN_OFF_MAX = 0.05;

/**
 * Another team's objects, and as many nonexistent ones: the number of requests for one must not
 * matter.
 */
const THEIRS = 50;

/**
 * Two requests that must take equally long: for an object of another team, and for a missing one.
 */
interface Pair {
  readonly name: string;
  readonly there: (n: number) => string;
  readonly never: (n: number) => string;
}

/** Stores objects of another team, and returns the requests to compare. */
async function prepare(h: Harness): Promise<Pair[]> {
  const { key } = await h.addTeam("enterprise");
  const rates: string[] = [], keys: string[] = [], jobs: string[] = [], secrets: string[] = [];
  for (let n = 0; n < THEIRS; n++) {
    await h.post("/v1/runs", aRun(n, { agent: `agent-${n}` }), { key });
    await h.post(`/v1/runs/${runId(n)}/events`, { events: [anEvent(1), anEvent(2)] }, { key });
    await h.post(`/v1/runs/${runId(n)}/finish`, aFinish(), { key });
    rates.push((await put(h, { model: `model-${n}` }, key)).json.id);
    const created = (await h.post("/v1/keys", { kind: "api_key", name: "k" }, { key })).json;
    await h.request("DELETE", `/v1/keys/${created.id}`, { key });
    jobs.push((await h.post(REPRICE, { model: `model-${n}`, dry_run: true }, { key })).json.id);
    keys.push(created.id);
    secrets.push(created.secret);
  }
  await h.worker.idle();
  const hex = (n: number) => (n + 0xf0000).toString(16).padStart(32, "0");
  const ulid = (n: number) => hex(n).slice(-26).toUpperCase();
  const read = (path: string) => get(path, "Host: x", AUTH);
  const remove = (path: string) => head(`DELETE ${path} HTTP/1.1`, "Host: x", AUTH);
  const readWith = (secret: string) =>
    get(`/v1/runs/${runId(1)}`, "Host: x", `Authorization: Bearer ${secret}`);
  const rows: [name: string, send: (id: string) => string, there: Id, never: Id][] = [
    ["GET /v1/runs/{id}", (id) => read(`/v1/runs/${id}`), runId, (n) => `run_eu_${hex(n)}`],
    ["GET …/cost", (id) => read(`/v1/runs/${id}/cost`), runId, (n) => `run_eu_${hex(n)}`],
    [
      "GET /v1/agents/{slug}",
      (id) => read(`/v1/agents/${id}`),
      (n) => `agent-${n}`,
      (n) => `nobod-${n}`,
    ],
    [
      "DELETE /v1/rate-card/{id}",
      (id) => remove(`${CARD}/${id}`),
      of(rates),
      (n) => `rate_${ulid(n)}`,
    ],
    ["GET /v1/rate-card/reprice/{id}", (id) => read(`${REPRICE}/${id}`), of(jobs), ulid],
    ["DELETE /v1/keys/{id}", (id) => remove(`/v1/keys/${id}`), of(keys), (n) => `key_eu_${hex(n)}`],
    ["a revoked credential", readWith, of(secrets), (n) => `apk_eu_${hex(n)}`],
  ];
  return rows.map(([name, send, there, never]) => ({
    name,
    there: (n) => send(there(n)),
    never: (n) => send(never(n)),
  }));
}

/** Names the nth object of a kind. */
type Id = (n: number) => string;

function of(names: readonly string[]): Id {
  return (n) => names[n] ?? "";
}

/** Milliseconds of each request of a kind, pair by pair. */
interface Times {
  readonly there: number[];
  readonly never: number[];
}

async function time(socket: RawSocket, request: string): Promise<number> {
  const startMs = performance.now();
  await socket.send(request);
  const answer = await socket.answer();
  const ms = performance.now() - startMs;
  if (answer?.status !== 404 && answer?.status !== 401) throw new Error(`Status ${answer?.status}`);
  return ms;
}

async function measure(url: string, pair: Pair, pairs: number, random: Random): Promise<Times> {
  using socket = await RawSocket.open(url);
  const times: Times = { there: [], never: [] };
  for (let n = -WARM_UP; n < pairs; n++) {
    const at = (n + WARM_UP) % THEIRS;
    const thereFirst = random.chance(0.5);
    const first = await time(socket, thereFirst ? pair.there(at) : pair.never(at));
    const second = await time(socket, thereFirst ? pair.never(at) : pair.there(at));
    if (n < 0) continue;
    times.there.push(thereFirst ? first : second);
    times.never.push(thereFirst ? second : first);
  }
  return times;
}

/** Returns a row of the table, and true if the two are alike. */
function judge(name: string, { there, never }: Times): { row: string[]; isAlike: boolean } {
  const slower = there.filter((ms, n) => ms > (never[n] ?? 0)).length / there.length;
  const [a, b] = [median(there), median(never)];
  const isAlike = Math.abs(slower - 0.5) <= SHARE_OFF_MAX ||
    Math.abs(a - b) / b <= MEDIAN_OFF_MAX;
  const us = (ms: number) => number(ms * 1000);
  const percent = `${number(slower * 100)} %`;
  return { row: [name, us(a), us(b), percent, isAlike ? "alike" : "APART"], isAlike };
}

/** Measures `count` pairs of each kind of request. */
export async function run({ count, seed }: AssuranceOptions): Promise<boolean> {
  const random = new Random(seed);
  await using h = await Harness.open({ tier: "enterprise" });
  const rows: string[][] = [];
  let areAlike = true;
  for (const pair of await prepare(h)) {
    say(`${pair.name} …`);
    const { row, isAlike } = judge(pair.name, await measure(h.url, pair, count, random));
    rows.push(row);
    areAlike &&= isAlike;
  }
  print(
    table(["request", "median there, µs", "median never, µs", "there slower", "verdict"], rows),
  );
  print(`seed ${seed}, ${number(count)} pairs each`);
  return areAlike;
}
