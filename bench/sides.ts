/** Servers under load, each in a separate process. */
import { hasWorker, keyOf, OPERATOR_KEY, type SideKind } from "./service.ts";
import { KV_TOKEN } from "../tests/support/harness/kv_client.ts";
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
  /** Further services over the same store. */
  readonly others: readonly Side[];
  /** Calls for which the server is warmed up. */
  readonly warm: Set<string>;
}

/**
 * Starts a server over a file.
 *
 * @param traceTo file that receives a line for each sync to disk; needs strace
 */
export async function startSide(
  kind: SideKind,
  file: string,
  { traceTo }: { readonly traceTo?: string } = {},
): Promise<Side> {
  const script = new URL("./server.ts", import.meta.url).pathname;
  const deno = [Deno.execPath(), ...denoArguments("-A", script, kind, file)];
  const [command = "", ...args] = traceTo === undefined ? deno : [...strace(traceTo), ...deno];
  const env = { DENO_KV_ACCESS_TOKEN: KV_TOKEN };
  return await listening(kind, hasWorker(kind), spawn(command, args, { stdout: "null", env }));
}

/** Returns all services over a side's store. */
export function servicesOf(side: Side): readonly Side[] {
  return [side, ...side.others];
}

/** Starts several services over one store. */
export async function startServices(store: string, count: number): Promise<Side> {
  await using stack = new AsyncDisposableStack();
  const services: Side[] = [];
  // The first one creates the team.
  while (services.length < count) services.push(stack.use(await startCheckout(store)));
  const [first, ...others] = services;
  if (first === undefined) throw new Error("No service was started");
  const owned = stack.move();
  return { ...first, others, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Starts the service of this or another checkout over a file or a shared KV. */
export async function startCheckout(store: string, cwd = HERE): Promise<Side> {
  const env = {
    PORT: "0",
    RUNLEDGER_KV: store,
    RUNLEDGER_KEY: keyOf(1),
    RUNLEDGER_OPERATOR_KEY: OPERATOR_KEY,
    RUNLEDGER_TIER: "enterprise",
    NO_COLOR: "1",
    DENO_KV_ACCESS_TOKEN: KV_TOKEN,
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
    others: [],
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
