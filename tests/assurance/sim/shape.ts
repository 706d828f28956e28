/**
 * What the reference model speaks of: calls, answers, and what is stored of a team.
 *
 * Fields have their names on the wire, instants are unix milliseconds. Nothing here or in the other
 * files of the model (`model.ts`, `rules.ts`, `lenient.ts`, `values.ts`, `reads.ts`) comes from the service.
 */

/** What plans keep of metadata, and how many agents they have (decisions 38 and 39). */
export const TIERS = {
  free: { labels: 0, agents: 10 },
  starter: { labels: 0, agents: 25 },
  team: { labels: 3, agents: 50 },
  business: { labels: 10, agents: 100 },
  enterprise: { labels: Infinity, agents: Infinity },
} as const;

/** The rate card of every team, in picodollars a token; other models have no price. */
export const RATES: Readonly<Record<string, { input: number; cached: number; output: number }>> = {
  atlas: { input: 3_000_000, cached: 300_000, output: 15_000_000 },
};

export type Fields = Readonly<Record<string, unknown>>;

/** Metadata in sent order, which objects do not keep for keys that look like integers. */
export type Labels = readonly (readonly [string, unknown])[];

/** A call. */
export interface Request {
  readonly call: "open" | "events" | "finish" | "heartbeat" | "ping";
  /** The id in the path of `events` and `finish`. */
  readonly id?: string;
  /** Fields of the body, or parameters of a ping. */
  readonly fields: Fields;
  /** What the server called a heartbeat that was sent without an id. */
  readonly minted?: string;
  /** Whether a ping takes the plain answer, which has no fields. */
  readonly isPlain?: boolean;
}

/** What a call answers. */
export interface Answer {
  readonly status: number;
  /** The body; of a refusal its `error` and `field`, of which a ping's has only the first. */
  readonly body: Fields;
  /** Whether it must say `Idempotent-Replayed: true`. */
  readonly replayed: boolean;
  /** What `Runledger-Dropped` must tell of, and how often. */
  readonly dropped: Readonly<Record<string, number>>;
  /** What `Runledger-Ignored` must tell of, sorted. */
  readonly ignored: readonly string[];
}

/** A part of a run that is written once, with whatever else came along. */
export interface Part extends Fields {
  readonly received_at: number;
}
export interface Opening extends Part {
  readonly kind: "run" | "heartbeat";
  readonly agent: string;
  readonly started_at: number;
  /** Whether its start was not sent. */
  readonly assumed?: true;
  /** Whether a heartbeat stored it without a close. */
  readonly alone?: true;
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
  readonly events: readonly Event[];
}

/** Everything stored of a team: runs by id, agents' first calls by slug, events counted by month. */
export interface State {
  readonly tier: keyof typeof TIERS;
  readonly runs: Readonly<Record<string, Run>>;
  readonly agents: Readonly<Record<string, number>>;
  readonly usage: Readonly<Record<string, number>>;
}

/** An instant in the one form that answers have (decision 12). */
export function instant(ms: number): string {
  return new Date(ms).toISOString();
}

/** The fields of these names that are there; null is as absent (decision 8). */
export function pick(fields: Fields, ...names: readonly string[]): Fields {
  const there = names.filter((name) => (fields[name] ?? null) !== null);
  return Object.fromEntries(there.map((name) => [name, fields[name]]));
}
