/** One instance of the service over a store, without a listener: its handles, its caches, its jobs. */
import type { Environment } from "../../../domain/core/environment.ts";
import type { Region } from "../../../domain/core/ids.ts";
import type { Mailer } from "../../../domain/core/mail.ts";
import { TIMERS, type Timers } from "../../../runtime/deadlines.ts";
import { Memory } from "../../../runtime/memory.ts";
import type { Tier } from "../../../domain/teams/plans.ts";
import { createRequestLimits, type RequestLimits } from "../../../runtime/rate_limit.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { createService, type Service } from "../../../app/compose.ts";
import type { ServiceOptions } from "../../../app/service_options.ts";
import { parseConnections } from "../../../domain/judges/connection.ts";
import type { ModelCalls } from "../../../kv/judges/calls.ts";
import { sealKeysOf } from "../../../kv/channels/seal.ts";
import { isShared, parseLocation } from "../../../kv/location.ts";
import { type OpenStore, openStore } from "../../../kv/open.ts";
import { RateSlices } from "../../../kv/teams/rate_slices.ts";
import { type Egress, NO_EGRESS, parseEgress } from "../../../outbound/http.ts";
import type { AppDeps } from "../../../routes/http/context.ts";
import { ensureFirstTeam } from "../../../kv/teams/teams.ts";
import { asKvClient } from "../fakes/kv_client.ts";
import { PATIENT } from "./temp_store.ts";

/** The key of the first team. */
export const KEY = "apk_eu_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

const REAL: Environment = {
  now: () => Date.now(),
  random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
};

/** Stores channels with public addresses, and calls none. */
const STORED_ONLY: Egress = {
  refusal: (url) => (parseEgress("public") ?? NO_EGRESS).refusal(url),
  addressRefusal: () => "tests call no address",
};

/** Stores channels of e-mail, and sends none. */
const UNSENT: Mailer = {
  send: () => Promise.resolve({ kind: "failed", error: "tests send no mail" }),
};

/** Has a connection, and reaches no model. */
const UNREACHABLE: ModelCalls = {
  connections: parseConnections("openai=https://api.openai.com/v1,OPENAI_API_KEY") ?? [],
  call: () => Promise.resolve({ kind: "unsent" }),
};

export interface HarnessOptions {
  readonly tier?: Tier;
  readonly region?: Region;
  /** Replaces dependencies of the routes, for faults. */
  readonly deps?: Partial<AppDeps>;
  /** Sends mail; null for no mail server. */
  readonly mailer?: Mailer | null;
  /** Addresses that channels may call; none when absent. */
  readonly egress?: Egress;
  /** Calls models for judges; a connection `openai` that nothing answers when absent. */
  readonly models?: ModelCalls;
  /** Key of the secrets of channels; as in production when absent. */
  readonly sealKey?: Uint8Array<ArrayBuffer> | null;
  readonly publicUrl?: string;
  /** A secret that must not work. */
  readonly refusedSecret?: string;
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
  /** Milliseconds without a turn of the clock that are an absence; as in the service by default. */
  readonly clockGapMaxMs?: number;
  /** Milliseconds until the store is late; more than in the service by default. */
  readonly deadlineMs?: number;
  /** True if the worker polls for work, as where no bell rings. */
  readonly pollsForWork?: boolean;
  /** True if another program opens the file. */
  readonly onDisk?: boolean;
  /** URL of a shared KV of the test's own, for a single instance. */
  readonly kv?: string;
  /** Files that a stopped service left in its folder, by name; without them its file is empty. */
  readonly files?: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

export interface InstanceOptions
  extends HarnessOptions, Partial<Pick<ServiceOptions, "timers" | "onOtherFormat" | "leadership">> {
  readonly environment?: Environment;
  readonly key?: string;
  readonly log?: (line: string) => void;
  readonly draining?: () => boolean;
  /** True for an instance that does no background work. */
  readonly isIdle?: boolean;
  readonly sweeps?: boolean;
}

/** A running instance. `await using`, or stop it. */
export class Instance implements AsyncDisposable {
  private constructor(
    readonly store: OpenStore,
    readonly service: Service,
    readonly limits: RequestLimits,
    readonly team: Team,
    /** Null with buckets of its own. */
    private readonly slices: RateSlices | null,
    private readonly key: string,
  ) {}

  /** Starts an instance on a path, or on the URL of a shared KV. */
  static async start(location: string, options: InstanceOptions = {}): Promise<Instance> {
    const { environment = REAL, key = KEY, rateClock, memory = new Memory() } = options;
    const { region = "eu", tier = "business", mailer = UNSENT, deps = {} } = options;
    const { refusedSecret = null, operatorKey = null, dev = false, clockGapMaxMs } = options;
    const { egress = STORED_ONLY, publicUrl = null, log = () => {} } = options;
    const { draining = () => false, timers = TIMERS, onOtherFormat, isIdle = false } = options;
    // Instances of a shared KV have one key, as in production.
    const { sealKey = isShared(parseLocation(location)) ? new Uint8Array(32) : null } = options;
    const { deadlineMs = PATIENT.deadlineMs } = options;
    const store = await asKvClient(() => openStore(location, memory, { deadlineMs }));
    const slices = rateClock !== undefined && isShared(parseLocation(location))
      ? new RateSlices(store, { ...TIMERS, now: rateClock }, environment.now())
      : null;
    let minutes = 0;
    const limits = createRequestLimits(
      // A minute passes before each request, so that only tests of the limits reach them.
      rateClock ?? (() => 60_000 * minutes++),
      (api) => slices?.bucketsFor(api),
      memory,
    );
    const service = createService({
      timers,
      store,
      isShared: isShared(parseLocation(location)),
      environment,
      region,
      refusedSecret,
      operatorKey,
      dev,
      limits,
      mailer,
      egress,
      models: options.models ?? UNREACHABLE,
      publicUrl,
      sealKeys: sealKeysOf(parseLocation(location), sealKey),
      log,
      draining,
      ...(clockGapMaxMs === undefined ? {} : { clockGapMaxMs }),
      ...(onOtherFormat === undefined ? {} : { onOtherFormat }),
      ...(options.leadership === undefined ? {} : { leadership: options.leadership }),
      ...(options.pollsForWork === undefined ? {} : { pollsForWork: options.pollsForWork }),
      parts: deps,
    });
    const { team } = await ensureFirstTeam(store, environment, { region, key, tier });
    if (!isIdle) service.start();
    if (options.sweeps) service.sweep.start();
    return new Instance(store, service, limits, team, slices, key);
  }

  /** Sends a request with the first team's key; a body is sent as JSON. */
  async request(method: string, path: string, body?: unknown): Promise<Response> {
    const headers = { Authorization: `Bearer ${this.key}`, Host: "test" };
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    return await this.service.app.fetch(
      new Request(`http://test${path}`, { method, headers, ...init }),
    );
  }

  /** Sends a request that must succeed; returns the parsed answer. */
  // deno-lint-ignore no-explicit-any -- answers of any shape
  async call(method: string, path: string, body?: unknown): Promise<any> {
    const response = await this.request(method, path, body);
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text);
  }

  async stop(): Promise<void> {
    await this.service.stop();
    await this.slices?.stop();
    await this.store.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.service.leave();
    await this.stop();
  }
}

/** Timers that wait for a part of the time. */
export function hurried(part: number): Timers {
  return { now: TIMERS.now, after: (ms, callback) => TIMERS.after(ms / part, callback) };
}
