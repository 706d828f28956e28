/**
 * The complete service (a KV file on disk, a socket, the HTTP stack) with a clock that the test
 * moves.
 */
import { TIMERS } from "../../../kv/base/deadline.ts";
import type { Grant } from "../../../domain/teams/credentials.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { Memory } from "../../../domain/core/memory.ts";
import { createRequestLimits, type RequestLimits } from "../../../domain/teams/rate_limit.ts";
import type { Region } from "../../../domain/core/ids.ts";
import type { RefusalStore } from "../../../domain/refusals/refusals.ts";
import type { CredentialStore } from "../../../domain/teams/key_list.ts";
import type { Mailer } from "../../../domain/core/mail.ts";
import type { Tier } from "../../../domain/teams/plans.ts";
import { monthOf } from "../../../domain/core/time.ts";
import {
  createCredentialStore,
  ensureFirstTeam,
  insertTeam,
} from "../../../kv/teams/credentials.ts";
import { isShared, parseLocation } from "../../../kv/location.ts";
import { type OpenStore, openStore } from "../../../kv/open.ts";
import { RateSlices } from "../../../kv/teams/rate_slices.ts";
import { createService, type Service } from "../../../app/compose.ts";
import type { SweepJob } from "../../../jobs/sweep.ts";
import type { Worker } from "../../../jobs/worker.ts";
import type { AppDeps } from "../../../routes/http/context.ts";
import { type RunningServer, serve } from "../../../app/server.ts";
import { asKvClient } from "./kv_client.ts";

/** Noon of the tests' day. */
export const NOON = Date.UTC(2026, 10, 21, 12);

/** The key of the first team. */
export const KEY = "apk_eu_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/** All scopes, which a team's first key has. */
export const ALL_SCOPES: Grant = { kind: "api_key", scopes: ["ingest", "read", "admin"] };

/** Disables compression: compressed sizes depend on the random names in responses. */
const PLAIN = { "Accept-Encoding": "identity" };

/** A response with its body read. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Parses the body as JSON; fails if it is not JSON. */
  // deno-lint-ignore no-explicit-any -- tests read responses of any shape
  readonly json: any;
}

/** Options of a request other than method and path. */
export interface RequestOptions {
  /** Sent as Bearer; `null` for none. The first team's key by default. */
  readonly key?: string | null;
  readonly headers?: Record<string, string>;
  /** An object is sent as JSON, text and bytes unchanged. */
  readonly body?: unknown;
  /** Handling of a redirect; followed by default. */
  readonly redirect?: "follow" | "manual";
}

/** Options of a harness. */
export interface HarnessOptions {
  readonly tier?: Tier;
  readonly region?: Region;
  /** Replaces dependencies of the routes, for faults. */
  readonly deps?: Partial<AppDeps>;
  /** Sends quota notices. */
  readonly mailer?: Mailer;
  /** A secret that must not work. */
  readonly refusedSecret?: string;
  /** The operator's key. */
  readonly operatorKey?: string;
  /** Byte limits of caches and queues. */
  readonly memory?: Memory;
  /** True to run as `deno task dev` does. */
  readonly dev?: boolean;
  /**
   * Clock of the rate limits, in milliseconds; without one they are never reached. With one, the
   * service leases its buckets on a shared KV.
   */
  readonly rateClock?: () => number;
  /** URL of a shared KV instead of a file. */
  readonly kv?: string;
}

/** Shared KV on which all tests run instead of files; each test has a database of its own. */
const TEST_KV = Deno.env.get("RUNLEDGER_TEST_KV");

/** Returns the URL of a new database on {@link TEST_KV}; undefined without one. */
function sharedKv(): string | undefined {
  return TEST_KV === undefined ? undefined : `${TEST_KV}/db/${crypto.randomUUID()}`;
}

/** One running service. Always `await using`. */
export class Harness implements AsyncDisposable {
  /** The server's clock. */
  nowMs = NOON;
  /** True if the service reports its shutdown. */
  draining = false;
  /** Lines of the request log. */
  readonly log: string[] = [];
  readonly path: string;
  /** The store: the path, or the URL of a shared KV. */
  readonly #location: string;
  store!: OpenStore;
  team!: Team;
  limits!: RequestLimits;
  #minutes = 0;
  /** Null with buckets of its own. */
  #slices: RateSlices | null = null;
  #server!: RunningServer;
  #service!: Service;
  #client = Deno.createHttpClient({});
  readonly #folder: string;
  readonly #options: HarnessOptions;

  private constructor(folder: string, options: HarnessOptions) {
    this.#folder = folder;
    this.path = `${folder}/test.kv`;
    this.#location = options.kv ?? sharedKv() ?? this.path;
    this.#options = options;
  }

  /** Starts a service on an empty file. */
  static async open(options: HarnessOptions = {}): Promise<Harness> {
    const harness = new Harness(await Deno.makeTempDir({ prefix: "runledger-" }), options);
    await harness.#start();
    return harness;
  }

  get url(): string {
    return this.#server.url;
  }

