/**
 * Loads the sample runs: the requests of thirty days, through the public API of a service with a
 * clock of its own. So monitors, incidents and messages have the times that they would have had.
 */
import type { Region } from "../../domain/core/ids.ts";
import { Memory } from "../../runtime/memory.ts";
import { createRequestLimits } from "../../runtime/rate_limit.ts";
import { TIMERS } from "../../runtime/deadlines.ts";
import { outsideScope } from "../../kv/base/reads.ts";
import type { SealKeys } from "../../kv/channels/seal.ts";
import type { Store } from "../../kv/store.ts";
import { NO_EGRESS, parseEgress } from "../../outbound/http.ts";
import { createService } from "../../app/compose.ts";
import { ENVIRONMENT } from "../../app/start.ts";
import { RECEIVER_PATHS, sampleMonth } from "./month.ts";
import type { Json, SampleCall } from "./sample_run.ts";

/** Seed of the samples. */
const SEED = 1;

/** Time between two turns of the jobs: short in the last hours, which people look at first. */
const TURN_MS = { usual: 3_600_000, recent: 60_000 } as const;

/** Length of the last hours. */
const RECENT_MS = 2 * 3_600_000;

/** Maximum time between requests that are sent together. */
const TOGETHER_MS = 60_000;

const LOCAL = { transport: "tcp", hostname: "127.0.0.1", port: 0 } as const;

/** The place of the samples. */
interface SampleTarget {
  /** A store that no other instance uses meanwhile. */
  readonly store: Store;
  readonly sealKeys: SealKeys;
  readonly region: Region;
  /** Key of the team, with all scopes. */
  readonly key: string;
  /** End of the thirty days, unix milliseconds. */
  readonly nowMs: number;
}

/** Loads the samples into a team; returns the number of runs, 0 if the team has agents already. */
export function loadSamples(target: SampleTarget): Promise<number> {
  // A request may have asked for them; its end must not stop them.
  return outsideScope(() => load(target));
}

async function load(target: SampleTarget): Promise<number> {
  const { nowMs, region } = target;
  // The pager is overloaded for some tries, and then it is gone.
  const pagerAnswers = [503, 503, 503];
  await using receiver = Deno.serve({ ...LOCAL, onListen() {} }, ({ url }) => {
    const isChat = new URL(url).pathname === RECEIVER_PATHS.chat;
    return new Response("ok", { status: isChat ? 200 : pagerAnswers.shift() ?? 410 });
  });
  const address = `127.0.0.1:${receiver.addr.port}`;
  const calls = sampleMonth(SEED, nowMs, region, `http://${address}`);
  await using past = new PastService(target, address, calls[0]?.atMs ?? nowMs);
  const { agents } = await past.send({ method: "GET", path: "/v1/agents" });
  if ((agents as readonly unknown[]).length > 0) return 0;
  for (const group of groupsOf(calls)) {
    await past.moveTo(group.at(-1)?.atMs ?? nowMs);
    await Promise.all(group.map((call) => past.send(call)));
  }
  await past.moveTo(nowMs);
  await past.turn();
  return calls.filter(({ body }) => "agent" in body).length;
}

/** Groups requests of a minute, which share a commit; settings are alone. */
function groupsOf(calls: readonly SampleCall[]): SampleCall[][] {
  const groups: SampleCall[][] = [];
  for (const call of calls) {
    const group = groups.at(-1);
    const first = group?.[0];
    const joins = first?.method === "POST" && call.method === "POST" &&
      call.atMs - first.atMs <= TOGETHER_MS;
    if (joins) group?.push(call);
    else groups.push([call]);
  }
  return groups;
}

/** A service whose time passes as fast as its work allows. */
class PastService implements AsyncDisposable {
  readonly #service: ReturnType<typeof createService>;
  readonly #target: SampleTarget;
  #nowMs: number;
  #turnedMs: number;

  /** @param egress addresses that channels may call: none that leaves this machine */
  constructor(target: SampleTarget, egress: string, startMs: number) {
    this.#target = target;
    this.#nowMs = this.#turnedMs = startMs;
    let minutes = 0;
    this.#service = createService({
      timers: TIMERS,
      store: target.store,
      environment: { now: () => this.#nowMs, random: ENVIRONMENT.random },
      region: target.region,
      sealKeys: target.sealKeys,
      egress: parseEgress(egress) ?? NO_EGRESS,
      // Time passes in leaps, but no deadline is missed.
      clockGapMaxMs: Infinity,
      refusedSecret: null,
      mailer: null,
      // A minute passes before each request, so no limit is reached.
      limits: createRequestLimits(() => 60_000 * minutes++, () => undefined, new Memory()),
      log: () => {},
      draining: () => false,
    });
    this.#service.start();
  }

  /** Lets time pass, with turns of the jobs. */
  async moveTo(untilMs: number): Promise<void> {
    while (true) {
      const isRecent = this.#target.nowMs - this.#turnedMs <= RECENT_MS;
      const nextMs = this.#turnedMs + (isRecent ? TURN_MS.recent : TURN_MS.usual);
      if (nextMs > untilMs) break;
      this.#nowMs = this.#turnedMs = nextMs;
      await this.turn();
    }
    this.#nowMs = untilMs;
  }

  /** Lets the jobs do everything that is due. */
  async turn(): Promise<void> {
    const { worker, work } = this.#service;
    await worker.idle();
    await work.idle();
    await worker.idle();
    await work.idle();
  }

  /** Sends a request; a refused one is a bug of the samples. */
  async send({ method, path, body }: Omit<SampleCall, "atMs" | "method" | "body"> & {
    readonly method: string;
    readonly body?: Json;
  }): Promise<Json> {
    const request = new Request(`http://127.0.0.1${path}`, {
      method,
      headers: { Authorization: `Bearer ${this.#target.key}`, Host: "127.0.0.1" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const response = await this.#service.app.fetch(request, { remoteAddr: LOCAL });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#service.stop();
  }
}
