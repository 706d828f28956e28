/** Clients that write every kind of call at once, and remember what they sent and were told. */
import { assert, assertEquals } from "@std/assert";
import type { Team } from "../../domain/credentials.ts";
import type { RunId } from "../../domain/run/ids.ts";
import { monthOf } from "../../domain/time.ts";
import { createCredentialStore } from "../../kv/teams/credentials.ts";
import { keys } from "../../kv/keys.ts";
import { openStore } from "../../kv/open.ts";
import { createRunStore } from "../../kv/runs/run_store.ts";
import type { Store } from "../../kv/store.ts";
import { aFinish, anEvent, aRun, eventId, runId } from "./builders.ts";

/** Something a call stores, once: an opening, a close, both in one, or events. */
interface Call {
  readonly stores: "opening" | "closing" | "both" | number;
  readonly path: string;
  readonly body: unknown;
  state: "unsent" | "sent" | "acknowledged";
}

/** A run and its calls, sent one after the other. */
interface Script {
  readonly id: RunId;
  readonly calls: readonly Call[];
}

/** Counted calls of a part of the ledger. */
export interface Tally {
  acknowledged: number;
  sent: number;
}

const CLIENTS = 16;
/** What a process may take to finish what another left; far more than it does. */
const SETTLED_MS_MAX = 10_000;
/** The second batch repeats two events of the first. */
const EVENTS = { first: 10, both: 18 } as const;

/** Every other event is a call of a model, with a price or without. */
function callOf(n: number): Record<string, unknown> {
  if (n % 2 > 0) return {};
  const model = n % 4 > 0 ? "gpt-4o" : "a-model-without-a-price";
  return { type: "llm_call", data: { model, input_tokens: 100 + n, output_tokens: n } };
}

function script(n: number): Script {
  const id = runId(n) as RunId;
  const call = (stores: Call["stores"], path: string, body: unknown): Call => ({
    stores,
    path,
    body,
    state: "unsent",
  });
  const events = (from: number, to: number) => ({
    events: Array.from({ length: to - from }, (_, i) => anEvent(from + i, callOf(from + i))),
  });
  const usage = { model: "gpt-4o", input_tokens: n, output_tokens: 7 };
  const beat = { id, agent: "nightly", started_at: new Date(0).toISOString(), ...usage };
  switch (n % 4) {
    case 0:
      return { id, calls: [call("both", "/v1/heartbeats", beat)] };
    case 1:
      return {
        id,
        calls: [
          call("opening", "/v1/heartbeats", { ...beat, status: "start" }),
          call("closing", "/v1/heartbeats", beat),
        ],
      };
    default:
      return {
        id,
        calls: [
          call("opening", "/v1/runs", aRun(n)),
          call(EVENTS.first, `/v1/runs/${id}/events`, events(0, EVENTS.first)),
          call(EVENTS.both, `/v1/runs/${id}/events`, events(EVENTS.first - 2, EVENTS.both)),
          call("closing", `/v1/runs/${id}/finish`, aFinish()),
        ],
      };
  }
}

/** What a number of clients write to a server, until it is gone. */
export class Load {
  readonly scripts: Script[] = [];
  #acknowledged = 0;
  #wanted = { count: Infinity, reached: () => {} };
  #next: number;

  /** @param first number of the first run; loads on one store must not overlap */
  constructor(readonly key: string, first: number) {
    this.#next = first;
  }

