/**
 * A KV server in a process of its own, over a file: it survives `kill -9` and a restart.
 *
 * It is the real `denokv` where that is installed, otherwise its engine from npm.
 */
import { KV_TOKEN } from "./kv_client.ts";
import { isInstalled } from "../harness/commands.ts";
import { Output } from "../harness/output.ts";

const ROOT = new URL("../../../", import.meta.url).pathname;

/** Maximum milliseconds of a start; far more than it takes. */
const START_MS_MAX = 20_000;
const POLL_MS = 20;

/** Attempts of a start. */
const STARTS_MAX = 3;

/** Returns the command of `denokv`: the variable `DENOKV`, or the one on the path; null if absent. */
export function denokvCommand(): string | null {
  const command = Deno.env.get("DENOKV") ?? "denokv";
  return command !== "" && isInstalled(command) ? command : null;
}

/** A running KV server. Always `await using`. */
export class KvProcess implements AsyncDisposable {
  /** Address of the process; a restart changes it. */
  origin = "";
  kills = 0;
  readonly #folder: string | null;
  readonly #denokv: string | null;
  #child: Deno.ChildProcess | null = null;
  /** Resolves when the pipes of a process that has ended are closed. */
  #closed: Promise<unknown> = Promise.resolve();

  private constructor(folder: string | null, denokv: string | null) {
    this.#folder = folder;
    this.#denokv = denokv;
  }

  /** Starts a server with its file in a folder; the engine from npm needs none. */
  static async start(folder: string | null, denokv: string | null): Promise<KvProcess> {
    const server = new KvProcess(folder, denokv);
    await server.start();
    return server;
  }

  get name(): string {
    return this.#denokv === null ? "the engine from npm" : "denokv";
  }

  /** Id of the process; a restart changes it. */
  get pid(): number {
    return this.#child?.pid ?? NaN;
  }

  get path(): string {
    return this.#denokv === null ? "/db/test" : "/";
  }

  /** URL of the database; a restart changes it. */
  get url(): string {
    return `${this.origin}${this.path}`;
  }

  /** Starts the process again. Another process may take the port of `denokv` before it does. */
  async start(): Promise<void> {
    if (this.#denokv === null) return await this.#startEngine();
    const command = this.#denokv;
    for (let attempt = 1; !await this.#startOnce(command, attempt === STARTS_MAX); attempt++);
  }

  async #startEngine(): Promise<void> {
    const program = new URL("kv_engine.ts", import.meta.url).pathname;
    const lock = "--lock=tests/packages/development.lock";
    const files = this.#folder === null ? [] : [this.#folder];
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "--frozen", lock, "--no-prompt", "-A", program, ...files],
      cwd: ROOT,
      // It ends with this process, which ends its input.
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const stdout = new Output(child.stdout);
    const ended = child.status.then(() => child.stdin.close().catch(() => {}));
    [this.#child, this.#closed] = [child, Promise.all([ended, stdout.done])];
    const [origin] = await stdout.match(/http:\S+(?=\n)/) ?? [];
    if (origin === undefined) throw new Error("The engine from npm does not start");
    this.origin = origin;
  }

  /** Starts `denokv`; returns false if it ended at once, unless this is the last attempt. */
  async #startOnce(command: string, isLast: boolean): Promise<boolean> {
    const port = freePort();
    this.origin = `http://127.0.0.1:${port}`;
    // The options of docs/SHARED_KV.md.
    const serve = ["serve", "--addr", `127.0.0.1:${port}`, "--num-workers", "4"];
    const child = new Deno.Command(command, {
      args: ["--sqlite-path", `${this.#folder}/denokv.sqlite`, ...serve],
      cwd: ROOT,
      env: { DENO_KV_ACCESS_TOKEN: KV_TOKEN },
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    const stderr = new Output(child.stderr);
    [this.#child, this.#closed] = [child, stderr.done];
    let hasEnded = false;
    child.status.then(() => hasEnded = true);
    const endMs = performance.now() + START_MS_MAX;
    while (hasEnded || !await this.#answers()) {
      if (hasEnded && !isLast) return false;
      if (hasEnded || performance.now() > endMs) {
        await this.kill();
        throw new Error(`The KV server does not answer: ${stderr.text}`);
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    return true;
  }

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
    await this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
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
