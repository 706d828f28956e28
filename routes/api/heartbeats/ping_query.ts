/** Query parameters of `GET /v1/ping`. */
import { z } from "zod";
import { instantText } from "../../../domain/core/fields.ts";
import {
  COST_USD_MAX,
  LABEL_CHARS_MAX,
  NOTE_CHARS_MAX,
  RID_CHARS_MAX,
} from "../../../domain/core/limits.ts";
import { CRON_CHARS_MAX, TZ_CHARS_MAX } from "../../../domain/monitors/schedule.ts";
import { heartbeatStatus } from "../../../domain/ingest/heartbeat.ts";
import { idOf, sentCountField, slug } from "../../openapi/fields.ts";

const label = z.string().max(LABEL_CHARS_MAX).optional();
const tokens = sentCountField.optional();

/** A duration such as `90s`, `15m`, `2h` or `1d`. */
const duration = z.string().meta({ pattern: "^[0-9]{1,9}[smhd]$" }).optional();

/** Maximum exit code of a ping: ten digits. */
const EXIT_CODE_MAX = 9_999_999_999;

/**
 * Fields of a heartbeat as query parameters, and those of a monitor; an empty one counts as absent, but
 * for `exit_code`.
 */
export const pingQuery = {
  agent: slug().optional()
    .describe("The agent's slug; required unless a ping token supplies it."),
  status: heartbeatStatus.optional().describe("`ok` by default."),
  exit_code: z.int().min(-EXIT_CODE_MAX).max(EXIT_CODE_MAX).optional()
    .describe(
      "0 is `ok`, 124 is `timeout`, any other code is `fail`. Refused if empty, because its variable " +
        "is not set, if sent twice, and if `status` contradicts it.",
    ),
  id: idOf("run").optional().describe(
    "A new id when absent, or the run that a `start` without an id opened. With `id` or `rid` a " +
      "retry is safe.",
  ),
  rid: z.string().max(RID_CHARS_MAX).optional().describe(
    "Any text that names one run of the agent for 24 hours, instead of `id`: the end closes the " +
      "`start` of the same `rid`. Another run needs another `rid`.",
  ),
  started_at: instantText.optional()
    .describe(
      "By default `finished_at` minus `duration_ms` of up to 31 days, or the time of arrival.",
    ),
  finished_at: instantText.optional().describe("Time of arrival by default."),
  duration_ms: tokens.describe("Takes precedence over `started_at` and `finished_at`."),
  cost_usd: z.number().min(0).max(COST_USD_MAX).optional()
    .describe("Takes precedence over the price of the tokens, even if 0."),
  model: label.describe("Model that the tokens are priced by."),
  provider: label.describe("Provider of `model`."),
  input_tokens: tokens,
  output_tokens: tokens,
  cached_input_tokens: tokens,
  metadata: z.string().optional()
    .describe(
      `A note, truncated to ${NOTE_CHARS_MAX} characters; kept if the plan keeps metadata.`,
    ),
  every: duration.describe(
    "Creates a monitor if the agent has none: the time from one ping to the next.",
  ),
  cron: z.string().max(CRON_CHARS_MAX).optional().describe(
    "Creates a monitor if the agent has none: a cron expression. Not with `every`.",
  ),
  tz: z.string().max(TZ_CHARS_MAX).optional().describe("IANA time zone of `cron`; UTC by default."),
  grace: duration.describe("Time after the expected one until the monitor is down."),
};
