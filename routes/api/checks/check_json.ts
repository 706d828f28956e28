/** The wire form of checks, of their statistics, and of trials. */
import { z } from "zod";
import type { Check } from "../../../domain/checks/check.ts";
import {
  type CheckCounts,
  type CheckDay,
  type CheckDayPlace,
  type CheckFailure,
  type CheckStats,
  FAILURES_MAX,
  TRIAL,
  type TrialResult,
} from "../../../domain/checks/store.ts";
import { FINISH_STATUSES } from "../../../domain/runs/run.ts";
import { RUN_KINDS } from "../../../domain/runs/traits.ts";
import { encodeCursor } from "../../http/cursor.ts";
import {
  booleanValue,
  countValue,
  dayValue,
  idValue,
  instantValue,
  listValue,
  nextCursor,
  objectValue,
  oneOfValue,
  textValue,
  wire,
  type WireFields,
} from "../../openapi/wire.ts";
import { headFields, TAIL_FIELDS, textsValue } from "../config/fields.ts";
import { checkSeverity, checkStatus } from "./fields.ts";

/** A check. */
export const checkValue = objectValue<Check>("Check", {
  ...headFields("chk"),
  expression: textValue(({ settings }) => settings.expression),
  agents: textsValue(({ settings }) => settings.agents),
  kinds: listValue(oneOfValue("RunKind", RUN_KINDS))(({ settings }) => settings.kinds),
  statuses: listValue(oneOfValue("FinishStatus", FINISH_STATUSES))(
    ({ settings }) => settings.statuses,
  ),
  features: textsValue(({ settings }) => settings.features),
  severity: checkSeverity(({ settings }) => settings.severity),
  sample: wire(z.number())(({ settings }) => settings.sample),
  enabled: booleanValue(({ settings }) => settings.enabled),
  description: textValue.orNull(({ settings }) => settings.description),
  ...TAIL_FIELDS,
});

const COUNTS: WireFields<CheckCounts> = {
  pass: countValue("pass"),
  fail: countValue("fail"),
  error: countValue("error"),
  skipped: countValue("skipped"),
};

const day = objectValue<CheckDay>("CheckDay", {
  day: dayValue("day", "UTC day on which the runs started."),
  agent: textValue(({ agent }) => agent ?? ""),
  ...COUNTS,
});

const failure = objectValue<CheckFailure>("CheckFailure", {
  run_id: idValue("run")("run"),
  at: instantValue("at", "Arrival of the run's close."),
  got: textValue.orNull(
    "got",
    "Values that the expression used; null once the payload has expired.",
  ),
  message: textValue.orNull("message", "Null once the payload has expired."),
});

/** Statistics of a check. */
export const checkStatsValue = objectValue<CheckStats>("CheckStats", {
  days: listValue(day)("days", "Counts of results by day and agent, in that order."),
  failures: listValue(failure)(
    "failures",
    `Latest results with the status \`fail\`, newest first, ${FAILURES_MAX} at most.`,
  ),
  failing_since: instantValue.orNull(
    "failingSince",
    "First `fail` since the last `pass`; null if the check does not fail now.",
  ),
  cursor: nextCursor(({ next }) => next && encodeCursor(`${next.day} ${next.agent}`)),
});

const example = objectValue<TrialResult["examples"][number]>("CheckExample", {
  run_id: idValue("run")("run"),
  status: checkStatus("status"),
  got: textValue.orNull("got"),
  message: textValue.orNull("message"),
});

/** Result of a trial. */
export const trialValue = objectValue<TrialResult>("CheckTrial", {
  runs: countValue("runs", "Runs judged."),
  ...COUNTS,
  examples: listValue(example)(
    "examples",
    `Results, those that did not pass first, ${TRIAL.examplesMax} at most.`,
  ),
  cut: booleanValue(
    "isCut",
    "True if the time or the limit of reads ended before all runs were judged.",
  ),
});

/** Decodes the cursor of {@link checkStatsValue}; null when it is invalid. */
export function parseStatsCursor(text: string | null): CheckDayPlace | null {
  const [, day, agent] = /^(\d{4}-\d\d-\d\d) (.{0,128})$/su.exec(text ?? "") ?? [];
  return day === undefined || agent === undefined ? null : { day, agent };
}
