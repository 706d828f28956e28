/**
 * Messages of the process on standard error, for the person who started it.
 *
 * Like the request log it never waits for its reader, and never by way of the console: that waits, and
 * copies to a collector of logs, where keys do not belong.
 *
 * @module
 */
import type { Config } from "./config.ts";
import { developmentKey } from "../domain/teams/credentials.ts";
import { isLoopback } from "../domain/core/loopback.ts";
import { FLUSH_MS_MAX, LineLog } from "./request_log.ts";

/** How the process ends before it serves; `docs/OPERATIONS.md` has the list. */
export const EXIT = { settings: 2, store: 3 } as const;

/** Where to read on about TLS. */
const TLS_HELP = "docs/OPERATIONS.md#tls";

/** Bytes that wait for the reader of standard error. */
const BYTES_MAX = 262_144;

const stderr = new LineLog(Deno.stderr, BYTES_MAX);

/** Writes the answer to `--help` to standard output. */
export function showHelp(lines: readonly string[]): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${lines.join("\n")}\n`));
}

/** Waits until everything is said, for as long as it is given; answers whether it is. */
export function flushConsole(msMax: number): Promise<boolean> {
  return stderr.flush(msMax);
}

/** Says why the process cannot start, one line each, and ends it. */
export async function fatal(
  code: typeof EXIT[keyof typeof EXIT],
  lines: readonly string[],
): Promise<never> {
  stderr.write(lines.join("\n  "));
  await flushConsole(FLUSH_MS_MAX);
  Deno.exit(code);
}

/** Credentials that this start created. */
interface StartedWith {
  /** The first team's key, when this start created it. */
  readonly createdKey: string | null;
  /** What signs in to the dashboard without a key. */
  readonly signInLink: { readonly code: string } | null;
}

/**
 * Says where the service is and how to try it. A key is shown only where it is new to everybody, or
 * known to everybody.
 */
export function announce(
  url: string,
  config: Config,
  { createdKey, signInLink }: StartedWith,
): void {
  const { host, region, kv, key, dev } = config;
  stderr.write(`Runledger listens on ${url}, region ${region}, ledger ${kv}`);
  const path = signInLink === null ? "" : `/sign-in?code=${signInLink.code}`;
  stderr.write(`Look at it: ${url}/dashboard${path}`);
  if (!isLoopback(host)) {
    stderr.write(
      `HOST=${host}: other machines reach this port without TLS, and keys travel in plain text.\n` +
        `  Set HOST=127.0.0.1 and put a TLS proxy in front: ${TLS_HELP}`,
    );
  }
  const keyToShow = key === null ? createdKey : key === developmentKey(region) ? key : null;
  if (keyToShow === null) return;
  if (!dev) stderr.write(`First key, shown only now: ${keyToShow}`);
  stderr.write(`Try it:\n  curl -fsS -u ${keyToShow}: "${url}/v1/ping?agent=hello"`);
}

/** Reports an unhandled error; the service keeps serving. */
export function reportUnhandled(what: "error" | "rejection", reason: unknown): void {
  stderr.write(`Unhandled ${what}, still serving: ${Deno.inspect(reason)}`);
}
