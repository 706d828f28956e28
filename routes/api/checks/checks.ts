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
import { decodeCursor, encodeCursor, queryOf } from "../../http/query.ts";
import { endpoints } from "../../openapi/describe.ts";
import { cursorOf, limitOf } from "../../openapi/fields.ts";
import { returns } from "../answers.ts";
import { configSlug, noSuch, objectEndpoints, slugInPath } from "../objects.ts";
import { NO_SUCH_RUN } from "../runs/runs.ts";
import { DAY_RANGE } from "../spend/spend.ts";
import * as shape from "../../openapi/wire.ts";
import { checkStatus } from "./fields.ts";

const COUNTS: shape.WireFields<CheckCounts> = {
  pass: shape.count("pass"),
  fail: shape.count("fail"),
  error: shape.count("error"),
  skipped: shape.count("skipped"),
};

const day = shape.object<CheckDay>("CheckDay", {
  day: shape.day("day", "UTC day on which the runs started."),
  agent: shape.text(({ agent }) => agent ?? ""),
  ...COUNTS,
});

const failure = shape.object<CheckFailure>("CheckFailure", {
  run_id: shape.id("run")("run"),
  at: shape.instant("at", "Arrival of the run's close."),
  got: shape.text.orNull(
    "got",
    "Values that the expression used; null once the payload has expired.",
  ),
  message: shape.text.orNull("message", "Null once the payload has expired."),
});

/** Statistics of a check. */
const checkStatsValue = shape.object<CheckStats>("CheckStats", {
  days: shape.list(day)("days", "Counts of results by day and agent, in that order."),
  failures: shape.list(failure)(
    "failures",
    `Latest results with the status \`fail\`, newest first, ${FAILURES_MAX} at most.`,
  ),
  failing_since: shape.instant.orNull(
    "failingSince",
    "First `fail` since the last `pass`; null if the check does not fail now.",
  ),
  cursor: shape.nextCursor(({ next }) => next && encodeCursor(`${next.day} ${next.agent}`)),
});

const example = shape.object<TrialResult["examples"][number]>("CheckExample", {
  run_id: shape.id("run")("run"),
  status: checkStatus("status"),
  got: shape.text.orNull("got"),
  message: shape.text.orNull("message"),
});

const trialValue = shape.object<TrialResult>("CheckTrial", {
  runs: shape.count("runs", "Runs judged."),
  ...COUNTS,
  examples: shape.list(example)(
    "examples",
    `Results, those that did not pass first, ${TRIAL.examplesMax} at most.`,
  ),
  cut: shape.boolean(
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
      ...returns("The results.", trialValue, async (c, { checkTrial, patterns }, { team }) => {
        const trial = parseTrial(c.get("body"), patterns);
        return existing(await checkTrial.try(team, trial), NO_SUCH_RUN);
      }),
      summary: "Try a check",
      description: "Judges stored runs by a check and stores nothing. Without `run_id` it judges " +
        `the latest closed runs, newest first. It takes ${TRIAL.msMax / 1_000} s at most: then ` +
        "`cut` is true.",
      body: trialBody.meta({ id: "CheckTrialRequest" }),
      errors: ["missing_field", "not_found"],
      idempotency: "read",
    },
    getCheckStats: {
      route: "GET /v1/checks/:slug/stats",
      access: teamKey("read"),
      ...returns("The statistics.", checkStatsValue, async (c, deps, { team }) => {
        const query = parseStatsQuery(queryOf(c), deps.environment.now());
        const slug = slugInPath(c, noSuch("check"));
        const check = existing(await deps.objects(CHECKS).read(team, slug), noSuch("check"));
        return await deps.checkStats.read(team, check, query);
      }),
      summary: "Read statistics of a check",
      description: "Returns the numbers of results by day and agent, and the latest failures. A " +
        "page may be short; the last one has no `cursor`.",
      pathFields: { slug: configSlug.describe("The check's slug.") },
      query: {
        ...DAY_RANGE,
        limit: limitOf(CHECK_DAYS_PER_PAGE, "days and agents"),
        cursor: cursorOf("cursor"),
      },
      errors: ["not_found"],
    },
  }),
];
