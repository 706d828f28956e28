/** Servers under load, each in a process of its own, and the use of the machine by processes. */
import { KV_TOKEN } from "../tests/support/fakes/kv_client.ts";
import { Output } from "../tests/support/harness/output.ts";
import { keyOf, OPERATOR_KEY, type SideKind } from "./service.ts";

const ROOT = new URL("..", import.meta.url).pathname;

/** Returns the command of Deno with the options for V8 of a checkout's `deno task start`. */
async function denoOf(checkout: string): Promise<readonly string[]> {
  const flags = /--v8-flags=\S+/.exec(await Deno.readTextFile(`${checkout}/deno.json`))?.[0];
  if (flags === undefined) throw new Error(`${checkout}/deno.json has no options for V8`);
  return [Deno.execPath(), "run", "--frozen", "--no-prompt", flags];
}

const live = new Set<Deno.ChildProcess>();

/** A running server. Use it with `await using`. */
export interface Side extends AsyncDisposable {
  /** Kind of its store, or its checkout. */
  readonly kind: string;
  readonly url: string;
  readonly pid: number;
  /** Calls for which the server is warmed up. */
  readonly warm: Set<string>;
}

/** Starts the complete service of this or another checkout over a file or a shared KV. */
export async function startService(store: string, cwd = ROOT): Promise<Side> {
  const env = {
    PORT: "0",
    RUNLEDGER_KV: store,
    RUNLEDGER_KEY: keyOf(1),
    RUNLEDGER_OPERATOR_KEY: OPERATOR_KEY,
    RUNLEDGER_TIER: "enterprise",
  };
  const command = [...await denoOf(cwd), "-N", "-E", "-R", "-W", "main.ts"];
  return await start(cwd, command, cwd, env);
}

/**
 * Starts `service.ts` as a program over a file or a shared KV.
 *
 * @param traceTo file that receives a line for each sync to disk; needs strace
 */
export async function startSide(kind: SideKind, store: string, traceTo?: string): Promise<Side> {
  // The kernel filter stops the server only at syncs. With `-D` the server stays a direct child of
  // this process, and ending it ends strace.
  const which = ["-e", "trace=fsync,fdatasync", "-e", "signal=none"];
  const strace = traceTo === undefined
    ? []
    : ["strace", "-D", "-f", "--seccomp-bpf", "-qq", ...which, "-o", traceTo];
  const command = [...strace, ...await denoOf(ROOT), "-A", "bench/service.ts", kind, store];
  return await start(kind, command);
}

/** Starts a server and waits until it prints its address. */
async function start(
  kind: string,
  [command = "", ...args]: readonly string[],
  cwd = ROOT,
  settings: Readonly<Record<string, string>> = {},
): Promise<Side> {
  const env = { ...settings, NO_COLOR: "1", DENO_KV_ACCESS_TOKEN: KV_TOKEN };
  const io = { stdin: "null", stdout: "null", stderr: "piped" } as const;
  const child = new Deno.Command(command, { args, cwd, env, ...io }).spawn();
  live.add(child);
  child.status.finally(() => live.delete(child));
  const output = new Output(child.stderr);
  const end = async () => {
    if (live.has(child)) child.kill("SIGKILL");
    await Promise.all([child.status, output.done]);
  };
  const url = (await output.match(/(http:\/\/[\d.:]+)[,\n]/))?.[1];
  if (url !== undefined) {
    return { kind, url, pid: child.pid, warm: new Set(), [Symbol.asyncDispose]: end };
  }
  await end();
  throw new Error(`The server "${kind}" did not start:\n${output.text}`);
}

/** Ends all servers. */
export function endAll(): void {
  for (const child of live) child.kill("SIGKILL");
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
  const cpus = await Deno.readTextFile("/proc/cpuinfo").catch(() => "");
  const fileSystem = await outputOf("stat", "-f", "-c", "%T", folder);
  return [
    `${navigator.hardwareConcurrency} cores`,
    /^model name\s*:\s*(.+)$/m.exec(cpus)?.[1] ?? Deno.build.arch,
    `files on ${fileSystem.trim() || "an unknown file system"}`,
    `Deno ${Deno.version.deno}`,
    new Date().toISOString().slice(0, 10),
    `load at start ${Deno.loadavg()[0]?.toFixed(1)}`,
  ].join(", ");
}

/** Returns what a program prints; nothing if it is not there. */
export async function outputOf(program: string, ...args: string[]): Promise<string> {
  const command = new Deno.Command(program, { args, stderr: "null" });
  return await command.output().then(({ stdout }) => new TextDecoder().decode(stdout), () => "");
}