  /** Writes until the server answers no more. */
  async run(url: string): Promise<void> {
    await Promise.all(Array.from({ length: CLIENTS }, async () => {
      using client = Deno.createHttpClient({});
      for (;;) {
        const next = script(this.#next++);
        this.scripts.push(next);
        for (const call of next.calls) if (!await this.#send(client, url, call)) return;
      }
    }));
  }

  /** Resolves once so many calls are acknowledged. */
  async reached(count: number): Promise<void> {
    if (this.#acknowledged >= count) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wanted = { count, reached: resolve };
    await promise;
  }

  /** Sends again what was never acknowledged, and the rest of every run. */
  async resend(url: string): Promise<void> {
    using client = Deno.createHttpClient({});
    for (const { calls } of this.scripts) {
      for (const call of calls) {
        if (call.state === "acknowledged") continue;
        assert(await this.#send(client, url, call), `a retry of ${call.path} was not taken`);
      }
    }
  }

  /**
   * Reads every run whose close was acknowledged until its cost is final, writing nothing. Answers how
   * many there are.
   */
  async settle(url: string): Promise<number> {
    const closed = this.scripts.filter(({ calls }) =>
      calls.some(({ stores, state }) =>
        state === "acknowledged" && (stores === "closing" || stores === "both")
      )
    );
    // Each client takes the next one that nobody has taken.
    const next = closed.values();
    await Promise.all(Array.from({ length: CLIENTS }, async () => {
      using client = Deno.createHttpClient({});
      for (const { id } of next) await this.#isFinal(client, `${url}/v1/runs/${id}?events_limit=1`);
    }));
    return closed.length;
  }

  async #isFinal(client: Deno.HttpClient, url: string): Promise<void> {
    const headers = { Authorization: `Bearer ${this.key}` };
    const startedMs = performance.now();
    for (;;) {
      const response = await fetch(url, { client, headers });
      if ((await response.json()).cost?.state === "final") return;
      assert(performance.now() - startedMs < SETTLED_MS_MAX, `${url} is still not final`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** Sends one call; whether it was acknowledged. */
  async #send(client: Deno.HttpClient, url: string, call: Call): Promise<boolean> {
    call.state = "sent";
    let response: Response;
    try {
      response = await fetch(url + call.path, {
        method: "POST",
        client,
        headers: { Authorization: `Bearer ${this.key}` },
        body: JSON.stringify(call.body),
      });
      await response.body?.cancel();
    } catch {
      // The process is gone: whether it stored the call is not known.
      return false;
    }
    if (response.status === 503) return false;
    assert([200, 202].includes(response.status), `${call.path} was answered ${response.status}`);
    call.state = "acknowledged";
    this.#acknowledged++;
    if (this.#acknowledged >= this.#wanted.count) this.#wanted.reached();
    return true;
  }
}

/** Opens a store that no process has, and holds its content against what clients were told. */
export async function verify(path: string, loads: readonly Load[]): Promise<void> {
  const store = await openStore(path);
  try {
    const environment = { now: () => Date.now(), random: (n: number) => new Uint8Array(n) };
    const credentials = createCredentialStore(store, environment, {
      region: "eu",
      refusedSecret: null,
    });
    const principal = await credentials.find(loads[0]?.key ?? "");
    assert(principal !== null);
    const runs = createRunStore(store);
    const counted: Tally = { acknowledged: 0, sent: 0 };
    let stored = 0;
    for (const each of loads.flatMap(({ scripts }) => scripts)) {
      stored += await verifyRun(runs, principal.team, each, counted);
    }
    const usage = await usageOf(store, principal.team);
    assertEquals(usage, stored, "usage is not what is stored");
    assert(counted.acknowledged <= usage && usage <= counted.sent, `${usage} is out of bounds`);
  } finally {
    await store.close();
  }
}

/** Checks one run part by part; answers how many things of it are stored. */
async function verifyRun(
  runs: ReturnType<typeof createRunStore>,
  team: Team,
  { id, calls }: Script,
  counted: Tally,
): Promise<number> {
  const run = await runs.read(team, id, null, 100);
  const opening = run?.parts.opening ?? null;
  const closing = run?.parts.closing ?? null;
  const ids = run?.events.map((event) => event.id) ?? [];
  let items = 0;
  let known = 0;
  for (const { stores, state } of calls) {
    const there = typeof stores === "number"
      ? ids.length >= stores
      : stores === "both"
      ? opening !== null && closing !== null
      : (stores === "opening" ? opening : closing) !== null;
    if (state === "acknowledged") assert(there, `${stores} of ${id} is lost`);
    if (state === "unsent") assert(!there, `${stores} of ${id} was never sent`);
    const size = typeof stores === "number" ? stores - known : 1;
    if (typeof stores === "number") known = stores;
    if (state !== "unsent") counted.sent += size;
    if (state === "acknowledged") counted.acknowledged += size;
    if (there) items += size;
  }
  // Nothing partial: whole batches, in order, each event once; a heartbeat with both its parts.
  assert([0, EVENTS.first, EVENTS.both].includes(ids.length), `${ids.length} events of ${id}`);
  assertEquals(ids, ids.map((_, n) => eventId(n) as typeof ids[number]));
  assertEquals(run?.totals.events ?? 0, ids.length);
  if (calls[0]?.stores === "both") assertEquals(opening === null, closing === null, id);
  return items;
}

async function usageOf(store: Store, team: Team): Promise<number> {
  const key = keys.usage(team.id, monthOf(Date.now()));
  const entry = await store.reader.get<Deno.KvU64>(key);
  return Number(entry.value?.value ?? 0n);
}
