/** Worker of the second team: sends a little ordinary work all the time and measures each call. */
import { delay, type Target } from "./attacker.ts";
import { type Calls, type Noticed, type ProbeName, PROBES } from "./judge.ts";
import { workAsPeer } from "./peer.ts";

/** Milliseconds between two calls of a kind. */
const EVERY_MS: Record<ProbeName, number> = {
  heartbeats: 50,
  lists: 500,
  costs: 3_000,
  erasures: 5_000,
};

/** Milliseconds after which a call counts as unanswered. */
const ANSWER_MS_MAX = 15_000;

/** Every fourth heartbeat has an output that is large enough to use a slot for bodies. */
const OUTPUT_EVERY = 4;
const OUTPUT = { text: "The agent wrote a page. ".repeat(1_200) };

/** Calls before the attack: the first calls of a process compile its code. */
const WARM_UP = 150;

/** Maximum milliseconds in which an idle worker completes a request. */
const IDLE_MS = 1_000;

/** Maximum attempts to find the worker idle; each attempt waits for the worker. */
const IDLE_TRIES_MAX = 60;

const USE = { provider: "openai", model: "gpt-4o", input_tokens: 1_200, output_tokens: 340 };

/** Milliseconds that calls in flight may take after the end of the attack. */
const AFTER_MS = 8_000;

class Victim {
  readonly noticed: Noticed;
  readonly #late = new AbortController();

  constructor(readonly target: Target, readonly signal: AbortSignal) {
    signal.addEventListener("abort", () => setTimeout(() => this.#late.abort(), AFTER_MS));
    this.noticed = Object.fromEntries(
      PROBES.map((name) => [name, { ms: [], statuses: {} }]),
    ) as unknown as Noticed;
  }

  /** Makes calls of each kind without recording them. */
  async warmUp(): Promise<void> {
    for (let n = 0; n < WARM_UP; n++) await this.heartbeats(n);
    for (let n = 0; n < 10; n++) await this.lists();
    await this.#idle();
  }

  /** Waits until the worker has completed the work that a set-up left. */
  async #idle(): Promise<void> {
    for (let n = 0; n < IDLE_TRIES_MAX; n++) {
      const startMs = performance.now();
      // The first call may wait longer than its timeout.
      await this.costs().catch(() => {});
      await this.erasures(n).catch(() => {});
      if (performance.now() - startMs < IDLE_MS) return;
    }
    throw new Error("The set-up left so much work that the attack cannot begin");
  }

  /** Starts the calls of a kind on schedule, independent of other calls. */
  async probe(name: ProbeName): Promise<void> {
    const calls = this.noticed[name];
    const startMs = performance.now();
    const waiting = new Set<Promise<void>>();
    for (let n = 0; !this.signal.aborted; n++) {
      await delay(startMs + n * EVERY_MS[name] - performance.now(), this.signal);
      if (this.signal.aborted) break;
      const call = this.#timed(calls, () => this[name](n)).finally(() => waiting.delete(call));
      waiting.add(call);
    }
    await Promise.all(waiting);
  }

  async #timed(calls: Calls, call: () => Promise<number>): Promise<void> {
    const startMs = performance.now();
    const status = await call().catch(() => "no answer");
    calls.ms.push(performance.now() - startMs);
    calls.statuses[status] = (calls.statuses[status] ?? 0) + 1;
  }

  async heartbeats(n: number): Promise<number> {
    const output = n % OUTPUT_EVERY === 0 ? { output: OUTPUT } : {};
    const body = { agent: `agent-${n % 5}`, customer_id: `customer-${n % 50}`, ...USE, ...output };
    const { status } = await this.#ask("POST", "/v1/heartbeats", body);
    return status;
  }

  async lists(): Promise<number> {
    const { status } = await this.#ask("GET", "/v1/runs?limit=50");
    return status;
  }

  /** Measures the time from a heartbeat to its final cost. */
  async costs(): Promise<number> {
    const stored = await this.#ask("POST", "/v1/heartbeats", { agent: "agent-0", ...USE });
    if (stored.status !== 202) return stored.status;
    const path = `/v1/runs/${stored.json.id}?wait=final&timeout=14`;
    const { status, json } = await this.#ask("GET", path);
    return status === 200 && json.cost.state !== "final" ? 202 : status;
  }

  /** Starts a job of the worker; 202 means that it takes longer than the call waits. */
  async erasures(n: number): Promise<number> {
    const { status } = await this.#ask("DELETE", `/v1/customers/no-such-customer-${n}`);
    return status;
  }

  async #ask(method: string, path: string, body?: unknown) {
    const response = await fetch(this.target.url + path, {
      method,
      headers: { Authorization: `Bearer ${this.target.key}`, "Accept-Encoding": "identity" },
      signal: AbortSignal.any([AbortSignal.timeout(ANSWER_MS_MAX), this.#late.signal]),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, json: await response.json() };
  }
}

workAsPeer(async (target: Target, begin, signal) => {
  const victim = new Victim(target, signal);
  await victim.warmUp();
  begin();
  await Promise.all(PROBES.map((name) => victim.probe(name)));
  return victim.noticed;
});
