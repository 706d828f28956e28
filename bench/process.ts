/** Processes of a benchmark: starting and ending them, and what the system knows of them. */

const live = new Set<Deno.ChildProcess>();

/** Arguments of Deno for the service: memory grows as little under load as in `deno task start`. */
export function denoArguments(...args: readonly string[]): string[] {
  return ["run", "--frozen", "--no-prompt", "--v8-flags=--heap-growing-percent=60", ...args];
}

/** Starts a process; however the benchmark ends, {@link endAll} ends it. */
export function spawn(
  command: string,
  args: readonly string[],
  options: Pick<Deno.CommandOptions, "cwd" | "env" | "stdout">,
): Deno.ChildProcess {
  const child = new Deno.Command(command, {
    ...options,
    args: [...args],
    stdin: "null",
    stderr: "piped",
  }).spawn();
  live.add(child);
  child.status.finally(() => live.delete(child));
  return child;
}

/** Runs a process to its end; fails with what it wrote on stderr. */
export async function run(command: string, ...args: string[]): Promise<Deno.CommandOutput> {
  const output = await spawn(command, args, { stdout: "piped" }).output();
  if (output.success) return output;
  throw new Error(`${command} failed: ${new TextDecoder().decode(output.stderr).trim()}`);
}

/** Checks that a program can be started. */
export async function isInstalled(program: string, versionFlag: string): Promise<boolean> {
  try {
    // Its exit code says nothing: wrk leaves with 1 after printing its version.
    await new Deno.Command(program, { args: [versionFlag], stdout: "null", stderr: "null" })
      .output();
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Ends a process and waits until it is gone. */
export async function end(child: Deno.ChildProcess): Promise<void> {
  if (live.has(child)) child.kill("SIGKILL");
  await child.status;
}

/** Ends all processes, however far they are. */
export async function endAll(): Promise<void> {
  await Promise.all([...live].map(end));
}

/** Collects what a process writes, so that its pipe never fills up. */
export class Output {
  text = "";
  readonly done: Promise<void>;
  #searches: {
    readonly pattern: RegExp;
    readonly resolve: (match: RegExpExecArray | null) => void;
  }[] = [];

  constructor(stream: ReadableStream<Uint8Array<ArrayBuffer>>) {
    this.done = this.#collect(stream);
  }

  /** The first match once it was written; null when the stream ends without it. */
  match(pattern: RegExp): Promise<RegExpExecArray | null> {
    const { promise, resolve } = Promise.withResolvers<RegExpExecArray | null>();
    this.#searches.push({ pattern, resolve });
    this.#search();
    return Promise.race([promise, this.done.then(() => pattern.exec(this.text))]);
  }

  #search(): void {
    this.#searches = this.#searches.filter(({ pattern, resolve }) => {
      const match = pattern.exec(this.text);
      if (match !== null) resolve(match);
      return match === null;
    });
  }

  async #collect(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
    for await (const part of stream.pipeThrough(new TextDecoderStream())) {
      this.text += part;
      this.#search();
    }
  }
}

/** CPU time of a process since its start, and its memory now. */
export interface Usage {
  readonly cpuSeconds: number;
  readonly rssMb: number;
}

/** Clock ticks a second in `/proc`, a constant of the kernel's interface. */
const TICKS = 100;

/** Reads what a process has used; null where the system does not show it: only Linux does. */
export async function usageOf(pid: number): Promise<Usage | null> {
  try {
    const [stat, status] = await Promise.all([
      Deno.readTextFile(`/proc/${pid}/stat`),
      Deno.readTextFile(`/proc/${pid}/status`),
    ]);
    return parseUsage(stat, status);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

/** Reads `/proc/PID/stat` and `/proc/PID/status`. */
export function parseUsage(stat: string, status: string): Usage {
  // The second field is the program's name in parentheses and may hold spaces.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [user, system] = [Number(fields[11]), Number(fields[12])];
  const rssKb = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]);
  return { cpuSeconds: (user + system) / TICKS, rssMb: rssKb / 1024 };
}

/** Milliseconds between two checks of a process, and the CPU time that still counts as idle. */
const CHECK = { everyMs: 100, idleSeconds: 0.01 } as const;

/** Waits until a process has nothing left to do, such as a queue or a checkpoint. */
export async function untilIdle(pid: number, limitMs: number): Promise<void> {
  const endMs = performance.now() + limitMs;
  let before = await usageOf(pid);
  while (before !== null && performance.now() < endMs) {
    await new Promise((resolve) => setTimeout(resolve, CHECK.everyMs));
    const after = await usageOf(pid);
    if (after === null || after.cpuSeconds - before.cpuSeconds <= CHECK.idleSeconds) return;
    before = after;
  }
}

/** Describes the machine in one line: absolute numbers mean nothing without it. */
export async function describeMachine(folder: string): Promise<string> {
  const read = (path: string) => Deno.readTextFile(path).catch(() => "");
  const model = /^model name\s*:\s*(.+)$/m.exec(await read("/proc/cpuinfo"))?.[1];
  const fileSystem = fileSystemOf(folder, await read("/proc/mounts"));
  return [
    `${navigator.hardwareConcurrency} cores`,
    model ?? Deno.build.arch,
    ...(fileSystem === null ? [] : [`files on ${fileSystem}`]),
    `Deno ${Deno.version.deno}`,
    new Date().toISOString().slice(0, 10),
    `load at start ${Deno.loadavg()[0]?.toFixed(1)}`,
  ].join(", ");
}

/** The kind of file system a folder is on, by the list of mounts; null when it does not say. */
export function fileSystemOf(folder: string, mounts: string): string | null {
  let best = { point: "", kind: "" };
  for (const line of mounts.split("\n")) {
    const [, point = "", kind = ""] = line.split(" ");
    const holds = point !== "" && `${folder}/`.startsWith(point === "/" ? "/" : `${point}/`);
    if (holds && point.length >= best.point.length) best = { point, kind };
  }
  return best.kind || null;
}
