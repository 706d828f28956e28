/**
 * Messages for the person who started the process, on standard error.
 *
 * Like the request log, these never wait for their reader. On a machine they do not use the console:
 * it does wait, and it also copies messages to a log collector, where keys do not belong.
 *
 * @module
 */
import type { Config } from "./config.ts";
import { VERSION } from "../domain/core/version.ts";
import { developmentKey } from "../domain/teams/credentials.ts";
import { isLoopback } from "../domain/core/network.ts";
import { formatInstant } from "../domain/core/time.ts";
import { platformOf } from "./platform.ts";
import { FLUSH_MS_MAX, LineLog } from "./request_log.ts";
import type { ensureFirstTeam } from "../kv/teams/teams.ts";

/**
 * Exit codes of the process; `docs/OPERATIONS.md` lists them. A supervisor restarts after `retry`
 * and not after the other two, which need a person (R29).
 */
export const EXIT = { settings: 2, store: 3, retry: 4 } as const;

const TLS_HELP = "docs/OPERATIONS.md#tls";

/** The attached KV has one location for all regions. */
const DATA_IN_US = "The attached KV of Deno Deploy stores its data in the United States, also " +
  "for region eu: to keep it in the EU, set RUNLEDGER_KV to a KV of your own there";

const KEY_ADDED = "RUNLEDGER_KEY is new: it was added to the first team, and its other keys " +
  "still work.\n  Revoke those that you replace: /dashboard/keys, or GET and DELETE /v1/keys";

/** @param at unix milliseconds */
function keyRevoked(at: number): string {
  const day = formatInstant(at).slice(0, 10);
  return `RUNLEDGER_KEY was revoked on ${day} and stays revoked: calls with ` +
    "it are 401.\n  Remove the setting, or set another key, which is added to the first team";
}

/** Maximum bytes queued for standard error. */
const BYTES_MAX = 262_144;

const stderr = new LineLog(platformOf(Deno.env.toObject()).messages, BYTES_MAX);

/** Writes the help to standard output. */
export function showHelp(lines: readonly string[]): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${lines.join("\n")}\n`));
}

/** Writes a message. */
export function say(message: string): void {
  stderr.write(message);
}

/** Waits until all messages are written, for at most `msMax`; returns whether they are. */
export function flushConsole(msMax: number): Promise<boolean> {
  return stderr.flush(msMax);
}

/** Prints why the process cannot start, one line each, and exits. */
export async function fatal(
  code: typeof EXIT[keyof typeof EXIT],
  lines: readonly string[],
): Promise<never> {
  stderr.write(lines.join("\n  "));
  await flushConsole(FLUSH_MS_MAX);
  Deno.exit(code);
}

/**
 * Prints the service's address and how to try it. A key is shown only if it was just created or is
 * public.
 *
 * @param first the first team's key, if it was stored at this start
 * @param signInLink link that signs in to the dashboard without a key
 */
export function announce(
  url: string,
  { host, overriddenBy, region, kv, key, dev }: Config,
  { createdKey, isAdded, revokedAt }: Omit<Awaited<ReturnType<typeof ensureFirstTeam>>, "team">,
  signInLink: { readonly code: string } | null,
): void {
  stderr.write(`Runledger ${VERSION} listens on ${url}, region ${region}, ledger ${kv.name}`);
  if (overriddenBy === null) {
    const path = signInLink === null ? "" : `/sign-in?code=${signInLink.code}`;
    stderr.write(`Dashboard: ${url}/dashboard${path}`);
  }
  if (kv.kind === "platform" && region === "eu") stderr.write(DATA_IN_US);
  if (overriddenBy === null && !isLoopback(host)) {
    stderr.write(
      `HOST=${host}: other machines reach this port without TLS, and keys travel in plain text.\n` +
        `  Set HOST=127.0.0.1 and put a TLS proxy in front: ${TLS_HELP}`,
    );
  }
  if (isAdded && !dev) stderr.write(KEY_ADDED);
  if (revokedAt !== null) stderr.write(keyRevoked(revokedAt));
  const keyToShow = key === null ? createdKey : key === developmentKey(region) ? key : null;
  if (keyToShow === null) return;
  if (!dev) stderr.write(`First key, shown only now: ${keyToShow}`);
  stderr.write(
    `Try it:\n  curl -sS --fail-with-body -u ${keyToShow}: "${url}/v1/ping?agent=hello"`,
  );
}

/** Reports an unhandled error; the service keeps serving. */
export function reportUnhandled(kind: "error" | "rejection", reason: unknown): void {
  stderr.write(`Unhandled ${kind}, still serving: ${Deno.inspect(reason)}`);
}
