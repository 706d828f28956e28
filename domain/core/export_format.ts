/**
 * Lines of an export: one JSON object each, described in `kv/transfer/README.md`.
 *
 * The format has a number of its own (R21): later versions read it, whatever they store.
 *
 * @module
 */
import { z } from "zod";

/** Number of the format. */
export const EXPORT_FORMAT = 1;

/** Kinds of lines before the runs: each is a row that no run implies. */
export const KINDS_BEFORE_RUNS = [
  "first_team",
  "team",
  "credential",
  "credential_use",
  "product_use",
  "audit_log",
  "refusal",
  "rate",
  "agent",
  "agent_count",
  "archived_agent",
  "open_pings",
  "config",
  "channel_health",
  "channel_test",
  "alert",
  "alert_state",
  "incident",
  "delivery",
  "delivery_queue",
  "usage",
  "removed_usage",
  "removed_rollup",
  "removed_agent",
  "rollup_version",
  "notice",
  "deletion",
  "deletion_count",
  "reprice",
  "sweep",
  "sweep_clock",
  "clock",
  "judge_account",
  "judge_job",
  "work",
] as const;

/** Kinds after the runs: an imported run must not change a monitor again. */
export const KINDS_AFTER_RUNS = ["monitor", "flip"] as const;

/** Kinds of exports of earlier versions alone: rows of the work queue, and open notices. */
export const EARLIER_KINDS = [
  "due",
  "delivery_due",
  "open_notice",
  "active_deletion",
  "active_reprice",
] as const;

/** One of {@link KINDS_BEFORE_RUNS} and {@link KINDS_AFTER_RUNS}. */
export type RowKind = typeof KINDS_BEFORE_RUNS[number] | typeof KINDS_AFTER_RUNS[number];

/** One of {@link EARLIER_KINDS}. */
export type EarlierKind = typeof EARLIER_KINDS[number];

const name = z.string().min(1);
const instant = z.int();
const bytes = z.strictObject({ $bytes: z.base64() });
const picodollars = z.string().regex(/^-?\d+$/);

/** An opening or a close. Amounts are picodollars as text. */
const part = z.strictObject({
  fields: z.looseObject({ receivedAt: instant }),
  reported: z.looseObject({ cost: picodollars.optional() }).optional(),
  output: z.unknown().optional(),
});

const event = z.strictObject({
  id: name,
  type: z.string(),
  ts: instant,
  turn: z.int().optional(),
  unreadable: z.array(z.string()).optional(),
  flags: z.array(z.string()).optional(),
  cost: picodollars.optional(),
  twin: name.optional(),
  priced_by: z.looseObject({}).optional(),
  data: z.unknown().optional(),
  data_text: z.string().optional(),
});

const run = { team: name, run: name };

const LINES = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("export"),
    export: z.literal(EXPORT_FORMAT),
    version: name,
  }),
  z.strictObject({
    kind: z.enum([...KINDS_BEFORE_RUNS, ...KINDS_AFTER_RUNS, ...EARLIER_KINDS]),
    key: z.array(z.union([z.string(), z.number(), z.boolean(), bytes])),
    value: z.unknown(),
  }),
  z.strictObject({
    kind: z.literal("run"),
    ...run,
    opening: part.nullable().optional(),
    opening_text: z.string().optional(),
    closing: part.extend({ opening: part.optional() }).nullable().optional(),
    closing_text: z.string().optional(),
    idle: z.looseObject({}).nullable(),
    price: z.looseObject({}).nullable(),
    repricings: z.int(),
    revision: z.int(),
    final_at: instant.optional(),
    is_counted: z.literal(true).optional(),
    listed_at: instant.optional(),
    scores: z.looseObject({ count: z.int() }).optional(),
    trace: z.looseObject({}).optional(),
    is_pending: z.literal(true).optional(),
    checks: z.array(z.looseObject({ id: name })),
    incidents: z.array(name),
    awaits_checks: z.literal(true).optional(),
    judges: z.array(name).optional(),
    // Of earlier exports, and ignored: the other members tell the stages.
    stages: z.unknown().optional(),
  }),
  z.strictObject({
    kind: z.literal("removed_events"),
    ...run,
    batches: z.array(z.tuple([instant, instant, instant])).min(1),
    ids: z.array(name),
    totals: z.looseObject({}),
  }),
  z.strictObject({
    kind: z.literal("events"),
    ...run,
    received_at: instant,
    events: z.array(event).min(1),
  }),
  z.strictObject({
    kind: z.literal("score"),
    ...run,
    score: z.looseObject({ id: name, receivedAt: instant }),
  }),
  z.strictObject({
    kind: z.literal("deleted_run"),
    ...run,
    deletion: z.looseObject({ run: name, deletedAt: instant }),
  }),
  z.strictObject({ kind: z.literal("end"), lines: z.int() }),
]);

/**
 * A line of an export.
 *
 * @internal
 */
export type ExportLine = z.infer<typeof LINES>;

/** A line of one kind. */
export type LineOf<Kind extends ExportLine["kind"]> = Extract<ExportLine, { kind: Kind }>;

/** Parses a line; returns what is wrong with it as a text. */
export function parseLine(text: string): ExportLine | string {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return "it is not JSON";
  }
  const parsed = LINES.safeParse(json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  return `${issue?.path.join(".") || "line"}: ${issue?.message}`;
}
