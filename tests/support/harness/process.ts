/** The real program in a separate process, started and stopped as an operator does. */
import { Output } from "./output.ts";

const ROOT = new URL("../../../", import.meta.url).pathname;
const ARGS = ["run", "--frozen", "--no-prompt", "-N", "-E", "-R", "-W", "main.ts"];

/** Settings of a process; `undefined` removes one from the environment. */
export type Settings = Readonly<Record<string, string | undefined>>;

/** Result of an ended process. */
export interface Ended {
  readonly code: number;
  readonly signal: string | null;
  readonly stderr: string;
  readonly stdout: string;
  /** Milliseconds from the signal that stopped it, or from its start. */
  readonly ms: number;
}

/** Command that precedes the program's own command line. */
export type Launcher = readonly string[];

function spawn(
  settings: Settings,
  flags: readonly string[],
  launcher: Launcher = [],
): Deno.ChildProcess {
  return spawnCommand(settings, [...launcher, Deno.execPath(), ...ARGS, ...flags]);
}

function spawnCommand(
  settings: Settings,
  [command = "", ...args]: readonly string[],
  cwd = ROOT,
): Deno.ChildProcess {
  const inherited = Object.entries(Deno.env.toObject())
    .filter(([name]) => !/^(HOST$|PORT$|DENO_KV_|RUNLEDGER_)/.test(name));
  const configured = Object.entries({ PORT: "0", ...settings })
    .filter((entry): entry is [string, string] => entry[1] !== undefined);
  return new Deno.Command(command, {
    args,
    cwd,
    clearEnv: true,
    env: { ...Object.fromEntries(inherited), NO_COLOR: "1", ...Object.fromEntries(configured) },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

/** Runs the program when it is expected to end on its own. */
export async function runToEnd(settings: Settings, ...flags: string[]): Promise<Ended> {
  const startedMs = performance.now();
  const child = spawn(settings, flags);
  const { code, signal, stdout, stderr } = await child.output();
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  const ms = performance.now() - startedMs;
  return { code, signal, stdout: decode(stdout), stderr: decode(stderr), ms };
}

/** A running program. Always `await using`. */
export class Process implements AsyncDisposable {
  readonly url: string;
  readonly #child: Deno.ChildProcess;
  readonly #stdout: Output;
  readonly #stderr: Output;
  #ended = false;

  private constructor(child: Deno.ChildProcess, stdout: Output, stderr: Output, url: string) {
    this.#child = child;
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.url = url;
  }

  /** Starts the program and waits until it reports its address. */
  static start(settings: Settings, ...flags: string[]): Promise<Process> {
    return Process.#listening(spawn(settings, flags));
  }

  /** Starts it through another command, which must exec the program. */
  static startBy(launcher: Launcher, settings: Settings): Promise<Process> {
    return Process.#listening(spawn(settings, [], launcher));
  }

  /** Starts it without flags of its own in a folder, where it can write nothing. */
  static startIn(folder: string, settings: Settings): Promise<Process> {
    const flags = [`--config=${ROOT}deno.json`, "-A", `--deny-write=${folder},${ROOT}`];
    const command = [Deno.execPath(), "run", "--frozen", "--no-prompt", ...flags, `${ROOT}main.ts`];
    return Process.#listening(spawnCommand({ PORT: undefined, ...settings }, command, folder));
  }

  /** Starts it through `deno task`, as a newcomer does. */
  static startTask(task: string, settings: Settings): Promise<Process> {
    return Process.#listening(spawnCommand(settings, [Deno.execPath(), "task", "--quiet", task]));
  }

  /** Starts it and passes each log line to `onLine` instead of keeping it, for very many calls. */
  static startLogging(settings: Settings, onLine: (line: string) => void): Promise<Process> {
    return Process.#listening(spawn(settings, []), onLine);
  }

  static async #listening(
    child: Deno.ChildProcess,
    onLine?: (line: string) => void,
  ): Promise<Process> {
    const stdout = onLine === undefined
      ? new Output(child.stdout)
      : new Output(forwardLines(child.stdout, onLine));
    const stderr = new Output(child.stderr);
    const listens = await stderr.match(/listens on ((?:http:\/\/|unix:)\S+?),.*\n/);
    if (listens === null) {
      await Promise.all([child.status, stdout.done, stderr.done]);
      throw new Error(`The program did not start:\n${stderr.text}`);
    }
    return new Process(child, stdout, stderr, listens[1] ?? "");
  }

  get pid(): number {
    return this.#child.pid;
  }

  get stderr(): string {
    return this.#stderr.text;
  }

  get stdout(): string {
    return this.#stdout.text;
  }

  /** Waits for a text on stdout, which has the request log. */
  async logs(pattern: RegExp): Promise<RegExpExecArray | null> {
    return await this.#stdout.match(pattern);
  }

  /** Waits for a text on stderr. */
  async says(pattern: RegExp): Promise<RegExpExecArray | null> {
    return await this.#stderr.match(pattern);
  }

  /** Sends a signal without waiting for its effect; does nothing if the program has ended. */
  signal(signal: Deno.Signal): void {
    try {
      this.#child.kill(signal);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
  }

  async stop(signal: Deno.Signal = "SIGTERM"): Promise<Ended> {
    const startedMs = performance.now();
    if (!this.#ended) this.#child.kill(signal);
    return await this.ended(startedMs);
  }

  async ended(sinceMs: number = performance.now()): Promise<Ended> {
    const status = await this.#child.status;
    const ms = performance.now() - sinceMs;
    this.#ended = true;
    await Promise.all([this.#stdout.done, this.#stderr.done]);
    return {
      code: status.code,
      signal: status.signal,
      stdout: this.stdout,
      stderr: this.stderr,
      ms,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#ended) await this.stop("SIGKILL");
  }
}

/** Returns a stream that passes each of its lines on and keeps none. */
function forwardLines(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  onLine: (line: string) => void,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const decoder = new TextDecoder();
  let remainder = "";
  return stream.pipeThrough(
    new TransformStream({
      transform(part) {
        const lines = (remainder + decoder.decode(part, { stream: true })).split("\n");
        remainder = lines.pop() ?? "";
        lines.forEach(onLine);
      },
    }),
  );
}
