/** An instance of the program as Deno Deploy runs it: its environment, sockets and crons. */
import { Output } from "../harness/output.ts";
import type { Settings } from "../harness/process.ts";

const ROOT = new URL("../../../", import.meta.url).pathname;

/** Milliseconds from SIGINT to SIGKILL. */
const KILLED_MS = 5_000;

/** Maximum milliseconds of a start; far more than it takes. */
const STARTED_MS_MAX = 30_000;

/** Milliseconds between attempts to connect to an instance that does not listen yet. */
const CONNECT_EVERY_MS = 5;

/** End of an instance. */
export interface InstanceEnd {
  readonly code: number;
  readonly signal: string | null;
  /** Milliseconds from the signal to the end; null if the instance ended by itself. */
  readonly ms: number | null;
}

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
  readonly crons: string[] = [];
  readonly #folder: string;
  readonly #child: Deno.ChildProcess;
  readonly #outputs: readonly Output[];
  readonly #client: Deno.HttpClient;
  readonly #crons: CronSocket;
  readonly #listener: Deno.UnixListener;
  #signalledMs: number | null = null;
  /** Resolves when the process has ended. */
  readonly ended: Promise<InstanceEnd>;
  #peakMb = 0;

  private constructor(folder: string, settings: Settings) {
    this.#folder = folder;
    const [serve, cron] = [`${folder}/serve.sock`, `${folder}/cron.sock`];
    this.#listener = Deno.listen({ transport: "unix", path: cron });
    this.#crons = new CronSocket(this.#listener, this.crons);
    this.#child = spawn(folder, {
      DENO_DEPLOY: "1",
      DENO_KV_REQUIRES_DISTRIBUTED_DATABASE: "error",
      DENO_SERVE_ADDRESS: `unix:${serve}`,
      DENO_UNSTABLE_CRON_SOCK: `unix:${cron}`,
      ...settings,
    });
    this.#outputs = [new Output(this.#child.stdout), new Output(this.#child.stderr)];
    this.#client = Deno.createHttpClient({ proxy: { transport: "unix", path: serve } });
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
    const instance = new PlatformInstance(folder, settings);
    await instance.#serves().catch(async (error) => {
      await instance.stop("SIGKILL");
      throw error;
    });
    return instance;
  }

  /** Text of standard output and standard error so far. */
  get output(): string {
    return this.#outputs.map(({ text }) => text).join("");
  }

  /** Files that it has made in its working directory. */
  get files(): string[] {
    return Array.from(Deno.readDirSync(`${this.#folder}/app`), ({ name }) => name);
  }

  /** Maximum resident size in megabytes, as of its end. */
  get peakMb(): number {
    return this.#peakMb;
  }

  /** Sends a request. */
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
  async stop(signal: "SIGINT" | "SIGKILL"): Promise<InstanceEnd> {
    this.#peakMb = peakMbOf(this.#child.pid) ?? this.#peakMb;
    this.#signal(signal);
    const timer = setTimeout(() => this.#signal("SIGKILL"), KILLED_MS);
    return await this.ended.finally(() => clearTimeout(timer));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop("SIGKILL");
    await Deno.remove(this.#folder, { recursive: true });
  }

  #signal(signal: Deno.Signal): void {
    this.#signalledMs ??= performance.now();
    try {
      this.#child.kill(signal);
    } catch (error) {
      // It has ended.
      if (!(error instanceof TypeError)) throw error;
    }
  }

  async #end(): Promise<InstanceEnd> {
    const { code, signal } = await this.#child.status;
    const ms = this.#signalledMs === null ? null : performance.now() - this.#signalledMs;
    await Promise.all(this.#outputs.map(({ done }) => done));
    this.#listener.close();
    await this.#crons.done;
    this.#client.close();
    return { code, signal, ms };
  }

  /** Waits until it listens; then refuses further crons, as the platform does. */
  async #serves(): Promise<void> {
    let isOver = false;
    const over = Promise.withResolvers<never>();
    const fail = (why: string) => {
      isOver = true;
      over.reject(new Error(`The instance ${why}:\n${this.output}`));
    };
    const timer = setTimeout(fail, STARTED_MS_MAX, "does not start");
    void this.ended.then(() => fail("has ended"));
    over.promise.catch(() => {});
    try {
      while (!await listens(`${this.#folder}/serve.sock`)) {
        if (isOver) await over.promise;
        await new Promise((resolve) => setTimeout(resolve, CONNECT_EVERY_MS));
      }
      await Promise.race([this.#crons.reject(), over.promise]);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** The runtime's connection for its crons. */
class CronSocket {
  /** Resolves when the connection has ended. */
  readonly done: Promise<void>;
  readonly #connected = Promise.withResolvers<WritableStreamDefaultWriter<Uint8Array>>();
  readonly #acknowledged = Promise.withResolvers<void>();
  readonly #results = new Map<string, (success: boolean) => void>();

  constructor(listener: Deno.UnixListener, readonly names: string[]) {
    this.done = this.#read(listener);
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

  async #read(listener: Deno.UnixListener): Promise<void> {
    const connection = await listener.accept().catch(() => null);
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

/** Starts the program without flags of its own, in a folder where it can write nothing. */
function spawn(folder: string, settings: Settings): Deno.ChildProcess {
  const inherited = Object.entries(Deno.env.toObject())
    .filter(([name]) => !/^(HOST|PORT|DENO_KV_.*|RUNLEDGER_.*)$/.test(name));
  const configured = Object.entries(settings)
    .filter((entry): entry is [string, string] => entry[1] !== undefined);
  return new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--frozen",
      "--no-prompt",
      `--config=${ROOT}deno.json`,
      "-A",
      `--deny-write=${folder}/app,${ROOT}`,
      `${ROOT}main.ts`,
    ],
    cwd: `${folder}/app`,
    clearEnv: true,
    env: { ...Object.fromEntries([...inherited, ...configured]), NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

async function listens(path: string): Promise<boolean> {
  try {
    (await Deno.connect({ transport: "unix", path })).close();
    return true;
  } catch {
    return false;
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
