// deno-lint-ignore-file no-console -- the process's only voice besides its request log
/**
 * What the process tells whoever started it, on standard error.
 *
 * @module
 */
import type { Config } from "./config.ts";
import { developmentKey } from "./domain/credentials.ts";

/** How the process ends before it serves; `docs/OPERATIONS.md` has the list. */
export const EXIT = { settings: 2, store: 3 } as const;

/** Says why the process cannot start, one line each, and ends it. */
export function fatal(code: typeof EXIT[keyof typeof EXIT], lines: readonly string[]): never {
  console.error(lines.join("\n  "));
  Deno.exit(code);
}

/** What was made for whoever started the process. */
export interface Made {
  /** The first team's key, when this start created it. */
  readonly createdKey: string | null;
  /** What signs in to the dashboard without a key. */
  readonly signInLink: { readonly code: string } | null;
}

/**
 * Says where the service is and how to try it. A key is shown only where it is new to everybody, or
 * known to everybody.
 */
export function announce(url: string, config: Config, { createdKey, signInLink }: Made): void {
  const { region, kv, key, dev } = config;
  tell(`Runledger listens on ${url}, region ${region}, ledger ${kv}`);
  const path = signInLink === null ? "" : `/sign-in?code=${signInLink.code}`;
  tell(`Look at it: ${url}/dashboard${path}`);
  const shown = key === null ? createdKey : key === developmentKey(region) ? key : null;
  if (shown === null) return;
  if (!dev) tell(`First key, shown only now: ${shown}`);
  tell(`Try it:\n  curl -fsS -u ${shown}: "${url}/v1/ping?agent=hello"`);
}

/** Tells it here alone: what is said by way of the console goes to a collector of logs, too. */
function tell(text: string): void {
  let bytes = new TextEncoder().encode(`${text}\n`);
  while (bytes.length > 0) bytes = bytes.subarray(Deno.stderr.writeSync(bytes));
}

/** Says what went wrong without anybody to tell; the service goes on. */
export function reportUnhandled(reason: unknown): void {
  console.error("Unhandled rejection, still serving:", reason);
}
