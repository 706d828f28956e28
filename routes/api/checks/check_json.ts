/** The wire form of the statistics of checks, and of trials. */
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
import { encodeCursor } from "../../http/query.ts";
import * as shape from "../../openapi/wire.ts";
import { checkStatus } from "./fields.ts";

const COUNTS: shape.WireFields<CheckCounts> = {
  pass: shape.countValue("pass"),
  fail: shape.countValue("fail"),
  error: shape.countValue("error"),
  skipped: shape.countValue("skipped"),
};

const day = shape.objectValue<CheckDay>("CheckDay", {
  day: shape.dayValue("day", "UTC day on which the runs started."),
  agent: shape.textValue(({ agent }) => agent ?? ""),
  ...COUNTS,
});

const failure = shape.objectValue<CheckFailure>("CheckFailure", {
  run_id: shape.idValue("run")("run"),
  at: shape.instantValue("at", "Arrival of the run's close."),
  got: shape.textValue.orNull(
    "got",
    "Values that the expression used; null once the payload has expired.",
  ),
  message: shape.textValue.orNull("message", "Null once the payload has expired."),
});

/** Statistics of a check. */
export const checkStatsValue = shape.objectValue<CheckStats>("CheckStats", {
  days: shape.listValue(day)("days", "Counts of results by day and agent, in that order."),
  failures: shape.listValue(failure)(
    "failures",
    `Latest results with the status \`fail\`, newest first, ${FAILURES_MAX} at most.`,
  ),
  failing_since: shape.instantValue.orNull(
    "failingSince",
    "First `fail` since the last `pass`; null if the check does not fail now.",
  ),
  cursor: shape.nextCursor(({ next }) => next && encodeCursor(`${next.day} ${next.agent}`)),
});

const example = shape.objectValue<TrialResult["examples"][number]>("CheckExample", {
  run_id: shape.idValue("run")("run"),
  status: checkStatus("status"),
  got: shape.textValue.orNull("got"),
  message: shape.textValue.orNull("message"),
});

/** Result of a trial. */
export const trialValue = shape.objectValue<TrialResult>("CheckTrial", {
  runs: shape.countValue("runs", "Runs judged."),
  ...COUNTS,
  examples: shape.listValue(example)(
    "examples",
    `Results, those that did not pass first, ${TRIAL.examplesMax} at most.`,
  ),
  cut: shape.booleanValue(
    "isCut",
    "True if the time or the limit of reads ended before all runs were judged.",
  ),
});

/** Decodes the cursor of {@link checkStatsValue}; null when it is invalid. */
export function parseStatsCursor(text: string | null): CheckDayPlace | null {
  const [, day, agent] = /^(\d{4}-\d\d-\d\d) (.{0,128})$/su.exec(text ?? "") ?? [];
  return day === undefined || agent === undefined ? null : { day, agent };
}
