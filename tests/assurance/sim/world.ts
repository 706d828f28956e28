/**
 * The service with a fully controlled environment: clock, timers, randomness, mail, network and the
 * KV handle that it writes through. Requests go straight to its fetch function, and the worker runs
 * only on demand, so one sequence of calls is one sequence of commits.
 *
 * Several instances may share the file. None needs the lease, which only saves work: each time,
 * another one does the background work.
 */
import { storeOver } from "../../support/harness/stores.ts";
import type { Envelope } from "../../../domain/channels/sender.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { Deadlines } from "../../../runtime/deadlines.ts";
import { STORAGE_DEADLINE_MS } from "../../../domain/core/limits.ts";
import { createRequestLimits } from "../../../runtime/rate_limit.ts";
import type { Environment } from "../../../domain/core/environment.ts";
import type { Mailer } from "../../../domain/core/mail.ts";
import { BACK_ENDS, type BackEnd } from "../../../kv/base/limits.ts";
import type { Store } from "../../../kv/store.ts";
import { createWorkStore } from "../../../kv/work/store.ts";
import { Random } from "../../../tools/random.ts";
import { createService, type Service } from "../../../app/compose.ts";
import type { ServiceOptions } from "../../../app/service_options.ts";
import { givenKey } from "../../../kv/channels/seal.ts";
import { NO_EGRESS, parseEgress } from "../../../outbound/http.ts";
import { FakeTimers } from "../../support/fakes/fake_timers.ts";
import { KEY, NOON } from "../../support/harness/harness.ts";
import { makeMemoryFolder } from "../../support/harness/memory_folder.ts";
import { type Absence, RATES, type State } from "./shape.ts";
import { ensureFirstTeam } from "../../../kv/teams/teams.ts";

/** Addresses that channels may call. */
const PUBLIC = parseEgress("public") ?? NO_EGRESS;

const CREDENTIALS = { region: "eu", refusedSecret: null } as const;

export interface WorldOptions {
  readonly tier: State["tier"];
  /** Limits of its store; those of a file when absent. */
  readonly backEnd?: BackEnd;
  readonly wrap?: (kv: Deno.Kv) => Deno.Kv;
  readonly wrapReader?: (kv: Deno.Kv) => Deno.Kv;
  readonly mailer?: Mailer;
  readonly instances?: number;
  /** Returns random bytes; drawn from one seed when absent. */
  readonly random?: Environment["random"];
  /** Further settings of the service. */
  readonly service?: (environment: Environment, store: Store) => Partial<ServiceOptions>;
  readonly onAnswer?: (call: WorldCall, response: WorldResponse) => void;
  /** Called with each message that a receiver gets. */
  readonly onMessage?: (message: Envelope) => void;
}

export interface WorldCall {
  readonly method: string;
  readonly path: string;
  readonly body: string | undefined;
}

export type WorldResponse = Pick<Response, "status" | "headers"> & { readonly text: string };

/** Longest pause before a failed run is retried. */
const RETRY_PAUSE_MS_MAX = 300_000;

/** Retries of failed runs: more than a sequence has faults in a row. */
const WORK_ROUNDS = 20;

/** State of one instance; a restart ends it and starts another. */
interface Process {
  readonly store: Store;
  readonly service: Service;
  stop(): Promise<void>;
}

/** A service over one file. Always `await using`. */
export class World implements AsyncDisposable {
  nowMs = NOON;
  team!: Team;
  readonly log: string[] = [];
  readonly timers = new FakeTimers();
  readonly #processes: Process[] = [];
  /** One stream across all restarts: no id is generated twice. */
  readonly #random = new Random("world");
  readonly #draws = new Random("instances");
  readonly #folder: string;
  readonly #options: WorldOptions;

  private constructor(folder: string, options: WorldOptions) {
    this.#folder = folder;
    this.#options = options;
  }

  /** Opens a service on a new file, with the rate card of the model. */
  static async open(options: WorldOptions): Promise<World> {
    const world = new World(await makeMemoryFolder(), options);
    const { instances = 1 } = options;
    while (world.#processes.length < instances) world.#processes.push(await world.#start());
    return world;
  }

  get store(): Store {
    return this.#any().store;
  }

  get service(): Service {
    return this.#any().service;
  }

  get isShared(): boolean {
    return this.#processes.length > 1;
  }

  /** Ends an instance and starts another one on the same file. */
  async restart(): Promise<void> {
    const [ended] = this.#processes.splice(this.#draw(), 1);
    await ended?.stop();
    this.#processes.push(await this.#start());
  }

  #draw(): number {
    return this.#draws.int(0, this.#processes.length - 1);
  }

