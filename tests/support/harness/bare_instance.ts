/** One of several instances of the service on a shared KV, without a listener. */
import { TIMERS, type Timers } from "../../../runtime/deadlines.ts";
import { Memory } from "../../../runtime/memory.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { createRequestLimits } from "../../../runtime/rate_limit.ts";
import { createService, type Service } from "../../../app/compose.ts";
import type { ServiceOptions } from "../../../app/service_options.ts";
import { type OpenStore, openStore } from "../../../kv/open.ts";
import { KEY } from "./harness.ts";
import { asKvClient } from "./kv_client.ts";
import { ensureFirstTeam } from "../../../kv/teams/teams.ts";

/** Options of an instance. */
export interface InstanceOptions extends Partial<ServiceOptions> {
  /** True for an instance that does no background work. */
  readonly isIdle?: boolean;
}

/** A running instance. Always `await using`. */
export class BareInstance implements AsyncDisposable {
  private constructor(
    readonly store: OpenStore,
    readonly service: Service,
    readonly team: Team,
    readonly log: readonly string[],
  ) {}

  /** Starts an instance on the URL of a shared KV. */
  static async start(url: string, options: InstanceOptions = {}): Promise<BareInstance> {
    const { isIdle = false, ...rest } = options;
    const memory = new Memory();
    const store = await asKvClient(() => openStore(url, memory));
    const random = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes));
    const environment = { now: () => Date.now(), random };
    const log: string[] = [];
    // A minute passes before each request, so that no limit is reached.
    let minutes = 0;
    const service = createService({
      timers: TIMERS,
      store,
      isShared: true,
      environment,
      region: "eu",
      refusedSecret: null,
      limits: createRequestLimits(() => 60_000 * minutes++, () => undefined, memory),
      mailer: null,
      draining: () => false,
      log: (line) => void log.push(line),
      ...rest,
    });
    const settings = { region: "eu", key: KEY, tier: "free" } as const;
    const { team } = await ensureFirstTeam(store, environment, settings);
    if (!isIdle) {
      service.start();
      service.sweep.start();
    }
    return new BareInstance(store, service, team, log);
  }

  /** Sends a request; a body is sent as JSON. */
  async request(method: string, path: string, body?: unknown): Promise<Response> {
    const init = { method, headers: { Authorization: `Bearer ${KEY}`, Host: "test" } };
    return await this.service.app.fetch(
      new Request(`http://test${path}`, {
        ...init,
        ...body === undefined ? {} : { body: JSON.stringify(body) },
      }),
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

  async [Symbol.asyncDispose](): Promise<void> {
    this.service.leave();
    await this.service.stop();
    await this.store.close();
  }
}

/** Timers that wait for a part of the time. */
export function hurried(part: number): Timers {
  return { now: TIMERS.now, after: (ms, callback) => TIMERS.after(ms / part, callback) };
}
