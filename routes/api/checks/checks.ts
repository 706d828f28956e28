/** Endpoints of checks. */
import { CHECKS } from "../../../domain/checks/check.ts";
import {
  CHECK_DAYS_PER_PAGE,
  type CheckCounts,
  type CheckDay,
  type CheckDayPlace,
  type CheckFailure,
  type CheckStats,
  type CheckStatsQuery,
  FAILURES_MAX,
  TRIAL,
  type TrialResult,
} from "../../../domain/checks/check_store.ts";
import { parseTrial, trialBody } from "../../../domain/checks/trial_body.ts";
import { existing } from "../../../domain/core/errors.ts";
import { Query } from "../../../domain/core/query.ts";
import { readRange } from "../../../domain/spend/spend_query.ts";
import { teamKey } from "../../http/access.ts";
import { answer } from "../../http/answer.ts";
import { decodeCursor, encodeCursor, queryOf } from "../../http/query.ts";
import { endpoints, ok } from "../../openapi/describe.ts";
import { cursorOf, limitOf } from "../../openapi/fields.ts";
import { configSlug, noSuch, objectEndpoints, slugInPath } from "../objects.ts";
import { NO_SUCH_RUN } from "../runs/runs.ts";
import { DAY_RANGE } from "../spend/spend.ts";
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
const checkStatsValue = shape.objectValue<CheckStats>("CheckStats", {
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

const trialValue = shape.objectValue<TrialResult>("CheckTrial", {
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
function parseStatsCursor(text: string | null): CheckDayPlace | null {
  const [, day, agent] = /^(\d{4}-\d\d-\d\d) (.{0,128})$/su.exec(text ?? "") ?? [];
  return day === undefined || agent === undefined ? null : { day, agent };
}

const OBJECTS = objectEndpoints({
  of: CHECKS,
  tag: "Checks",
  texts: {
    put: "Judges the runs that are closed from now on. An expression that cannot be compiled is " +
      "refused with the position of the error.",
    remove: "Deletes a check and its statistics. Its results stay on their runs.",
  },
});

/** Parses the query of a check's statistics. */
function parseStatsQuery(text: string, nowMs: number): CheckStatsQuery {
  const query = new Query(text);
  const { from: fromDay, to: toDay } = readRange(query, nowMs);
  const page = query.page((cursor) => {
    const place = parseStatsCursor(decodeCursor(cursor));
    return place !== null && place.day >= fromDay && place.day <= toDay ? place : null;
  }, CHECK_DAYS_PER_PAGE);
  return { fromDay, toDay, ...page };
}

/** Endpoints of `/v1/checks`. */
export const CHECK_ENDPOINTS = [
  ...OBJECTS,
  ...endpoints("Checks", {
    tryCheck: {
      route: "POST /v1/checks/try",
      access: teamKey("read"),
      handler: async (c, { checkTrial, patterns }) => {
        const trial = parseTrial(c.get("body"), patterns);
        const result = await checkTrial.try(c.get("principal").team, trial);
        return answer(c, 200, trialValue.write(existing(result, NO_SUCH_RUN)));
      },
      summary: "Try a check",
      description: "Judges stored runs by a check and stores nothing. Without `run_id` it judges " +
        `the latest closed runs, newest first. It takes ${TRIAL.msMax / 1_000} s at most: then ` +
        "`cut` is true.",
      body: trialBody.meta({ id: "CheckTrialRequest" }),
      answers: ok("The results.", trialValue),
      errors: ["missing_field", "not_found"],
      idempotency: "read",
    },
    getCheckStats: {
      route: "GET /v1/checks/:slug/stats",
      access: teamKey("read"),
      handler: async (c, { objects, checkStats, environment }, { team }) => {
        const query = parseStatsQuery(queryOf(c), environment.now());
        const slug = slugInPath(c, noSuch("check"));
        const check = existing(await objects(CHECKS).read(team, slug), noSuch("check"));
        const stats = await checkStats.read(team, check, query);
        return answer(c, 200, checkStatsValue.write(stats));
      },
      summary: "Read statistics of a check",
      description: "Returns the numbers of results by day and agent, and the latest failures. A " +
        "page may be short; the last one has no `cursor`.",
      pathFields: { slug: configSlug.describe("The check's slug.") },
      query: {
        ...DAY_RANGE,
        limit: limitOf(CHECK_DAYS_PER_PAGE, "days and agents"),
        cursor: cursorOf("cursor"),
      },
      answers: ok("The statistics.", checkStatsValue),
      errors: ["not_found"],
    },
  }),
];
