/** Clients that race for the same few runs until every history is explained, or one cannot be. */
import { assert } from "@std/assert";
import { Random } from "../../../tools/random.ts";
import { addTotals, noTotals } from "../../support/oracles/totals.ts";
import { type Call, type Operation, type Outcome, outcomeOf, requestOf } from "./calls.ts";
import { type Anomaly, explain } from "./explain.ts";
import { PATIENCE_MS, planGroup, type Planned, RUNS_PER_GROUP } from "./plan.ts";
import type { Service } from "./service.ts";
import { totalsOf, type View } from "./view.ts";

const CLIENTS = 32;

/** Maximum attempts of one call without a response. */
const TRIES_MAX = 20;

interface Race {
  readonly service: Pick<Service, "url" | "killAndStart">;
  readonly key: string;
  readonly seed: string;
  readonly operations: number;
  /** Operations between two kills of the service. */
  readonly killEvery: number;
  readonly onOperation: () => void;
}

/** An anomaly, with the complete history of its run, in the order of the responses. */
export interface Finding extends Anomaly {
  readonly run: number;
  readonly history: readonly Operation[];
}

/** Runs whose calls are in flight, with the number of open calls: all are explained together. */
interface Group {
  readonly histories: ReadonlyMap<number, Operation[]>;
  left: number;
}

/** The clients and their histories. */
export class Clients {
  /** Operations done so far, and the expected totals of everything stored. */
  readonly done = { operations: 0, unknown: 0, runs: 0, events: 0, totals: noTotals() };
  finding: Finding | null = null;
  readonly #race: Race;
  readonly #random: Random;
  /** Start times for the calls that set one; usually the first. */
  readonly #startedAt: readonly string[];
  #groups = 0;
  #queue: { readonly planned: Planned; readonly group: Group }[] = [];
  #nextKill: number;

  /** @param nowMs unix milliseconds, so that all runs are of the same days */
  constructor(race: Race, nowMs: number) {
    this.#race = race;
    this.#random = new Random(race.seed);
    this.#startedAt = [nowMs, nowMs + 1_000].map((ms) => new Date(ms).toISOString());
    this.#nextKill = race.killEvery;
  }

  /** Sends calls until there are enough of them, or a history cannot be explained. */
  async run(): Promise<void> {
    await Promise.all(Array.from({ length: CLIENTS }, async () => {
      using http = Deno.createHttpClient({});
      for (let next = this.#next(); next !== undefined; next = this.#next()) {
        const { planned, group } = next;
        await this.#send(http, group.histories, planned);
        if (--group.left === 0) await this.#resolveUnknown(http, group.histories);
      }
    }));
  }

  #next() {
    const { operations, killEvery, service } = this.#race;
    if (this.finding !== null) return undefined;
    const goesOn = this.done.operations < operations;
    if (goesOn && this.done.operations >= this.#nextKill) {
      this.#nextKill += killEvery;
      service.killAndStart();
    }
    if (goesOn && this.#queue.length === 0) this.#planGroup();
    return this.#queue.shift();
  }

  #planGroup(): void {
    const plan = planGroup(this.#random, this.#groups++ * RUNS_PER_GROUP, this.#startedAt);
    const histories = new Map<number, Operation[]>();
    for (const { run } of plan) histories.set(run, []);
    const group = { histories, left: plan.length };
    this.#queue = plan.map((planned) => ({ planned, group }));
  }

  /**
   * Resends calls in doubt until they get a response, reads each run, and explains its history.
   * After a definite response to a call, no earlier attempt of that call can take effect.
   */
  async #resolveUnknown(http: Deno.HttpClient, histories: Group["histories"]): Promise<void> {
    for (const [run, history] of histories) {
      const inDoubt = history.filter(({ outcome }) => outcome.kind === "unknown");
      const last: Call = { by: history.length, flawed: false, kind: "read" };
      for (const call of new Set([...inDoubt.map(({ call }) => call), last])) {
        const planned = { run, call, patienceMs: PATIENCE_MS.long };
        let tries = 1;
        while (await this.#send(http, histories, planned) === "unknown") {
          assert(tries++ < TRIES_MAX, `no answer to ${JSON.stringify(call)}`);
        }
      }
      this.#explain(run, history);
    }
  }

  #explain(run: number, history: readonly Operation[]): void {
    const anomaly = explain(history);
    if (anomaly !== null) {
      this.finding ??= { ...anomaly, run, history };
      return;
    }
    const { view } = history.at(-1)?.outcome as { view: View };
    if (view.parts.size === 0) return;
    this.done.runs++;
    this.done.events += view.facts.events;
    addTotals(this.done.totals, totalsOf(view));
  }

  /** Sends a call and records its outcome. */
  async #send(
    http: Deno.HttpClient,
    histories: Group["histories"],
    { run, call, patienceMs }: Planned,
  ): Promise<Outcome["kind"]> {
    const url = await this.#race.service.url();
    const { path, body } = requestOf(run, call);
    const method = body === null ? "GET" : "POST";
    const headers = { Authorization: `Bearer ${this.#race.key}` };
    const text = body === null ? null : JSON.stringify(body);
    const request = new Request(url + path, { method, headers, body: text });
    const beginMs = performance.now();
    const outcome = await fetchOutcome(http, request, call, patienceMs);
    histories.get(run)?.push({ call, beginMs, endMs: performance.now(), outcome });
    this.done.operations++;
    if (outcome.kind === "unknown") this.done.unknown++;
    this.#race.onOperation();
    return outcome.kind;
  }
}

async function fetchOutcome(
  client: Deno.HttpClient,
  request: Request,
  call: Call,
  patienceMs: number,
): Promise<Outcome> {
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), patienceMs);
  try {
    const response = await fetch(request, { client, signal: patience.signal });
    return outcomeOf(call, response, await response.text());
  } catch (error) {
    if (error instanceof SyntaxError) return { kind: "strange", why: `was answered: ${error}` };
    // The client gave up or the process died: the outcome is unknown.
    return { kind: "unknown" };
  } finally {
    clearTimeout(timer);
  }
}
