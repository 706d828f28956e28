/**
 * Values that depend on the platform: a machine of the user, or Deno Deploy.
 *
 * @module
 */
import { DRAIN_MS_MAX } from "../domain/core/limits.ts";
import { ABSENCE_MS } from "../domain/work/work.ts";
import { MEMORY_MB } from "../runtime/memory.ts";
import type { Sink } from "./request_log.ts";

/** Differences between the places where the service runs. */
export interface Platform {
  /** True if the platform chooses the address and attaches the KV; there is no lasting disk. */
  readonly isHosted: boolean;
  /** Default of `RUNLEDGER_MEMORY_MB`. */
  readonly memoryMb: number;
  /** Maximum milliseconds between the stop signal and the end of the process. */
  readonly drainMs: number;
  /** Maximum milliseconds that a response may send nothing; the platform may stop the instance then. */
  readonly silentMsMax: number;
  /** Gap between turns of the clock above which missed deadlines are ours, not the agents'; milliseconds. */
  readonly clockGapMaxMs: number;
  /** Destination of the request log. */
  readonly log: Sink;
  /** Destination of messages about the process. */
  readonly messages: Sink;
}

const MACHINE: Platform = {
  isHosted: false,
  memoryMb: MEMORY_MB.default,
  drainMs: DRAIN_MS_MAX,
  silentMsMax: Infinity,
  clockGapMaxMs: ABSENCE_MS,
  log: Deno.stdout,
  messages: Deno.stderr,
};

/**
 * Deno Deploy kills an instance 5 s after SIGINT, and may stop one whose responses send nothing for
 * 5 s. Without calls, a cron starts one each minute. Its instances have 512 MB, and
 * its log has what goes through the console.
 */
const DEPLOY: Platform = {
  isHosted: true,
  memoryMb: 400,
  drainMs: 4_000,
  silentMsMax: 4_000,
  clockGapMaxMs: 180_000,
  // deno-lint-ignore no-console -- the platform collects nothing else
  log: consoleSink(console.log),
  // deno-lint-ignore no-console -- the platform collects nothing else
  messages: consoleSink(console.error),
};

/** Returns the platform of an environment. */
export function platformOf(env: Record<string, string>): Platform {
  return env["DENO_DEPLOY"] === undefined ? MACHINE : DEPLOY;
}

/** Writes each line as one message of the console. */
function consoleSink(write: (line: string) => void): Sink {
  return {
    write(bytes) {
      const lines = new TextDecoder().decode(bytes).split("\n");
      for (const line of lines) if (line !== "") write(line);
      return Promise.resolve(bytes.length);
    },
  };
}

/** Oldest Deno that runs the service. */
export const DENO_MIN = "2.5.7";

/** Returns whether a version of Deno runs the service. */
export function isSupported(version: string): boolean {
  const numbers = (text: string) => text.split(/[.+-]/).slice(0, 3).map(Number);
  const [own, least] = [numbers(version), numbers(DENO_MIN)];
  const different = least.findIndex((number, i) => number !== own[i]);
  return different < 0 || own[different]! > least[different]!;
}
