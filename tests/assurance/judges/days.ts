/**
 * `deno task assure judges`: random days of a judge, a month at a time, over a store with a handed-in clock: processes that end at any commit and
 * any call, time-outs, lost answers, and a server that bills by its own book.
 */
import { assert, assertEquals } from "@std/assert";
import type { CallOutcome, JudgeJob } from "../../../domain/judges/judge_job.ts";
import { picodollars } from "../../../domain/pricing/money.ts";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import type { ModelCalls } from "../../../kv/judges/calls.ts";
import { listRows } from "../../../kv/store.ts";
import { say } from "../../../bench/report.ts";
import { Random } from "../../../tools/random.ts";
import { runId } from "../../support/builders/requests.ts";
import { Harness } from "../../support/harness/harness.ts";
import { BODY, PRICE } from "../../support/harness/judges.ts";
import type { AssuranceOptions } from "../assurance.ts";

/** Cap of the judge: one or two worst cases a day. */
const DAILY_USD = 0.005;

/** Picodollars of an input token, and of an output token. */
const INPUT = 1_000_000n, OUTPUT = 2_000_000n;

const OUTPUT_TOKENS_MAX = 16;

const JUDGE = {
  ...BODY,
  rubric: "Is {{metadata/n}} a good number?",
  daily_usd: DAILY_USD,
  max_output_tokens: OUTPUT_TOKENS_MAX,
};

/** Counts of what the days had, so that a test can tell that they had it. */
interface DaysReport {
  readonly days: number;
  readonly calls: number;
  readonly deaths: number;
  readonly lost: number;
  readonly judged: number;
  readonly billedUsd: number;
}

/** A process that ends. What follows in it does not happen. */
class Death extends Error {}

/** The server of models, and the commits of the judge as the store sees them. */
class World {
  nowMs = 0;
  deaths = 0;
  lost = 0;
  calls = 0;
  readonly judged = new Set<string>();
  /** Cost of each job and trial, as it was stored last. */
  readonly costs = new Map<string, bigint>();
  /** Picodollars by UTC day, as the server bills them. */
  readonly bills = new Map<string, bigint>();
  /** Runs that a trial asks about: they may be judged already. */
  isTrial = false;

  constructor(readonly random: Random) {}

  readonly models: ModelCalls = {
    connections: [{
      name: "local",
      url: "http://model.invalid/v1/chat/completions",
      keyVariable: null,
      outputLimit: "max_tokens",
    }],
    call: (_, body) => Promise.resolve().then(() => this.#answer(body)),
  };

  #answer(body: string): CallOutcome {
    const { random } = this;
    this.calls++;
    const { "metadata/n": n } = JSON.parse(JSON.parse(body).messages[1].content);
    assert(this.isTrial || !this.judged.has(runId(n)), `run ${n} is judged twice`);
    if (random.chance(0.05)) this.die();
    if (random.chance(0.05)) return { kind: "unsent" };
    if (random.chance(0.15)) {
      const status = random.pick([429, 500, 503, 401]);
      const retryAfterMs = random.chance(0.5) ? random.int(0, 7_200_000) : null;
      return { kind: "refused", status, code: null, retryAfterMs };
    }
    const most = body.length + 1_000;
    // A server may add as many tokens as the hold allows for.
    const prompt = random.chance(0.5) ? most : random.int(0, most);
    const completion = random.int(0, OUTPUT_TOKENS_MAX);
    const day = new Date(this.nowMs).toISOString().slice(0, 10);
    const bill = BigInt(prompt) * INPUT + BigInt(completion) * OUTPUT;
    this.bills.set(day, (this.bills.get(day) ?? 0n) + bill);
    // The answer takes its time, over midnight too.
    if (random.chance(0.3)) this.nowMs += random.int(0, 60_000);
    if (random.chance(0.15)) {
      this.lost++;
      return { kind: "lost" };
    }
    if (random.chance(0.1)) this.die();
    const tokens = random.chance(0.1) ? null : {
      inputTokens: prompt,
      outputTokens: completion,
      cachedInputTokens: 0,
      cacheWriteTokens: 0,
    };
    const value = random.int(1, 5);
    const result = random.chance(0.15)
      ? "bad_json" as const
      : { value, score: (value - 1) / 4, passed: value > 3, reasoning: "" };
    return { kind: "answered", answer: { result, tokens } };
  }

  die(): never {
    this.deaths++;
    throw new Death("The process ends here");
  }

  /** Lets commits of the judge fail: before they happen, or after, so that nobody learns of them. */
  haunt({ writer }: Harness["store"]): void {
    const commit = writer.commit.bind(writer);
    writer.commit = async (...args: Parameters<typeof commit>) => {
      const [{ sets = [] }] = args;
      const jobs = sets.filter(({ key }) => key[0] === "judge_job");
      if (jobs.length > 0 && this.random.chance(0.05)) this.die();
      const version = await commit(...args);
      if (version === null) return version;
      for (const { key, value } of jobs) {
        const { end, cost } = value as JudgeJob;
        this.costs.set(key.join(), cost);
        const isTrial = String(key.at(-1)).includes(" ");
        if (end?.state === "done" && !isTrial) this.judged.add(String(key[1]));
      }
      if (jobs.length > 0 && this.random.chance(0.05)) this.die();
      return version;
    };
  }
}

