/** Servers under load, each in a separate process. */
import { hasWorker, keyOf, type SideKind } from "./service.ts";
import { denoArguments, end, Output, spawn } from "./process.ts";

const HERE = new URL("..", import.meta.url).pathname;

/** A running server. Use it with `await using`. */
export interface Side extends AsyncDisposable {
  /** Kind of its store, or its checkout. */
  readonly kind: string;
  /** False if nothing aggregates the calls. */
  readonly hasWorker: boolean;
  readonly url: string;
  readonly pid: number;
  /** Calls for which the server is warmed up. */
  readonly warm: Set<string>;
}

/**
 * Starts a server over a file.
 *
 * @param teams number of teams, each with its own key
 * @param traceTo file that receives a line for each sync to disk; needs strace
 */
export async function startSide(
  kind: SideKind,
  file: string,
  { teams = 1, traceTo }: { readonly teams?: number; readonly traceTo?: string } = {},
): Promise<Side> {
  const script = new URL("./server.ts", import.meta.url).pathname;
  const deno = [Deno.execPath(), ...denoArguments("-A", script, kind, file, String(teams))];
  const [command = "", ...args] = traceTo === undefined ? deno : [...strace(traceTo), ...deno];
  return await listening(kind, hasWorker(kind), spawn(command, args, { stdout: "null" }));
}

/** Starts the service of this checkout over a file. */
export function startThisCheckout(file: string): Promise<Side> {
  return startCheckout(HERE, file);
}

/** Starts the service of a checkout over a file. */
export async function startCheckout(cwd: string, file: string): Promise<Side> {
  const env = {
    PORT: "0",
    RUNLEDGER_KV: file,
    RUNLEDGER_KEY: keyOf(1),
    RUNLEDGER_TIER: "enterprise",
    NO_COLOR: "1",
  };
  const args = denoArguments("-N", "-E", "-R", "-W", "main.ts");
  return await listening(cwd, true, spawn(Deno.execPath(), args, { cwd, env, stdout: "null" }));
}

async function listening(
  kind: string,
  hasWorker: boolean,
  child: Deno.ChildProcess,
): Promise<Side> {
  const output = new Output(child.stderr);
  const url = (await output.match(/(http:\/\/[\d.:]+)[,\n]/))?.[1];
  if (url === undefined) {
    await end(child);
    throw new Error(`The server "${kind}" did not start:\n${output.text}`);
  }
  return {
    kind,
    hasWorker,
    url,
    pid: child.pid,
    warm: new Set(),
    async [Symbol.asyncDispose]() {
      await end(child);
      await output.done;
    },
  };
}

/**
 * Builds the strace command. Its kernel filter stops the server only at syncs. With `-D` the server
 * stays a direct child of this process, and ending it ends strace.
 */
function strace(file: string): string[] {
  const which = ["-e", "trace=fsync,fdatasync", "-e", "signal=none"];
  return ["strace", "-D", "-f", "--seccomp-bpf", "-qq", ...which, "-o", file];
}
