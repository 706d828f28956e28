/** JSON of monitors, their flips and proposals in responses. */
import { z } from "zod";
import { rawOf } from "../../../domain/core/raw_json.ts";
import { uptimeOf } from "../../../domain/monitors/flips.ts";
import {
  deadlinesOf,
  failuresInRow,
  type Flip,
  FLIP_REASONS,
  type Monitor,
  MONITOR_STATES,
  type MonitorPause,
} from "../../../domain/monitors/monitor.ts";
import {
  nextSlots,
  type Schedule,
  scheduleWords,
  zoneProblem,
} from "../../../domain/monitors/schedule.ts";
import type { MonitorProposal, MonitorRecord } from "../../../domain/monitors/row.ts";
import { Query, refuseParameter } from "../../../domain/core/query.ts";
import type { Team } from "../../../domain/teams/team.ts";
import type { AppDeps } from "../../http/context.ts";
import * as shape from "../../openapi/wire.ts";
import { settingsFields } from "../objects.ts";
import { MONITORS, scheduleFieldsOf } from "../../../domain/monitors/body.ts";
import { DAY_MS } from "../../../domain/core/time.ts";

/** Parameter of reads with a proposal. */
export const zone = z.string().default("UTC")
  .describe("IANA time zone of a proposed cron expression.");

/** Parses the time zone of a proposal; UTC when absent. */
export function parseZone(text: string): string {
  const query = new Query(text);
  const tz = query.text("tz") ?? "UTC";
  const problem = zoneProblem(tz);
  return problem === null ? tz : refuseParameter("tz", `"tz" must be ${problem}`);
}

/** Expected instants in a response. */
const NEXT_COUNT = 5;

const UPTIME_DAYS = 30;

const schedule = shape.wire<Schedule>(
  z.union([
    z.object({ every_seconds: shape.count.schema }).meta({ id: "PeriodSchedule" }),
    z.object({ cron: z.string(), tz: z.string() }).meta({ id: "CronSchedule" }),
  ]).meta({
    id: "MonitorSchedule",
    description: "A period in seconds, or a cron expression in an IANA time zone.",
  }),
  (schedule) => rawOf(scheduleFieldsOf(schedule)),
);

const state = shape.oneOf("MonitorState", MONITOR_STATES);

/** A fraction of 1 with 4 decimals, rounded down: only no downtime at all is 1. */
const fraction = shape.wire<number>(
  z.number().meta({ minimum: 0, maximum: 1 }),
  (value) => rawOf(Math.floor(value * 10_000) / 10_000),
);

/** The part of a monitor that a team sets. */
const SETTINGS = {
  agent: shape.text<Monitor>("agent", "The agent's slug."),
  id: shape.id("mon")<Monitor>("id"),
  version: shape.count<Monitor>("version", "Number of the settings' version, from 1."),
  schedule: schedule<Monitor>(({ settings }) => settings.schedule),
  grace_seconds: shape.count<Monitor>(({ settings }) => settings.graceSeconds),
  ...of(
    settingsFields(
      MONITORS,
      "max_runtime_seconds",
      "failure_threshold",
      "recovery_threshold",
      "enabled",
    ),
    ({ settings }: Monitor) => ({ fields: MONITORS.fieldsOf(settings) }),
  ),
  words: shape.text<Monitor>(
    ({ settings }) => scheduleWords(settings.schedule),
    "The schedule in words.",
  ),
  created_at: shape.instant<Monitor>("createdAt"),
  updated_at: shape.instant<Monitor>("updatedAt", "Last change of the settings."),
  updated_by: shape.text<Monitor>("updatedBy", "Id of the credential that made it."),
};

const pause = shape.object<MonitorPause>("MonitorPause", {
  until: shape.instant.orNull("untilMs", "Null: until it is resumed, or a run succeeds."),
  sticky: shape.boolean("isSticky", "True if a successful run does not end it."),
});

/** A monitor with what blocks the runs of its agent. */
export interface MonitorRow extends MonitorRecord {
  /** Identifier of a pause or a budget; null for none. */
  readonly blockedBy: string | null;
}

/** Adds what blocks the runs of the agents of monitors. */
export async function monitorRows(
  { guard }: Pick<AppDeps, "guard">,
  { id }: Pick<Team, "id">,
  records: readonly MonitorRecord[],
): Promise<readonly MonitorRow[]> {
  const blockers = await guard.blockersOf(id, records.map(({ monitor }) => monitor.agent));
  return records.map((record, i) => ({ ...record, blockedBy: blockers[i] ?? null }));
}

/** Adds what blocks the runs of the agent of a monitor. */
export async function monitorRow(
  deps: Pick<AppDeps, "guard">,
  team: Pick<Team, "id">,
  record: MonitorRecord,
): Promise<MonitorRow> {
  const [row] = await monitorRows(deps, team, [record]);
  return row as MonitorRow;
}