/** Plays days; fails if a promise is broken. */
export async function playDays(seed: string, days: number): Promise<DaysReport> {
  const random = new Random(seed);
  const world = new World(random);
  await using h = await Harness.open({ models: world.models });
  world.nowMs = h.nowMs;
  world.haunt(h.store);
  const put = async (path: string, body: object) =>
    assert((await h.request("PUT", path, { body })).status < 300, path);
  await put("/v1/rate-card", PRICE);
  await put("/v1/judges/helpful", JUDGE);
  const pass = async (ms: number) => {
    world.nowMs += ms;
    h.nowMs = world.nowMs;
    await h.worker.idle();
    await h.work.idle();
    await h.worker.idle();
  };
  let runs = 0;
  for (let day = 0; day < days; day++) {
    const isBurst = random.chance(0.5);
    for (let left = random.int(1, 6); left > 0; left--) {
      const body = {
        id: runId(++runs),
        agent: "bot",
        status: "ok",
        started_at: new Date(h.nowMs).toISOString(),
        metadata: { n: runs },
      };
      assertEquals((await h.post("/v1/heartbeats", body)).status, 202);
      // Jobs of a burst call at once.
      if (isBurst && left > 1) continue;
      await pass(random.int(1_000, 1_200_000));
      if (random.chance(0.1)) {
        world.isTrial = true;
        const trial = { judge: { ...JUDGE, slug: "helpful" }, last: random.int(1, 3) };
        const { status } = await h.request("POST", "/v1/judges/try", { body: trial });
        // A process that ends answers nothing.
        assert([200, 500].includes(status), `${status}`);
        world.isTrial = false;
      }
    }
    await pass(86_400_000 - world.nowMs % 86_400_000 + random.int(0, 3_600_000));
  }
  // Jobs end within their tries, and a blocked judge probes.
  for (let turns = 0; turns < 500; turns++) {
    const waiting = await listRows(h.store, { prefix: ["work", "run"] });
    if (waiting.length === 0) break;
    await pass(3_600_000);
  }
  await check(h, world);
  const { deaths, lost, calls, judged, bills } = world;
  const billedUsd = Number(sum(bills.values())) / 1e12;
  return { days, calls, deaths, lost, judged: judged.size, billedUsd };
}

/** Compares the ledger with the server's book. */
async function check(h: Harness, world: World): Promise<void> {
  for (const [day, bill] of world.bills) {
    assert(bill <= picodollars(DAILY_USD), `${bill} billed on ${day}`);
  }
  const rows = await listRows<JudgeJob>(h.store, { prefix: ["judge_job"] });
  for (const { key, value } of rows) {
    assert(value.end !== null && value.isTold, `${key.join()} has not ended`);
  }
  assertEquals((await h.get("/v1/judges/helpful")).json.held_usd, 0);
  const costs: bigint[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const query = cursor === "" ? "" : `&cursor=${cursor}`;
    const { json } = await h.get(`/v1/runs?agent=judge%3Ahelpful&limit=500${query}`);
    costs.push(...json.runs.map((run: { cost_usd: number }) => picodollars(run.cost_usd)));
    cursor = json.cursor;
  }
  const stored = sum(world.costs.values());
  assertEquals(sum(costs), stored, "each cost is in the ledger once");
  assert(stored >= sum(world.bills.values()), "the ledger has all bills");
  const done = rows.filter(({ value }) => value.end?.state === "done");
  assertEquals(done.length, world.judged.size);
  for (const { key: [, run] } of done) {
    const { scores } = (await h.get(`/v1/runs/${String(run)}`)).json;
    assertEquals(scores.length, 1, `scores of ${String(run)}`);
  }
  assertEquals((await verifyStore(h.store)).differences, []);
}

function sum(amounts: Iterable<bigint>): bigint {
  return Iterator.from(amounts).reduce((total, amount) => total + amount, 0n);
}

/** Days over one store. */
const DAYS_OF_STORE = 25;

export async function run({ count, seed }: AssuranceOptions): Promise<boolean> {
  const all: DaysReport[] = [];
  for (let part = 0; part * DAYS_OF_STORE < count; part++) {
    all.push(
      await playDays(`${seed} ${part}`, Math.min(DAYS_OF_STORE, count - part * DAYS_OF_STORE)),
    );
  }
  const total = (name: keyof DaysReport) => all.reduce((sum, report) => sum + report[name], 0);
  say(
    `${total("days")} days, ${total("calls")} calls, ${total("deaths")} deaths, ` +
      `${total("lost")} lost answers, ${total("judged")} runs judged, ` +
      `$${total("billedUsd").toFixed(6)} billed: no bill above its cap, each cost once`,
  );
  return true;
}
