/**
 * Types of the reference model: calls, responses, and the stored state of a team.
 *
 * Fields have their names on the wire; instants are unix milliseconds. Nothing here or in the other
 * files of the model (`model.ts`, `rules.ts`, `lenient.ts`, `values.ts`, `reads.ts`) comes from the
 * service.
 */

/** Metadata entries and agents per plan (decisions 38 and 39). */
export const TIERS = {
  free: { labels: 0, agents: 10 },
  starter: { labels: 0, agents: 25 },
  team: { labels: 3, agents: 50 },
  business: { labels: 10, agents: 100 },
  enterprise: { labels: Infinity, agents: Infinity },
} as const;

/** Rate card of every team, in picodollars per token; other models have no price. */
export const RATES: Readonly<Record<string, { input: number; cached: number; output: number }>> = {
  atlas: { input: 3_000_000, cached: 300_000, output: 15_000_000 },
};

export type Fields = Readonly<Record<string, unknown>>;

/** Metadata in sent order, which objects do not preserve for keys that look like integers. */
export type Labels = readonly (readonly [string, unknown])[];

/** A call. */
export interface Request {
  readonly call: "open" | "events" | "finish" | "heartbeat" | "ping";
  /** Id in the path of `events` and `finish`. */
  readonly id?: string;
  /** Fields of the body, or parameters of a ping. */
  readonly fields: Fields;
  /** Id that the server generated for a heartbeat without one. */
  readonly minted?: string;
  /** True if a ping gets the plain-text response, which has no fields. */
  readonly isPlain?: boolean;
}

/** Response to a call. */
export interface Answer {
  readonly status: number;
  /** Body of the response; a refusal has `error` and `field`, a refused ping only `error`. */
  readonly body: Fields;
  /** True if the response must have `Idempotent-Replayed: true`. */
  readonly replayed: boolean;
  /** Fields that `Runledger-Dropped` must list, with their counts. */
  readonly dropped: Readonly<Record<string, number>>;
  /** Fields that `Runledger-Ignored` must list, sorted. */
  readonly ignored: readonly string[];
}

/** A part of a run that is written once, with its further fields. */
export interface Part extends Fields {
  readonly received_at: number;
}
export interface Opening extends Part {
  readonly kind: "run" | "heartbeat";
  readonly agent: string;
  readonly started_at: number;
}
export interface Closing extends Part {
  readonly status: string;
  readonly finished_at: number;
}
export interface Event extends Part {
  readonly id: string;
  readonly type: string;
  readonly ts: number;
  readonly data: Fields;
}
export interface Run {
  readonly opening?: Opening;
  readonly closing?: Closing;
  /** Idle close that counts while there is no other. */
  readonly idle?: Closing;
  readonly events: readonly Event[];
}

/** Time in which no deadline was handled, from the last turn before it to the first one after it. */
export interface Absence {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Returns a run with its idle close, if that counts. */
export function asClosed(run: Run): Run {
  const { idle } = run;
  return run.closing !== undefined || idle === undefined ? run : { ...run, closing: idle };
}

/** Stored state of a team: runs by id, agents' first calls by slug, events counted by month. */
export interface State {
  readonly tier: keyof typeof TIERS;
  readonly runs: Readonly<Record<string, Run>>;
  readonly agents: Readonly<Record<string, number>>;
  readonly usage: Readonly<Record<string, number>>;
  readonly monitors: Monitors;
  /** Runs of pings without an id, by agent, oldest first. */
  readonly pings: Readonly<Record<string, readonly OpenPing[]>>;
}

/** A run that pings without an id opened, or that has a `rid`. */
interface OpenPing {
  readonly id: string;
  /** Its latest ping. */
  readonly at: number;
  readonly rid: unknown;
  /** False once a ping without an id closed it. */
  readonly isOpen: boolean;
}

/** Formats an instant as in responses (decision 12). */
export function instant(ms: number): string {
  return new Date(ms).toISOString();
}

/** Picks the present fields of these names; null counts as absent (decision 8). */
export function pick(fields: Fields, ...names: readonly string[]): Fields {
  const there = names.filter((name) => (fields[name] ?? null) !== null);
  return Object.fromEntries(there.map((name) => [name, fields[name]]));
}

export type MonitorState = "new" | "up" | "late" | "down" | "paused";

/** Monitors by agent, and the outcomes of runs that they have counted. */
export interface Monitors {
  readonly of: Readonly<Record<string, Monitor>>;
  /** Outcomes by run; null for an open or cancelled one. */
  readonly outcomes: Readonly<Record<string, Outcome | null>>;
}

export interface MonitorSettings {
  readonly schedule: { readonly every_seconds: number } | {
    readonly cron: string;
    readonly tz: string;
  };
  readonly grace_seconds: number;
  readonly failure_threshold: number;
  readonly recovery_threshold: number;
  readonly enabled: boolean;
}

/** Outcome of a run that satisfies a schedule. */
export interface Outcome {
  readonly run: string;
  readonly agent: string;
  /** Arrival. */
  readonly at: number;
  /** False for a failure. */
  readonly isOk: boolean;
}

/** A change of a monitor's state. */
export interface Flip {
  readonly at: number;
  readonly from: MonitorState | null;
  readonly to: MonitorState;
  readonly reason: string;
  readonly run_id: string | null;
}

export interface Monitor {
  readonly settings: MonitorSettings;
  readonly version: number;
  readonly updated_at: number;
  readonly state: MonitorState;
  readonly since: number;
  /** Only outcomes after it count in a row. */
  readonly judged_from: number;
  /** Instant from which runs are expected. */
  readonly watched_from: number;
  readonly outcomes: readonly Outcome[];
  readonly last_arrival_at: number | null;
  readonly last_ok_at: number | null;
  readonly expected_at: number | null;
  readonly excused_until: number | null;
  readonly missed_at: number | null;
  readonly pause: { readonly until: number | null; readonly sticky: boolean } | null;
  readonly flips: readonly Flip[];
}

/** Returns true if two values are the same JSON. */
export function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