/** The settings and the state of a monitor. */
const RECORD = {
  ...of(SETTINGS, ({ monitor }: MonitorRow) => monitor),
  state: state<MonitorRow>(({ monitor }) => monitor.state),
  since: shape.instant<MonitorRow>(
    ({ monitor }) => monitor.since,
    "Instant of the change to this state.",
  ),
  pause: pause.orNull<MonitorRow>(({ monitor }) => monitor.pause),
  running: shape.count<MonitorRow>("running", "Open runs of the agent."),
  failing: shape.count<MonitorRow>(
    ({ monitor }) => failuresInRow(monitor),
    "Failures since the last success.",
  ),
  last_arrival_at: shape.instant.orNull<MonitorRow>(
    ({ monitor }) => monitor.lastArrivalAt,
    "Latest close that counts, by arrival.",
  ),
  last_ok_at: shape.instant.orNull<MonitorRow>(({ monitor }) => monitor.lastOkAt),
  expected_at: shape.instant.orNull<MonitorRow>(
    ({ monitor }) => deadlinesOf(monitor).expectedAt,
    "Null while no run is expected.",
  ),
  down_after: shape.instant.orNull<MonitorRow>(
    ({ monitor }) => deadlinesOf(monitor).downAfter,
    "`expected_at` and the grace.",
  ),
  blocked_by: shape.text.orNull<MonitorRow>(
    "blockedBy",
    "Id of the worst pause or hard budget of the agent or the team that blocks it. Null: none does.",
  ),
};

/** A monitor with its state. */
export const monitorValue = shape.object<MonitorRow>("Monitor", RECORD);

/** A monitor that is deleted: its settings. */
export const deletedMonitorValue = shape.object<Monitor>("DeletedMonitor", SETTINGS);

/** Settings that fit the latest runs. */
export const proposalValue = shape.object<MonitorProposal>("MonitorProposal", {
  schedule: schedule("schedule"),
  grace_seconds: shape.count("graceSeconds"),
  from_runs: shape.count("fromRuns", "Number of runs that it is derived from."),
  hits: fraction("hits", "Fraction of the gaps between them that it explains."),
});

/** A monitor with all that is known of it. */
interface MonitorDetail {
  readonly record: MonitorRow;
  /** Flips since {@link uptimeFrom}. */
  readonly flips: readonly Flip[];
  readonly proposal: MonitorProposal | null;
  readonly nowMs: number;
}

export const monitorDetailValue = shape.object<MonitorDetail>("MonitorDetail", {
  ...of(RECORD, ({ record }: MonitorDetail) => record),
  // Evaluating a cron line takes too long for each row of a list.
  next: shape.list(shape.instant)<MonitorDetail>(
    ({ record: { monitor } }) => nextOf(monitor),
    `The next ${NEXT_COUNT} instants, if each run comes in time; the first is \`expected_at\`.`,
  ),
  uptime_30d: fraction.orNull<MonitorDetail>(
    ({ record: { monitor }, flips, nowMs }) =>
      uptimeOf(flips, monitor.state, uptimeFrom(nowMs), nowMs),
    `Fraction of the last ${UPTIME_DAYS} days in which it was not down; null if none of it was judged.`,
  ),
  proposal: proposalValue.orNull<MonitorDetail>(
    "proposal",
    "Settings that fit the latest runs; null if none do.",
  ),
});

export const monitorPage = shape.page("MonitorPage", "monitors", monitorValue);

const flip = shape.object<Flip>("MonitorFlip", {
  at: shape.instant("at", "Instant of the deadline or arrival that caused it."),
  until: shape.instant.orNull("until", "End of a time in which nothing was judged; else null."),
  from: state.orNull("from", "Null when the monitor was created."),
  to: shape.oneOf("MonitorFlipState", [...MONITOR_STATES, "unknown"])("to"),
  reason: shape.oneOf("MonitorFlipReason", FLIP_REASONS)("reason"),
  run_id: shape.id("run").orNull("run", "The run that caused it."),
});

export const flipPage = shape.page("MonitorFlipPage", "flips", flip);

/** Returns the start of the time that the uptime covers. */
export function uptimeFrom(nowMs: number): number {
  return nowMs - UPTIME_DAYS * DAY_MS;
}

function nextOf(monitor: Monitor): readonly number[] {
  const { expectedAt } = deadlinesOf(monitor);
  return expectedAt === null ? [] : nextSlots(monitor.settings.schedule, expectedAt, NEXT_COUNT);
}

/** Declares fields of a part. */
function of<Source, Part>(
  fields: shape.WireFields<Part>,
  partOf: (source: Source) => Part,
): shape.WireFields<Source> {
  return Object.fromEntries(
    Object.entries(fields).map((
      [name, { schema, write }],
    ) => [name, { schema, write: (source: Source) => write(partOf(source)) }]),
  );
}
