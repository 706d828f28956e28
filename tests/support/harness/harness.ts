/**
 * The complete service (a KV file on disk, a socket, the HTTP stack) with a clock that the test
 * moves.
 */
import { monthOf } from "../../../domain/core/time.ts";
import type { RefusalStore } from "../../../kv/refusals/refusal_store.ts";
import type { Grant } from "../../../domain/teams/credentials.ts";
import type { Tier } from "../../../domain/teams/plans.ts";
import type { RequestLimits } from "../../../runtime/rate_limit.ts";
import type { Team } from "../../../domain/teams/team.ts";
import type { WorkLoop } from "../../../jobs/work_loop.ts";
import type { SweepWork } from "../../../kv/retention/sweep_work.ts";
import type { RunGuard } from "../../../kv/budgets/guard.ts";
import type { Worker } from "../../../jobs/worker.ts";
import { type RunningServer, serve } from "../../../app/server.ts";
import { isShared, parseLocation } from "../../../kv/location.ts";
import type { OpenStore } from "../../../kv/open.ts";
import { createCredentialStore, type CredentialStore } from "../../../kv/teams/credentials.ts";
import { type HarnessOptions, Instance, KEY } from "./instance.ts";
import { makeMemoryFolder } from "./memory_folder.ts";
import { Route } from "./route.ts";
import { type Database, INSTANCES, ofFile, ofInstance, openDatabase } from "./test_kv.ts";
import { insertTeam } from "../builders/teams.ts";
import { fixture } from "./fixture.ts";

export { type HarnessOptions, KEY };

/** Noon of the tests' day. */
export const NOON = Date.UTC(2026, 10, 21, 12);

/** All scopes, which a team's first key has. */
export const ALL_SCOPES: Grant = { kind: "api_key", scopes: ["ingest", "read", "admin"] };

/** Key families that instances write about themselves, and the turns of the clock. */
const OF_INSTANCES = new Set(["clock", "lease", "receipt"]);

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

/** One running service, of one or more instances. Always `await using`. */
export class Harness implements AsyncDisposable {
  /** Declares a test of a service on an empty file. */
  static readonly test = fixture(() => Harness.open());

  nowMs = NOON;
  /** True if the service reports its shutdown. */
  draining = false;
  readonly log: string[] = [];
  readonly path: string;
  /** The store: the path, or the URL of a shared KV. */
  readonly #location: string;
  readonly #folder: string;
  /** Database of the shared KV; null with a file, or with the test's own. */
  readonly #database: Database | null;
  readonly #options: HarnessOptions;
  /** The first one does the background work. */
  #instances!: readonly Instance[];
  #server!: RunningServer;
  #client = Deno.createHttpClient({});

  private constructor(folder: string, options: HarnessOptions, database: Database | null) {
    this.#folder = folder;
    this.path = `${folder}/test.kv`;
    this.#database = database;
    this.#location = options.kv ?? database?.url ?? this.path;
    this.#options = options;
  }

  /** Starts a service on an empty file, or on the files of another one. */
  static async open(options: HarnessOptions = {}): Promise<Harness> {
    const folder = options.onDisk
      ? await Deno.makeTempDir({ prefix: "runledger-" })
      : await makeMemoryFolder();
    for (const [name, bytes] of options.files ?? []) {
      await Deno.writeFile(`${folder}/${name}`, bytes);
    }
    const database = options.kv === undefined ? await openDatabase(folder) : null;
    const harness = new Harness(folder, options, database);
    await harness.#start();
    return harness;
  }

  get url(): string {
    return this.#server.url;
  }

  get store(): OpenStore {
    return this.#first.store;
  }

  get team(): Team {
    return this.#first.team;
  }

  get limits(): RequestLimits {
    return this.#first.limits;
  }

  /** The credentials of the first instance; its caches are those of all. */
  get credentials(): CredentialStore {
    const each = this.#instances.map(({ service }) => service.credentials);
    return {
      ...this.#first.service.credentials,
      forget: () => each.forEach((credentials) => credentials.forget()),
      writeUses: async (all) => {
        await Promise.all(each.map((credentials) => credentials.writeUses(all)));
      },
    };
  }

  get work(): WorkLoop {
    return this.#first.service.work;
  }

  get guard(): RunGuard {
    return this.#first.service.guard;
  }

  /** The worker; it is idle once the work on runs is done too. */
  get worker(): Pick<Worker, "start" | "stop" | "wake" | "idle"> {
    const { worker, work } = this.#first.service;
    return {
      start: () => worker.start(),
      stop: () => worker.stop(),
      wake: () => worker.wake(),
      idle: async () => {
        await worker.idle();
        await work.idle(["run"]);
        await worker.idle();
      },
    };
  }

