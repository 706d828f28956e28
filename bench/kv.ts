/** A shared KV for a benchmark: `denokv` if it is installed, otherwise the tests' server. */
import { KV_TOKEN } from "../tests/support/harness/kv_client.ts";
import { denoArguments, end, isInstalled, Output, spawn } from "./process.ts";

/** A running KV server. Use it with `await using`. */
export interface KvProcess extends AsyncDisposable {
  readonly pid: number;
  readonly port: number;
  /** Path of its database in a URL. */
  readonly path: string;
}

/** Program of `denokv`; null if it is not installed. */
export async function findDenokv(): Promise<string | null> {
  const program = Deno.env.get("DENOKV") ?? "denokv";
  return await isInstalled(program, "--version") ? program : null;
}

/** Starts a KV server; `denokv` stores its rows in a file, with the options of docs/OPERATIONS.md. */
export async function startKv(program: string | null, file: string): Promise<KvProcess> {
  const child = program === null ? spawnTestServer() : spawnDenokv(program, file);
  const output = new Output(program === null ? child.stdout : child.stderr);
  const port = (await output.match(/http:\/\/127\.0\.0\.1:(\d+)/))?.[1];
  if (port === undefined) {
    await end(child);
    throw new Error(`The KV server did not start:\n${output.text}`);
  }
  return {
    pid: child.pid,
    port: Number(port),
    path: program === null ? "/db/bench" : "",
    async [Symbol.asyncDispose]() {
      await end(child);
      await output.done;
    },
  };
}

function spawnDenokv(program: string, file: string): Deno.ChildProcess {
  const address = `127.0.0.1:${freePort()}`;
  // The options of docs/OPERATIONS.md.
  const args = ["--sqlite-path", file, "serve", "--addr", address, "--num-workers", "4"];
  const env = { DENO_KV_ACCESS_TOKEN: KV_TOKEN };
  return spawn(program, args, { env, stdout: "null" });
}

function spawnTestServer(): Deno.ChildProcess {
  const script = new URL("../tests/support/harness/kv_server.ts", import.meta.url).pathname;
  const lock = new URL("../tests/packages/development.lock", import.meta.url).pathname;
  const args = denoArguments("-A", `--lock=${lock}`, script);
  return spawn(Deno.execPath(), args, { stdout: "piped" });
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/**
 * Describes the receipt of packets on this machine. Requests of more than a packet wait for up to 40
 * ms per packet unless the KV's host confirms packets at once.
 */
export async function describeQuickAck(): Promise<string> {
  const args = ["route", "show", "table", "local"];
  const { stdout } = await new Deno.Command("ip", { args, stderr: "null" }).output()
    .catch(() => ({ stdout: new Uint8Array() }));
  const isOn = /^local 127\.0\.0\.1 .*quickack 1/m.test(new TextDecoder().decode(stdout));
  return `quickack ${isOn ? "on" : "off"}`;
}
