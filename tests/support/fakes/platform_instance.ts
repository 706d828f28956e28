/** An instance of the program as Deno Deploy runs it: its environment, sockets and crons. */
import { type Ended, Process, type Settings } from "../harness/process.ts";

/** Milliseconds from SIGINT to SIGKILL. */
const KILLED_MS = 5_000;

/** A message of the runtime about its crons. */
type CronMessage =
  | { readonly kind: "register"; readonly crons: readonly { readonly name: string }[] }
  | { readonly kind: "result"; readonly name: string; readonly success: boolean }
  | { readonly kind: "reject-ack" };

/** One running instance. Always `await using`. */
export class PlatformInstance implements AsyncDisposable {
  /** Requests and cron runs in progress. */
  active = 0;
  /** Names of the crons that were registered before it served. */
  readonly crons: readonly string[];
  readonly #folder: string;
  readonly #process: Process;
  readonly #client: Deno.HttpClient;
  readonly #crons: CronSocket;
  readonly ended: Promise<void>;
  #peakMb = 0;

  private constructor(folder: string, process: Process, crons: CronSocket) {
    this.#folder = folder;
    this.#process = process;
    this.#crons = crons;
    this.crons = crons.names;
    this.#client = Deno.createHttpClient({
      proxy: { transport: "unix", path: process.url.replace("unix:", "") },
    });
    this.ended = this.#end();
  }

  /**
   * Starts an instance; resolves once it serves.
   *
   * @param settings variables that the app sets, and those of its KV
   */
  static async start(settings: Settings): Promise<PlatformInstance> {
    const folder = await Deno.makeTempDir({ prefix: "runledger-" });
    await Deno.mkdir(`${folder}/app`, { mode: 0o555 });
    const crons = new CronSocket(`${folder}/cron.sock`);
    try {
      const process = await Process.startIn(`${folder}/app`, {
        DENO_DEPLOY: "1",
        DENO_KV_REQUIRES_DISTRIBUTED_DATABASE: "error",
        DENO_SERVE_ADDRESS: `unix:${folder}/serve.sock`,
        DENO_UNSTABLE_CRON_SOCK: `unix:${folder}/cron.sock`,
        ...settings,
      });
      const instance = new PlatformInstance(folder, process, crons);
      // The platform refuses crons that are registered once it serves.
      await Promise.race([crons.reject(), instance.ended]);
      return instance;
    } catch (error) {
      await crons.close();
      await Deno.remove(folder, { recursive: true });
      throw error;
    }
  }

  /** Text of standard output and standard error so far. */
  get output(): string {
    return this.#process.stdout + this.#process.stderr;
  }

  /** Files that it has made in its working directory. */
  get files(): string[] {
    return Array.from(Deno.readDirSync(`${this.#folder}/app`), ({ name }) => name);
  }

  /** Maximum resident size in megabytes, as of its end. */
  get peakMb(): number {
    return this.#peakMb;
  }

  async fetch(path: string, init: RequestInit = {}): Promise<Response> {
    this.active++;
    try {
      return await fetch(`http://app${path}`, { ...init, client: this.#client });
    } finally {
      this.active--;
    }
  }

  /** Runs a cron; returns whether its handler succeeded, false if the instance ended meanwhile. */
  async cron(name: string): Promise<boolean> {
    this.active++;
    try {
      return await Promise.race([this.#crons.invoke(name), this.ended.then(() => false)]);
    } finally {
      this.active--;
    }
  }

  /** Sends a signal, and SIGKILL if the instance does not end in time. */
  async stop(signal: "SIGINT" | "SIGKILL"): Promise<Ended> {
    const startedMs = performance.now();
    this.#peakMb = peakMbOf(this.#process.pid) ?? this.#peakMb;
    this.#process.signal(signal);
    const timer = setTimeout(() => this.#process.signal("SIGKILL"), KILLED_MS);
    return await this.#process.ended(startedMs).finally(() => clearTimeout(timer));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop("SIGKILL");
    await this.ended;
    await Deno.remove(this.#folder, { recursive: true });
  }

  async #end(): Promise<void> {
    await this.#process.ended();
    await this.#crons.close();
    this.#client.close();
  }
}

/** The runtime's connection for its crons. */
class CronSocket {
  readonly names: string[] = [];
  readonly #listener: Deno.UnixListener;
  /** Resolves when the connection has ended. */
  readonly #done: Promise<void>;
  readonly #connected = Promise.withResolvers<WritableStreamDefaultWriter<Uint8Array>>();
  readonly #acknowledged = Promise.withResolvers<void>();
  readonly #results = new Map<string, (success: boolean) => void>();

  constructor(path: string) {
    this.#listener = Deno.listen({ transport: "unix", path });
    this.#done = this.#read();
  }

  /** Stops listening; resolves when the connection has ended. */
  async close(): Promise<void> {
    this.#listener.close();
    await this.#done;
  }

  /** Refuses crons that are registered from now on; resolves when the runtime knows. */
  async reject(): Promise<void> {
    await this.#send({ kind: "reject-new-crons", reason: "the instance serves" });
    await this.#acknowledged.promise;
  }

  async invoke(name: string): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#results.set(name, resolve);
    await this.#send({ kind: "invoke", name });
    return await promise;
  }

  async #send(message: unknown): Promise<void> {
    const line = new TextEncoder().encode(`${JSON.stringify(message)}\n`);
    // The instance may have been killed.
    await (await this.#connected.promise).write(line).catch(() => {});
  }

  async #read(): Promise<void> {
    const connection = await this.#listener.accept().catch(() => null);
    if (connection === null) return;
    this.#connected.resolve(connection.writable.getWriter());
    let rest = "";
    try {
      for await (const part of connection.readable.pipeThrough(new TextDecoderStream())) {
        const lines = (rest + part).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) this.#receive(JSON.parse(line));
      }
    } catch {
      // The instance was killed.
    }
  }

  #receive(message: CronMessage): void {
    switch (message.kind) {
      case "register":
        return void this.names.push(...message.crons.map(({ name }) => name));
      case "result":
        return this.#results.get(message.name)?.(message.success);
      case "reject-ack":
        return this.#acknowledged.resolve();
    }
  }
}

/** Returns the maximum resident size of a process in megabytes; null where it is not known. */
function peakMbOf(pid: number): number | null {
  try {
    const status = Deno.readTextFileSync(`/proc/${pid}/status`);
    const kb = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1];
    return kb === undefined ? null : Number(kb) / 1_024;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}