  get credentials(): CredentialStore {
    return this.#service.credentials;
  }

  get worker(): Worker {
    return this.#service.worker;
  }

  get refusals(): RefusalStore {
    return this.#service.refusals;
  }

  /** The nightly sweep, which does not start on its own here. */
  get sweep(): SweepJob {
    return this.#service.sweep;
  }

  async #start(): Promise<void> {
    const { region = "eu", tier = "business", refusedSecret = null, mailer = null, deps = {} } =
      this.#options;
    // A minute passes before each request, so that only tests of the limits reach them.
    const { operatorKey = null, rateClock = () => 60_000 * this.#minutes++ } = this.#options;
    const memory = this.#options.memory ?? new Memory();
    this.store = await asKvClient(() => openStore(this.#location, memory));
    if (this.#options.rateClock !== undefined && isShared(parseLocation(this.#location))) {
      this.#slices = new RateSlices(this.store, { ...TIMERS, now: rateClock }, NOON);
    }
    this.limits = createRequestLimits(rateClock, (api) => this.#slices?.bucketsFor(api), memory);
    const environment = this.#environment();
    this.#service = createService({
      timers: TIMERS,
      store: this.store,
      isShared: isShared(parseLocation(this.#location)),
      environment,
      region,
      refusedSecret,
      operatorKey,
      dev: this.#options.dev ?? false,
      limits: this.limits,
      mailer,
      log: (line) => void this.log.push(line),
      draining: () => this.draining,
      parts: deps,
    });
    const key = KEY.replace("_eu_", `_${region}_`);
    const { app } = this.#service;
    const settings = { region, key, tier };
    this.team = (await ensureFirstTeam(this.store, environment, settings)).team;
    this.#service.start();
    this.#server = serve(app.fetch, "127.0.0.1", 0);
  }

  /** Stops the service, runs `meanwhile`, and restarts it on the same file. */
  async restart(meanwhile: () => Promise<void> = () => Promise.resolve()): Promise<void> {
    await this.#stop();
    await meanwhile();
    await this.#start();
  }

  async #stop(): Promise<void> {
    this.#client.close();
    this.#client = Deno.createHttpClient({});
    this.#service.leave();
    await this.#server.drain();
    await this.#service.stop();
    await this.#slices?.stop();
    await this.store.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop();
    this.#client.close();
    await Deno.remove(this.#folder, { recursive: true });
  }

  #environment() {
    return {
      now: () => this.nowMs,
      random: (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes)),
    };
  }

  /** Sends a request over the socket. */
  async request(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const { key = this.key, headers = {}, body, redirect = "follow" } = options;
    const raw = body === undefined || typeof body === "string" || body instanceof Uint8Array;
    const response = await fetch(this.url + path, {
      method,
      client: this.#client,
      redirect,
      headers: {
        ...PLAIN,
        ...(key === null ? {} : { Authorization: `Bearer ${key}` }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: (raw ? body : JSON.stringify(body)) as BodyInit }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      text,
      get json() {
        return JSON.parse(text);
      },
    };
  }

  post(path: string, body: unknown, options: RequestOptions = {}): Promise<Answer> {
    return this.request("POST", path, { ...options, body });
  }

  get(path: string, options: RequestOptions = {}): Promise<Answer> {
    return this.request("GET", path, options);
  }

  /** Reads after the worker has finished: costs of closed runs are final. */
  async getSettled(path: string, options: RequestOptions = {}): Promise<Answer> {
    await this.worker.idle();
    return await this.get(path, options);
  }

  /** The first team's key, with every scope. */
  get key(): string {
    return KEY.replace("_eu_", `_${this.#options.region ?? "eu"}_`);
  }

  /** Creates another team and a key for it. */
  async addTeam(tier: Tier, grant: Grant = ALL_SCOPES): Promise<{ team: Team; key: string }> {
    const team = await insertTeam(this.store, tier);
    return { team, key: await this.addKey(grant, team) };
  }

  /** Creates a credential, the first team's by default. */
  async addKey(grant: Grant, team: Team = this.team): Promise<string> {
    const { region = "eu" } = this.#options;
    const options = { region, refusedSecret: null };
    const credentials = createCredentialStore(this.store, this.#environment(), options);
    return (await credentials.create(team, { name: "test", grant }, "test")).secret;
  }

  /** Returns the events counted for a team in the current month. */
  async usage(team: Team = this.team): Promise<number> {
    const entry = await this.store.reader.get<Deno.KvU64>([
      "usage",
      team.id,
      monthOf(this.nowMs),
    ]);
    return Number(entry.value?.value ?? 0n);
  }

  /**
   * Dumps the complete store as text, one line per key with its version: equal dumps are equal
   * stores.
   */
  async dump(): Promise<string[]> {
    await this.worker.idle();
    const lines: string[] = [];
    for await (const { key, value, versionstamp } of this.store.reader.list({ prefix: [] })) {
      lines.push(`${Deno.inspect(key)} ${versionstamp} ${Deno.inspect(value, { depth: 9 })}`);
    }
    return lines;
  }
}
