/** Servers under load, each in a separate process. */

import type { SideKind } from "./service.ts";
import { denoArguments, end, Output, spawn } from "./process.ts";

/** A running server. Use it with `await using`. */
export interface Side extends AsyncDisposable {
  readonly kind: SideKind;
  readonly url: string;
  readonly pid: number;
  /** Calls for which the server is warmed up. */
  readonly warm: Set<string>;
}

/** Options of a server. */
export interface SideOptions {
  /** Number of teams, each with its own key. */
  readonly teams?: number;
  /** File that receives a line for each sync to disk; needs strace. */
  readonly traceTo?: string;
}

/** Starts a server over a file. */
export async function startSide(
  kind: SideKind,
  file: string,
  { teams = 1, traceTo }: SideOptions = {},
): Promise<Side> {
  const script = new URL("./server.ts", import.meta.url).pathname;
  const deno = [Deno.execPath(), ...denoArguments("-A", script, kind, file, String(teams))];
  const [command = "", ...args] = traceTo === undefined ? deno : [...strace(traceTo), ...deno];
  const child = spawn(command, args, { stdout: "null" });
  const output = new Output(child.stderr);
  const url = (await output.match(/^(http:\/\/\S+)\n/m))?.[1];
  if (url === undefined) {
    await end(child);
    throw new Error(`The server "${kind}" did not start:\n${output.text}`);
  }
  return {
    kind,
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
