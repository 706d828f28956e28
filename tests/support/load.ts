/** Clients that write every kind of call at once, and remember what they sent and were told. */
import { assert, assertEquals } from "@std/assert";
import { eventId } from "./builders.ts";
import { type Call, EVENTS, type Script, scriptOf } from "./scripts.ts";
import type { Access } from "./totals.ts";

const CLIENTS = 16;

/** What a process may take to finish what another left; far more than it does. */
const SETTLED_MS_MAX = 10_000;

/** Counted calls of a part of the ledger. */
export interface Tally {
  stored: number;
  acknowledged: number;
  sent: number;
}

/** What a number of clients write to a server, until it is gone. */
export class Load {
  readonly scripts: Script[] = [];
  acknowledged = 0;
  #wanted = { count: Infinity, reached: () => {} };

  /**
   * @param first number of the first run; loads on one store must not overlap
   * @param model named by some of the events; it has no price at first
   */
  constructor(readonly first: number, readonly model: string) {}

  /** A load of so many runs, all of them acknowledged. */
  static acknowledged(first: number, model: string, runs: number): Load {
    const load = new Load(first, model);
    for (let n = 0; n < runs; n++) {
      const script = scriptOf(first + n, model);
      for (const call of script.calls) call.state = "acknowledged";
      load.scripts.push(script);
    }
    return load;
  }

  /** Writes until the server answers no more, or so many runs are sent. */
  async run(access: Access, runs = Infinity): Promise<void> {
    await each(async (client) => {
      while (this.scripts.length < runs) {
        const next = scriptOf(this.first + this.scripts.length, this.model);
        this.scripts.push(next);
        for (const call of next.calls) if (!await this.#send(client, access, call)) return;
      }
    });
  }

  /** Resolves once so many calls are acknowledged. */
  async reached(count: number): Promise<void> {
    if (this.acknowledged >= count) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wanted = { count, reached: resolve };
    await promise;
  }

  /** Sends again what was never acknowledged, and the rest of every run; answers how many calls. */
  async resend(access: Access): Promise<number> {
    const left = this.scripts.filter(({ calls }) => calls.some(isLeft));
    let sent = 0;
    await eachOf(left, async (client, { calls }) => {
      for (const call of calls.filter(isLeft)) {
        assert(await this.#send(client, access, call), `a retry of ${call.path} was not taken`);
        sent++;
      }
    });
    return sent;
  }

  /** Reads every run whose close was acknowledged until its cost is final, writing nothing. */
  async settle(access: Access): Promise<void> {
    const closed = this.scripts.filter(({ calls }) => calls.at(-1)?.state === "acknowledged");
    await eachOf(closed, async (client, { id }) => {
      const startedMs = performance.now();
      while ((await read(client, access, id))?.cost.state !== "final") {
        assert(performance.now() - startedMs < SETTLED_MS_MAX, `${id} is still not final`);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    });
  }

  /** Holds every run against what its client was told: nothing lost, doubled or partial. */
  async verify(access: Access): Promise<Tally> {
    const tally: Tally = { stored: 0, acknowledged: 0, sent: 0 };
    await eachOf(this.scripts, async (client, script) => {
      verifyRun(await read(client, access, script.id), script, tally);
    });
    return tally;
  }

  /** Sends one call; whether it was acknowledged. */
  async #send(client: Deno.HttpClient, { url, key }: Access, call: Call): Promise<boolean> {
    call.state = "sent";
    let response: Response;
    try {
      response = await fetch(url + call.path, {
        client,
        headers: { Authorization: `Bearer ${key}` },
        ...(call.body === null ? {} : { method: "POST", body: JSON.stringify(call.body) }),
      });
      await response.body?.cancel();
    } catch {
      // The process is gone: whether it stored the call is not known.
      return false;
    }
    if (response.status === 503) return false;
    assert([200, 202].includes(response.status), `${call.path} was answered ${response.status}`);
    call.state = "acknowledged";
    this.acknowledged++;
    if (this.acknowledged >= this.#wanted.count) this.#wanted.reached();
    return true;
  }
}

function isLeft({ state }: Call): boolean {
  return state !== "acknowledged";
}

/** Works as all clients at once. */
async function each(work: (client: Deno.HttpClient) => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: CLIENTS }, async () => {
    using client = Deno.createHttpClient({});
    await work(client);
  }));
}

/** Each client takes the next one that nobody has taken. */
async function eachOf<T>(
  list: readonly T[],
  work: (client: Deno.HttpClient, one: T) => Promise<void>,
): Promise<void> {
  const next = list.values();
  await each(async (client) => {
    for (const one of next) await work(client, one);
  });
}

async function read(client: Deno.HttpClient, { url, key }: Access, id: string) {
  const headers = { Authorization: `Bearer ${key}` };
  const response = await fetch(`${url}/v1/runs/${id}?events_limit=100`, { client, headers });
  const json = await response.json();
  assert([200, 404].includes(response.status), `${id}: ${response.status}`);
  return response.status === 200 ? json : null;
}

/** Checks one run part by part. */
// deno-lint-ignore no-explicit-any -- an answer's body
function verifyRun(run: any, { id, calls }: Script, tally: Tally): void {
  const opened = run !== null && run.agent !== null;
  const closed = run !== null && run.status !== "running";
  const ids: string[] = run?.events.map((event: { id: string }) => event.id) ?? [];
  let known = 0;
  for (const { stores, state } of calls) {
    const there = typeof stores === "number"
      ? ids.length >= stores
      : stores === "both"
      ? opened && closed
      : stores === "opening"
      ? opened
      : closed;
    if (state === "acknowledged") assert(there, `${stores} of ${id} is lost`);
    if (state === "unsent") assert(!there, `${stores} of ${id} was never sent`);
    const size = typeof stores === "number" ? stores - known : 1;
    if (typeof stores === "number") known = stores;
    if (state !== "unsent") tally.sent += size;
    if (state === "acknowledged") tally.acknowledged += size;
    if (there) tally.stored += size;
  }
  // Nothing partial: whole batches, in order, each event once; a heartbeat with both its parts.
  assert([0, EVENTS.first, EVENTS.both].includes(ids.length), `${ids.length} events of ${id}`);
  assertEquals(ids, ids.map((_, n) => eventId(n)));
  assertEquals(run?.usage.events ?? 0, ids.length);
  if (calls[0]?.stores === "both") assertEquals(opened, closed, id);
}