  #any(): Process {
    return this.#processes[this.#draw()] as Process;
  }

  chance(probability: number): boolean {
    return this.#draws.chance(probability);
  }

  /** Lets the worker do all pending work, also for runs that it would retry after a pause. */
  async doWork(): Promise<void> {
    const { nowMs } = this;
    for (let round = 0; round < WORK_ROUNDS; round++) {
      const { service, store } = this.#any();
      // Two holders of the lease for a moment do no harm.
      const also = this.isShared && this.chance(1 / 4) ? [processed(this.service)] : [];
      await Promise.all([processed(service), ...also]);
      const pending = store.reader.list({ prefix: ["dirty"] }, { limit: 1 });
      if ((await Array.fromAsync(pending)).length === 0) break;
      this.nowMs += RETRY_PAUSE_MS_MAX;
    }
    this.nowMs = nowMs;
  }

  /** Lets the worker do what it can now. */
  async work(): Promise<void> {
    await processed(this.service);
  }

  /** Handles all deadlines; returns the absences that the handlers knew of. */
  async runDeadlines(): Promise<readonly Absence[]> {
    const { work } = this.service;
    // Two holders of the lease for a moment do no harm.
    const also = this.isShared && this.chance(1 / 4) ? [this.service.work.round(["settled"])] : [];
    await Promise.all([work.round(["settled"]), ...also]);
    return await this.absences();
  }

  async absences(): Promise<readonly Absence[]> {
    const stored = await this.store.reader.get<{ absences: readonly Absence[] }>(["clock"]);
    return stored.value?.absences ?? [];
  }

  /** Returns the time of the next deadline, unix milliseconds; null for none. */
  nextDueMs(): Promise<number | null> {
    return createWorkStore(this.store, Infinity).nextMs("settled");
  }

  /** Moves the time as if the clock had turned each second since, with nothing due. */
  async passTo(toMs: number): Promise<void> {
    const turnMs = Math.max(this.nowMs, toMs - 1_000);
    this.nowMs = Math.max(this.nowMs, toMs);
    await createWorkStore(this.store, Infinity).noteTurn(turnMs, { waits: true, isFirst: false });
  }

  /** Sends a request to the fetch function. */
  async send(method: string, path: string, body?: string, headers = {}): Promise<WorldResponse> {
    const all = { Host: "ledger.test", Authorization: `Bearer ${KEY}`, ...headers };
    const url = `http://ledger.test${path}`;
    const init = body === undefined ? {} : { body };
    const request = new Request(url, { method, headers: all, ...init });
    const response = await this.service.app.fetch(request);
    const { status, headers: sent } = response;
    const answer = { status, headers: sent, text: await response.text() };
    this.#options.onAnswer?.({ method, path, body }, answer);
    return answer;
  }

  /** Tells the observer of a message that a receiver got. */
  noteMessage(message: Envelope): void {
    this.#options.onMessage?.(message);
  }

  /** Puts the model's rates on the card, in dollars per million tokens. */
  async putRates(factor = 1): Promise<void> {
    for (const [model, { input, cached, output }] of Object.entries(RATES)) {
      const body = {
        model,
        input_usd_per_million: factor * input / 1e6,
        cached_input_usd_per_million: factor * cached / 1e6,
        output_usd_per_million: factor * output / 1e6,
      };
      const { status } = await this.send("PUT", "/v1/rate-card", JSON.stringify(body));
      if (status >= 500) return await this.putRates(factor);
    }
  }

  async #start(): Promise<Process> {
    const { tier, backEnd = BACK_ENDS.embedded, mailer = null } = this.#options;
    const { wrap = (kv) => kv, wrapReader = (kv) => kv, service: settings } = this.#options;
    const { random = (bytes) => this.#random.bytes(bytes) } = this.#options;
    const environment: Environment = { now: () => this.nowMs, random };
    const path = `${this.#folder}/world.kv`;
    const [kv, reader] = [await Deno.openKv(path), await Deno.openKv(path)];
    const deadlines = new Deadlines(STORAGE_DEADLINE_MS, this.timers);
    const store = storeOver(wrap(kv), wrapReader(reader), backEnd, deadlines);
    let minutes = 0;
    const service = createService({
      store,
      environment,
      // Process time passes with the clock, and when a test advances it alone.
      timers: { now: () => this.nowMs + this.timers.now(), after: this.timers.after },
      ...CREDENTIALS,
      // A minute passes before each request: this test does not cover the rate limit.
      limits: createRequestLimits(() => 60_000 * minutes++),
      mailer,
      egress: PUBLIC,
      sealKeys: givenKey(new Uint8Array(32).fill(7)),
      log: (line) => void this.log.push(line),
      draining: () => false,
      failurePauseMs: 1,
      ...settings?.(environment, store),
    });
    const first = { region: "eu", key: KEY, tier } as const;
    this.team = (await ensureFirstTeam(store, environment, first)).team;
    const stop = async () => {
      await service.stop();
      await store.writer.idle();
      deadlines[Symbol.dispose]();
      reader.close();
      kv.close();
    };
    // Only the worker runs, and no commit wakes it.
    service.worker.start();
    // Finish an earlier process's work before the first call, not at a random time.
    await processed(service);
    return { store, service, stop };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      for (const process of this.#processes) await process.stop();
    } finally {
      await Deno.remove(this.#folder, { recursive: true });
    }
  }
}

/** Lets a service update runs and do the work on them that is due. */
async function processed({ worker, work }: Service): Promise<void> {
  await worker.idle();
  await work.round(["run"]);
  await worker.idle();
}
