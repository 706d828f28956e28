/**
 * A hosting platform like Deno Deploy: it starts instances of the program by load and for crons, stops
 * idle ones, and may kill any.
 */
import { PlatformInstance } from "./platform_instance.ts";
import type { Ended, Settings } from "../harness/process.ts";

export interface PlatformOptions {
  readonly instancesMax?: number;
  /** Requests in progress per instance, above which the platform starts another one. */
  readonly requestsPerInstance?: number;
  /** Milliseconds without a request or a cron until an instance is stopped. */
  readonly idleMs?: number;
}

/** A served instance, and the timer of its idle stop. */
interface Served {
  readonly instance: PlatformInstance;
  idleTimer: ReturnType<typeof setTimeout> | undefined;
}

/** The platform with one app. Always `await using`. */
export class Platform implements AsyncDisposable {
  /** Ends of idle instances, by SIGINT. */
  readonly stops: Ended[] = [];
  /** Outputs of instances that ended by themselves. */
  readonly failures: string[] = [];
  /** All output so far of instances that have ended. */
  output = "";
  /** Files made by instances that have ended. */
  readonly files: string[] = [];
  /** Maximum resident size of an instance that was stopped or killed, in megabytes. */
  peakMb = 0;
  started = 0;
  /** Maximum number of instances; the test may change it at any time. */
  instancesMax: number;
  /** Maximum number of instances that served at one time. */
  servedMax = 0;
  readonly #settings: Settings;
  readonly #options: Required<Omit<PlatformOptions, "instancesMax">>;
  readonly #served = new Set<Served>();
  readonly #ends = new Set<Promise<void>>();
  readonly #leaving = new Set<PlatformInstance>();
  #starting: Promise<Served> | null = null;
  readonly #router: Deno.HttpServer<Deno.NetAddr>;
  /** Names of the crons that the last instance registered before it served. */
  crons: readonly string[] = [];
  #isClosed = false;

  /** Opens a platform without instances; `settings` are those of the app and its KV. */
  constructor(settings: Settings, options: PlatformOptions = {}) {
    this.#settings = settings;
    const { instancesMax = 4, requestsPerInstance = 4, idleMs = 5_000 } = options;
    this.instancesMax = instancesMax;
    this.#options = { requestsPerInstance, idleMs };
    this.#router = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      (request) => this.#route(request),
    );
  }

  get url(): string {
    return `http://127.0.0.1:${this.#router.addr.port}`;
  }

  get instances(): number {
    return this.#served.size;
  }

  /** Runs each cron once, on any instance; returns whether all succeeded. */
  async runCrons(): Promise<boolean> {
    const served = await this.#choose();
    const ran = await Promise.all(
      served.instance.crons.map((name) => this.#use(served, () => served.instance.cron(name))),
    );
    return ran.every(Boolean);
  }

  /** Resolves when all instances have ended, which happens once they are idle. */
  async ended(): Promise<void> {
    await this.#starting?.catch(() => {});
    await Promise.all(this.#ends);
  }

  /** Kills an instance, the `n`th modulo their number. */
  async kill(n = 0): Promise<void> {
    const served = [...this.#served][n % Math.max(1, this.#served.size)];
    if (served !== undefined) await this.#stop(served, "SIGKILL");
  }

  async stopAll(): Promise<void> {
    await this.#starting?.catch(() => {});
    await Promise.all([...this.#served].map((served) => this.#stop(served, "SIGINT")));
    await this.ended();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.#router.shutdown();
    await this.#starting?.catch(() => {});
    await Promise.all([...this.#served].map((served) => this.#stop(served, "SIGKILL")));
    await this.ended();
  }

  /** Passes a request on; 503 if its instance ends meanwhile. */
  async #route(request: Request): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    const body = request.body === null ? null : await request.bytes();
    const headers = new Headers(request.headers);
    // A body is passed on as it is.
    headers.set("Accept-Encoding", "identity");
    const init = { method: request.method, headers, body, redirect: "manual" } as const;
    const served = await this.#choose();
    return await this.#use(served, async () => {
      try {
        const answer = await served.instance.fetch(pathname + search, init);
        return new Response(await answer.bytes(), answer);
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
        const text = pathname === "/v1/ping" ? "gone retry" : JSON.stringify({ error: "gone" });
        return new Response(text, { status: 503, headers: { "Retry-After": "1" } });
      }
    });
  }

  /** Returns the least busy instance; starts one if all are busy, and waits for it if there is none. */
  async #choose(): Promise<Served> {
    const { requestsPerInstance } = this.#options;
    const [least] = [...this.#served].sort((a, b) => a.instance.active - b.instance.active);
    if (least !== undefined && least.instance.active < requestsPerInstance) return least;
    if (this.#served.size < this.instancesMax) {
      this.#starting ??= this.#start();
      this.#starting.catch((error) => void this.failures.push(String(error)));
    }
    return least ?? await this.#starting!;
  }

  async #start(): Promise<Served> {
    try {
      this.started++;
      const instance = await PlatformInstance.start(this.#settings);
      const served: Served = { instance, idleTimer: undefined };
      this.crons = instance.crons;
      this.#served.add(served);
      this.servedMax = Math.max(this.servedMax, this.#served.size);
      const end = this.#collect(served).finally(() => this.#ends.delete(end));
      this.#ends.add(end);
      this.#rest(served);
      return served;
    } finally {
      this.#starting = null;
    }
  }

  async #use<T>(served: Served, work: () => Promise<T>): Promise<T> {
    clearTimeout(served.idleTimer);
    try {
      return await work();
    } finally {
      this.#rest(served);
    }
  }

  /** Stops an instance after its idle time. */
  #rest(served: Served): void {
    clearTimeout(served.idleTimer);
    if (this.#isClosed || served.instance.active > 0 || !this.#served.has(served)) return;
    served.idleTimer = setTimeout(() => {
      if (served.instance.active === 0) void this.#stop(served, "SIGINT");
    }, this.#options.idleMs);
  }

  async #stop(served: Served, signal: "SIGINT" | "SIGKILL"): Promise<void> {
    clearTimeout(served.idleTimer);
    this.#served.delete(served);
    this.#leaving.add(served.instance);
    const end = await served.instance.stop(signal);
    if (signal === "SIGINT") this.stops.push(end);
  }

  /** Keeps what an instance leaves. */
  async #collect(served: Served): Promise<void> {
    const { instance } = served;
    await instance.ended;
    this.#served.delete(served);
    clearTimeout(served.idleTimer);
    if (!this.#leaving.delete(instance)) this.failures.push(instance.output);
    this.output += instance.output;
    this.files.push(...instance.files);
    this.peakMb = Math.max(this.peakMb, instance.peakMb);
    await instance[Symbol.asyncDispose]();
  }
}