  /** The refusals of the first instance; a flush is one of all. */
  get refusals(): Pick<RefusalStore, "note" | "flush"> {
    const each = this.#instances.map(({ service }) => service.refusals);
    return {
      note: this.#first.service.refusals.note,
      flush: async () => void await Promise.all(each.map((store) => store.flush())),
    };
  }

  /** Writes the uses and refusals that all instances have counted; by default also those not due yet. */
  async writeCounts(isLast = true): Promise<void> {
    await Promise.all(this.#instances.map(({ service }) => service.writeCounts(isLast)));
  }

  /** The nightly sweep, which does not start on its own here. */
  get sweep(): SweepWork {
    return this.#first.service.sweep;
  }

  get #first(): Instance {
    const [first] = this.#instances;
    if (first === undefined) throw new TypeError("The service is stopped");
    return first;
  }

  async #start(): Promise<void> {
    const options = {
      ...this.#options,
      environment: this.#environment(),
      key: this.key,
      log: (line: string) => void this.log.push(line),
      draining: () => this.draining,
    };
    const instances = [await Instance.start(this.#location, options)];
    this.#instances = instances;
    if (!this.#isAlone) {
      // The first one takes the lease.
      await this.worker.idle();
      while (instances.length < INSTANCES) {
        instances.push(await Instance.start(this.#location, options));
      }
    }
    const route = new Route(instances);
    const fetch = instances.length === 1
      ? this.#first.service.app.fetch
      : (request: Request, info: Deno.ServeHandlerInfo) => route.fetch(request, info);
    this.#server = serve(fetch, "127.0.0.1", 0);
  }

  /** True with a single instance: the shared KV, the memory or the rates are the test's own. */
  get #isAlone(): boolean {
    const { kv, memory, rateClock } = this.#options;
    const isOwn = kv !== undefined || memory !== undefined || rateClock !== undefined;
    return isOwn || !isShared(parseLocation(this.#location));
  }

  /** Restarts the service; returns the files that it left while it was stopped. */
  async filesAtRest(): Promise<ReadonlyMap<string, Uint8Array<ArrayBuffer>>> {
    const files = new Map<string, Uint8Array<ArrayBuffer>>();
    await this.restart(async () => {
      for await (const { name } of Deno.readDir(this.#folder)) {
        files.set(name, await Deno.readFile(`${this.#folder}/${name}`));
      }
    });
    return files;
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
    const [first, ...others] = this.#instances;
    for (const { service } of this.#instances) service.leave();
    await this.#server.drain();
    await Promise.all(others.map((instance) => instance.stop()));
    await first?.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop();
    this.#client.close();
    await this.#database?.[Symbol.asyncDispose]();
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
  async getFinal(path: string, options: RequestOptions = {}): Promise<Answer> {
    await this.worker.idle();
    return await this.get(path, options);
  }

  get key(): string {
    return KEY.replace("_eu_", `_${this.#options.region ?? "eu"}_`);
  }

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
    const entry = await this.store.reader.get<Deno.KvU64>(["usage", team.id, monthOf(this.nowMs)]);
    return Number(entry.value?.value ?? 0n);
  }

  /**
   * Dumps the complete store as text, one line per key with its version: equal dumps are equal
   * stores. Omits what the instances of a shared KV write about themselves.
   */
  async dump(): Promise<string[]> {
    await this.worker.idle();
    const lines: string[] = [];
    for await (const { key, value, versionstamp } of this.store.reader.list({ prefix: [] })) {
      if (OF_INSTANCES.has(String(key[0]))) continue;
      lines.push(`${Deno.inspect(key)} ${versionstamp} ${Deno.inspect(value, { depth: 9 })}`);
    }
    return lines;
  }
}

/** Declares tests of a service and its file, by {@link ofFile}. */
export const oneFile = { test: fixture(() => Harness.open(), ofFile) };

/** Declares tests of what each instance of a service has for itself, by {@link ofInstance}. */
export const oneInstance = { test: fixture(() => Harness.open(), ofInstance) };

/** Declares tests of a service whose first team is on the smallest plan, with few agents. */
export const freeTeam = { test: fixture(() => Harness.open({ tier: "free" })) };

/** Declares tests of a service whose first team is on the largest plan. */
export const enterprise = { test: fixture(() => Harness.open({ tier: "enterprise" })) };
