/**
 * A KV server in a process of its own, over a file: it survives `kill -9` and a restart.
 *
 * It is the real `denokv` where that is installed, otherwise the {@link KvServer} as a program.
 */
import { KV_TOKEN } from "./kv_client.ts";
import { isInstalled, Output } from "../harness/output.ts";

const ROOT = new URL("../../../", import.meta.url).pathname;

/** Maximum milliseconds of a start; far more than it takes. */
const START_MS_MAX = 20_000;
const POLL_MS = 20;

/** Attempts of a start. */
const STARTS_MAX = 3;

/** Returns the command of `denokv`: the variable `DENOKV`, or the one on the path; null if absent. */
export async function denokvCommand(): Promise<string | null> {
  const command = Deno.env.get("DENOKV") ?? "denokv";
  return command !== "" && await isInstalled(command, "--help") ? command : null;
}

/** A running KV server. Always `await using`. */
export class KvProcess implements AsyncDisposable {
  /** Address of the process; a restart changes it. */
  origin = "";
  /** Number of sudden ends. */
  kills = 0;
  readonly #folder: string;
  readonly #denokv: string | null;
  #child: Deno.ChildProcess | null = null;

  private constructor(folder: string, denokv: string | null) {
    this.#folder = folder;
    this.#denokv = denokv;
  }

  /** Starts a server with its file in a folder. */
  static async start(folder: string, denokv: string | null): Promise<KvProcess> {
    const server = new KvProcess(folder, denokv);
    await server.start();
    return server;
  }

  /** Name of the server for reports. */
  get name(): string {
    return this.#denokv === null ? "the engine from npm" : "denokv";
  }

  /** Id of the process; a restart changes it. */
  get pid(): number {
    return this.#child?.pid ?? NaN;
  }

  /** Path of the database on the server. */
  get path(): string {
    return this.#denokv === null ? "/db/test" : "/";
  }

  /** URL of the database; a restart changes it. */
  get url(): string {
    return `${this.origin}${this.path}`;
  }

  /** Starts the process again. Another process may take its port before it does. */
  async start(): Promise<void> {
    for (let attempt = 1; !await this.#startOnce(attempt === STARTS_MAX); attempt++);
  }

  /** Starts the process; returns false if it ended at once, unless this is the last attempt. */
  async #startOnce(isLast: boolean): Promise<boolean> {
    const port = freePort();
    this.origin = `http://127.0.0.1:${port}`;
    const child = this.#spawn(port);
    this.#child = child;
    const stderr = new Output(child.stderr);
    let hasEnded = false;
    child.status.then(() => hasEnded = true);
    const endMs = performance.now() + START_MS_MAX;
    while (hasEnded || !await this.#answers()) {
      if (hasEnded && !isLast) return false;
      if (hasEnded || performance.now() > endMs) {
        await this.kill();
        await stderr.done;
        throw new Error(`The KV server does not answer: ${stderr.text}`);
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    return true;
  }

  /** Kills the process with `kill -9`. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === null) return;
    this.#child = null;
    this.kills++;
    try {
      child.kill("SIGKILL");
    } catch (error) {
      // It has ended.
      if (!(error instanceof TypeError)) throw error;
    }
    await child.status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  #spawn(port: number): Deno.ChildProcess {
    const options = { cwd: ROOT, stdin: "null", stdout: "null", stderr: "piped" } as const;
    if (this.#denokv !== null) {
      const file = `${this.#folder}/denokv.sqlite`;
      // The options of docs/SHARED_KV.md.
      const serve = ["serve", "--addr", `127.0.0.1:${port}`, "--num-workers", "4"];
      const args = ["--sqlite-path", file, ...serve];
      const env = { DENO_KV_ACCESS_TOKEN: KV_TOKEN };
      return new Deno.Command(this.#denokv, { ...options, args, env }).spawn();
    }
    const program = new URL("kv_server.ts", import.meta.url).pathname;
    const lock = "--lock=tests/packages/development.lock";
    const args = ["run", "--frozen", lock, "-A", program, this.#folder, String(port)];
    return new Deno.Command(Deno.execPath(), { ...options, args }).spawn();
  }

  async #answers(): Promise<boolean> {
    try {
      const response = await fetch(this.url, {
        method: "POST",
        headers: { Authorization: `Bearer ${KV_TOKEN}`, "Content-Type": "application/json" },
        body: JSON.stringify({ supportedVersions: [1, 2, 3] }),
      });
      await response.body?.cancel();
      return response.ok;
    } catch (error) {
      if (error instanceof TypeError) return false;
      throw error;
    }
  }
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return (listener.addr as Deno.NetAddr).port;
}
