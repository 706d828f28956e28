/** Starts, ends and monitors the processes of a benchmark. */

const live = new Set<Deno.ChildProcess>();

/** Arguments of Deno for the service, with the memory options of `deno task start`. */
export function denoArguments(...args: readonly string[]): string[] {
  return [
    "run",
    "--frozen",
    "--no-prompt",
    "--v8-flags=--heap-growing-percent=60,--max-semi-space-size=8",
    ...args,
  ];
}

/** Starts a process; {@link endAll} ends it, however the benchmark ends. */
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

/** Runs a process to its end; throws with its stderr if it fails. */
export async function run(command: string, ...args: string[]): Promise<Deno.CommandOutput> {
  const output = await spawn(command, args, { stdout: "piped" }).output();
  if (output.success) return output;
  throw new Error(`${command} failed: ${new TextDecoder().decode(output.stderr).trim()}`);
}

/** Returns whether a program can be started. */
export async function isInstalled(program: string, versionFlag: string): Promise<boolean> {
  try {
    // The exit code is ignored: wrk exits with 1 after printing its version.
    await new Deno.Command(program, { args: [versionFlag], stdout: "null", stderr: "null" })
      .output();
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Ends a process and waits for its exit. */
export async function end(child: Deno.ChildProcess): Promise<void> {
  if (live.has(child)) child.kill("SIGKILL");
  await child.status;
}

/** Ends all processes. */
export async function endAll(): Promise<void> {
  await Promise.all([...live].map(end));
}

/** Collects the output of a process, so that its pipe never fills up. */
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

  /** Resolves to the first match; null if the stream ends without one. */
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

/** CPU time of a process since its start, and its current memory. */
export interface Usage {
  readonly cpuSeconds: number;
  readonly rssMb: number;
}

/** Clock ticks a second in `/proc`, a constant of the kernel's interface. */
const TICKS = 100;

/** Reads the usage of a process; null on systems other than Linux. */
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

/** Parses `/proc/PID/stat` and `/proc/PID/status`. */
export function parseUsage(stat: string, status: string): Usage {
  // The second field is the program's name in parentheses and may hold spaces.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [user, system] = [Number(fields[11]), Number(fields[12])];
  const rssKb = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]);
  return { cpuSeconds: (user + system) / TICKS, rssMb: rssKb / 1024 };
}

/** Idle checks: their interval, the CPU time in it that counts as idle, and their number in a row. */
const CHECK = { everyMs: 100, idleSeconds: 0.01, count: 4 } as const;

/** Maximum wait for a process to become idle. */
const IDLE_LIMIT_MS = 120_000;

/** Waits until a process is idle, without background work or a checkpoint; its worker may rest. */
export async function untilIdle(pid: number): Promise<void> {
  const endMs = performance.now() + IDLE_LIMIT_MS;
  let before = await usageOf(pid);
  for (let idle = 0; before !== null && idle < CHECK.count && performance.now() < endMs;) {
    await new Promise((resolve) => setTimeout(resolve, CHECK.everyMs));
    const after = await usageOf(pid);
    const seconds = (after?.cpuSeconds ?? 0) - before.cpuSeconds;
    idle = seconds <= CHECK.idleSeconds ? idle + 1 : 0;
    before = after;
  }
}

/** Describes the machine in one line: absolute numbers depend on it. */
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

/** Returns the file system of a folder from the list of mounts; null if unknown. */
export function fileSystemOf(folder: string, mounts: string): string | null {
  let best = { point: "", kind: "" };
  for (const line of mounts.split("\n")) {
    const [, point = "", kind = ""] = line.split(" ");
    const holds = point !== "" && `${folder}/`.startsWith(point === "/" ? "/" : `${point}/`);
    if (holds && point.length >= best.point.length) best = { point, kind };
  }
  return best.kind || null;
}
